// The output of jobs in the PostgreSQL store.
#include <algorithm>

#include "store/output.h"
#include "store/postgres/postgres_store.h"

namespace ctrlplane::store {
namespace {

constexpr Dialect kDialect = Dialect::kPostgres;
constexpr size_t kRowsPerStatement = 32;  // 2 MiB at most

}  // namespace

// Each statement stands for itself: a job whose output was appended but not trimmed is trimmed next time.
Status PostgresStore::append_output(WorkspaceId workspace, std::span<const OutputChunk> chunks) {
  const std::vector<OutputChunk> pieces = TRY(output_pieces(chunks));
  if (pieces.empty()) return {};
  auto c = TRY(output_.lease());
  for (size_t from = 0; from < pieces.size(); from += kRowsPerStatement) {
    const size_t to = std::min(pieces.size(), from + kRowsPerStatement);
    PgParams params;
    params.add(workspace.uuid);
    for (size_t i = from; i < to; ++i) {
      params.add(pieces[i].job.uuid);
      params.add(pieces[i].offset);
      params.add(std::string_view(pieces[i].text), ColumnType::kBytes);
    }
    TRY(c->exec(append_output_sql(kDialect, to - from), params));
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i + 1 < pieces.size() && pieces[i + 1].job == pieces[i].job) continue;
    PgParams params;
    params.add(workspace.uuid);
    params.add(pieces[i].job.uuid);
    TRY(c->exec(trim_output_sql(kDialect), params));
  }
  return {};
}

Result<std::vector<OutputChunk>> PostgresStore::read_output(WorkspaceId workspace, JobId job, int64_t from,
                                                            int64_t max_bytes) {
  auto c = TRY(pool_.lease());
  return collect_output(from, max_bytes,
                        [&](int64_t after, int64_t rows) -> Result<std::vector<OutputChunk>> {
                          PgParams params;
                          params.add(workspace.uuid);
                          params.add(job.uuid);
                          params.add(after);
                          params.add(rows);
                          PgResult r = TRY(c->exec(read_output_sql(kDialect), params));
                          std::vector<OutputChunk> page;
                          for (int i = 0; i < r.rows(); ++i)
                            page.push_back({job, r.integer(i, 0), r.text(i, 1)});
                          return page;
                        });
}

}  // namespace ctrlplane::store
