#include "runtime/retention.h"

namespace ctrlplane {

Result<int64_t> prune_history(store::Store& store, WorkspaceId workspace, Time now, const Retention& keep) {
  struct Rule {
    const store::Table& table;
    std::string_view column;
    Duration age;
  };
  const Rule rules[] = {
      {store::table_for<Job>(), "ended_at", keep.jobs},
      {store::table_for<AuditEntry>(), "at", keep.audit},
      {store::table_for<OutboxItem>(), "ended_at", keep.outbox},
  };
  int64_t gone = 0, jobs = 0;
  for (const Rule& r : rules) {
    const int64_t n = TRY(store.prune(workspace, r.table, r.column, (now - r.age).us, keep.rows_per_batch));
    gone += n;
    if (&r.table == &store::table_for<Job>()) jobs = n;
  }
  // Once the jobs are gone that could refer to them: then few old jobs are left to compare with.
  if (jobs == 0) gone += TRY(store.prune_parts(workspace, keep.jobs + kPartFresh * 3, keep.rows_per_batch));
  return gone;
}

}  // namespace ctrlplane
