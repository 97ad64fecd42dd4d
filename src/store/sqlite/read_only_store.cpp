#include "store/sqlite/read_only_store.h"

#include "store/sqlite/reading.h"

namespace ctrlplane::store {

Result<Owner> ReadOnlySqliteStore::load(WorkspaceId workspace, Token token, const EntitySink& sink) {
  std::lock_guard hold(mutex_);
  return reading::load(*db_, workspace, &token, sink);
}

Result<Owner> ReadOnlySqliteStore::snapshot(WorkspaceId workspace, const EntitySink& sink) {
  std::lock_guard hold(mutex_);
  return reading::load(*db_, workspace, nullptr, sink);
}

Result<std::vector<Owner>> ReadOnlySqliteStore::owners() {
  std::lock_guard hold(mutex_);
  return reading::owners(*db_);
}

Result<std::vector<Entity>> ReadOnlySqliteStore::read(WorkspaceId workspace, const ColdQuery& query) {
  TRY(check_query(query));
  std::lock_guard hold(mutex_);
  return reading::rows(*db_, workspace, query);
}

Result<int64_t> ReadOnlySqliteStore::count(WorkspaceId workspace, const ColdQuery& query) {
  TRY(check_query(query));
  std::lock_guard hold(mutex_);
  return reading::count(*db_, workspace, query);
}

Result<std::vector<OutputChunk>> ReadOnlySqliteStore::read_output(WorkspaceId workspace, JobId job,
                                                                  int64_t from, int64_t max_bytes) {
  std::lock_guard hold(mutex_);
  Statement& s = *TRY(db_->prepare(read_output_sql(reading::kDialect)));
  return reading::output_of(s, workspace, job, from, max_bytes);
}

}  // namespace ctrlplane::store
