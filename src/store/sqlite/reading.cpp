#include "store/sqlite/reading.h"

namespace ctrlplane::store::reading {

Uuid uuid_at(const Statement& s, int at) {
  const CellView cell = s.column(at, ColumnType::kUuid);
  const auto* u = std::get_if<Uuid>(&cell);
  return u ? *u : Uuid{};
}

Owner owner_at(const Statement& s) {
  Owner o{{uuid_at(s, 0)}, {uuid_at(s, 1)}, {uuid_at(s, 2)}, s.integer(3), s.integer(4), {s.integer(5)}, {}};
  if (!std::holds_alternative<Null>(s.column(6, ColumnType::kInt))) o.next_due_at = Time{s.integer(6)};
  return o;
}

Status each_row(Statement& s, const Table& table, const EntitySink& sink) {
  const size_t index = table_index(table);
  std::vector<CellView> cells(table.columns.size());
  while (TRY(s.step())) {
    for (size_t i = 0; i < cells.size(); ++i) cells[i] = s.column(static_cast<int>(i), table.columns[i].type);
    sink(TRY(read_row(index, cells)));
  }
  return {};
}

int bind_conditions(Statement& s, const WorkspaceId& workspace, const ColdQuery& query) {
  int at = 1;
  s.bind(at++, workspace.uuid);
  each_condition_value(query, [&](const CellView& value, ColumnType type) { s.bind(at++, value, type); });
  return at;
}

Result<std::vector<OutputChunk>> output_of(Statement& s, WorkspaceId workspace, JobId job, int64_t from,
                                           int64_t max_bytes) {
  return collect_output(from, max_bytes,
                        [&](int64_t after, int64_t rows) -> Result<std::vector<OutputChunk>> {
                          StatementUse use(s);
                          use->bind(1, workspace.uuid);
                          use->bind(2, job.uuid);
                          use->bind(3, after);
                          use->bind(4, rows);
                          std::vector<OutputChunk> page;
                          while (TRY(use->step())) {
                            const CellView text = use->column(1, ColumnType::kBytes);
                            const auto* bytes = std::get_if<std::string_view>(&text);
                            page.push_back({job, use->integer(0), std::string(bytes ? *bytes : "")});
                          }
                          return page;
                        });
}

}  // namespace ctrlplane::store::reading
