#include "store/sim/sim_store.h"

#include <algorithm>
#include <set>

#include "store/output.h"
#include "store/sql.h"

namespace ctrlplane::store {
namespace {

bool is_hot(const Table& table, const SimStore::Row& row) {
  if (table.hot.kind != HotFilter::Kind::kWhere) return table.hot.kind == HotFilter::Kind::kAll;
  const CellView cell = view(row[table.column(table.hot.column)]);
  return std::find(table.hot.values.begin(), table.hot.values.end(), cell) != table.hot.values.end();
}

Result<Entity> entity_of(size_t table, const SimStore::Row& row) {
  std::vector<CellView> cells;
  for (const Cell& c : row) cells.push_back(view(c));
  return read_row(table, cells);
}

// The age of a row that is written once.
void refresh(Cell& stored, const Cell& put) {
  const auto *before = std::get_if<int64_t>(&stored), *now = std::get_if<int64_t>(&put);
  if (!before || (now && *before < *now - kPartFresh.us)) stored = put;
}

const Error kAcquiredByAnother{ErrorCode::kConflict, "the workspace has been acquired by another owner"};

}  // namespace

Result<Owner> SimStore::acquire(WorkspaceId workspace, ReplicaId replica, Token expected, Token token) {
  std::lock_guard hold(mutex_);
  auto it = owners_.find(workspace);
  if (it == owners_.end()) {
    if (!expected.is_nil()) return std::unexpected(kAcquiredByAnother);
    it = owners_.emplace(workspace, Owner{.workspace = workspace}).first;
  }
  Owner& owner = it->second;
  if (owner.token == token) return owner;
  if (owner.token != expected) return std::unexpected(kAcquiredByAnother);
  owner.replica = replica;
  owner.token = token;
  ++owner.epoch;
  return owner;
}

Result<Owner> SimStore::load_rows(WorkspaceId workspace, const Token* token, const EntitySink& sink) const {
  std::lock_guard hold(mutex_);
  auto owner = owners_.find(workspace);
  if (owner == owners_.end())
    return fail(token ? ErrorCode::kConflict : ErrorCode::kNotFound, "the workspace has no owner");
  if (token && owner->second.token != *token) return std::unexpected(kAcquiredByAnother);
  auto is_loaded = [&](const Table& table, const Row& row) {
    if (table.hot.kind != HotFilter::Kind::kOf) return is_hot(table, row);
    const Table& parent = table_named(table.hot.table);
    const Rows& parents = rows(workspace, parent);
    auto it = parents.find(Row{row[table.column(table.hot.column)]});
    return it != parents.end() && is_hot(parent, it->second);
  };
  for (size_t t = 0; t < tables().size(); ++t)
    for (const auto& [key, row] : rows(workspace, tables()[t]))
      if (is_loaded(tables()[t], row)) sink(TRY(entity_of(t, row)));
  return owner->second;
}

Result<Owner> SimStore::load(WorkspaceId workspace, Token token, const EntitySink& sink) {
  return load_rows(workspace, &token, sink);
}

Result<Owner> SimStore::snapshot(WorkspaceId workspace, const EntitySink& sink) {
  return load_rows(workspace, nullptr, sink);
}

void SimStore::apply_row(std::vector<Rows>& of, const Change& change) {
  const size_t index = change.entity.index();
  const Table& table = tables()[index];
  Row row;
  for (const CellView& cell : writer_.write(change.entity)) row.push_back(own(cell));
  Row key(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(table.key_count()));
  if (change.op == Change::Op::kErase)
    of[index].erase(key);
  else if (auto it = of[index].find(key); table.write_once && it != of[index].end())
    refresh(it->second[table.column("stored_at")], row[table.column("stored_at")]);
  else
    of[index].insert_or_assign(std::move(key), std::move(row));
}

CommitOutcome SimStore::apply(const Commit& commit) {
  auto it = owners_.find(commit.workspace);
  if (it == owners_.end() || it->second.token != commit.token || it->second.seq != commit.seq - 1)
    return CommitOutcome::kFenced;
  Owner& owner = it->second;
  owner.seq = commit.seq;
  owner.last_now = commit.now;
  owner.next_due_at = commit.next_due_at;
  std::vector<Rows>& of = rows_.try_emplace(commit.workspace, tables().size()).first->second;
  for (const Change& change : commit.changes) apply_row(of, change);
  if (observer_) observer_(commit, owner);
  return CommitOutcome::kDurable;
}

std::vector<CommitOutcome> SimStore::commit(std::span<const Commit> commits) {
  std::lock_guard hold(mutex_);
  std::vector<CommitOutcome> out;
  for (const Commit& c : commits) out.push_back(apply(c));
  return out;
}

Status SimStore::beat(const Replica& replica) {
  std::lock_guard hold(mutex_);
  Replica& row = replicas_[replica.id];
  const int64_t beat = row.beat + 1;
  row = replica;
  row.beat = beat;
  return {};
}

Result<std::vector<Replica>> SimStore::replicas() {
  std::lock_guard hold(mutex_);
  std::vector<Replica> out;
  for (const auto& [id, row] : replicas_) out.push_back(row);
  return out;
}

Status SimStore::release(WorkspaceId workspace, Token token) {
  std::lock_guard hold(mutex_);
  auto it = owners_.find(workspace);
  if (it != owners_.end() && it->second.token == token) it->second.replica = {};
  return {};
}

Status SimStore::forget(ReplicaId replica) {
  std::lock_guard hold(mutex_);
  replicas_.erase(replica);
  return {};
}

Result<std::string> SimStore::cluster_secret(const std::string& candidate) {
  std::lock_guard hold(mutex_);
  if (cluster_secret_.empty()) cluster_secret_ = candidate;
  return cluster_secret_;
}

Result<std::vector<Owner>> SimStore::owners() {
  std::lock_guard hold(mutex_);
  std::vector<Owner> out;
  for (const auto& [id, row] : owners_) out.push_back(row);
  return out;
}

Result<std::vector<const SimStore::Row*>> SimStore::matching(WorkspaceId workspace,
                                                             const ColdQuery& query) const {
  TRY(check_query(query));
  const Table& table = *query.table;
  auto fits = [&](const Row& row) {
    auto cell = [&](std::string_view column) { return view(row[table.column(column)]); };
    return std::all_of(query.equals.begin(), query.equals.end(),
                       [&](const auto& e) { return cell(e.first) == e.second; }) &&
           std::all_of(query.among.begin(), query.among.end(),
                       [&](const auto& a) {
                         return std::find(a.second.begin(), a.second.end(), cell(a.first)) != a.second.end();
                       }) &&
           std::none_of(query.present.begin(), query.present.end(),
                        [&](std::string_view column) { return std::holds_alternative<Null>(cell(column)); });
  };
  std::vector<const Row*> found;
  for (const auto& [key, row] : rows(workspace, table))
    if (fits(row)) found.push_back(&row);
  return found;
}

Result<int64_t> SimStore::count(WorkspaceId workspace, const ColdQuery& query) {
  std::lock_guard hold(mutex_);
  return std::ssize(TRY(matching(workspace, query)));
}

Result<std::vector<Entity>> SimStore::read(WorkspaceId workspace, const ColdQuery& query) {
  std::lock_guard hold(mutex_);
  const Table& table = *query.table;
  std::vector<const Row*> found = TRY(matching(workspace, query));
  // They are in key order already; Cell's order has NULL first.
  if (!query.order_by.empty()) {
    const size_t by = table.column(query.order_by);
    std::stable_sort(found.begin(), found.end(),
                     [&](const Row* a, const Row* b) { return (*a)[by] < (*b)[by]; });
  }
  if (query.descending) std::reverse(found.begin(), found.end());
  std::vector<Entity> out;
  for (size_t i = static_cast<size_t>(query.offset); i < found.size(); ++i) {
    if (static_cast<int64_t>(out.size()) == query.limit) break;
    out.push_back(TRY(entity_of(table_index(table), *found[i])));
  }
  return out;
}

Result<int64_t> SimStore::prune(WorkspaceId workspace, const Table& table, std::string_view column,
                                int64_t before, int64_t limit) {
  std::lock_guard hold(mutex_);
  auto of = rows_.find(workspace);
  if (of == rows_.end()) return 0;
  Rows& rows = of->second[table_index(table)];
  const size_t by = table.column(column);
  std::vector<std::pair<int64_t, Row>> old;  // the oldest go first
  for (const auto& [key, row] : rows) {
    const auto* at = std::get_if<int64_t>(&row[by]);
    const bool spared = table.hot.kind == HotFilter::Kind::kWhere && is_hot(table, row);
    if (at && *at < before && !spared) old.emplace_back(*at, key);
  }
  std::sort(old.begin(), old.end());
  if (static_cast<int64_t>(old.size()) > limit) old.resize(static_cast<size_t>(limit));
  for (const auto& [at, key] : old) {
    rows.erase(key);
    if (&table == &table_for<Job>()) output_[workspace].erase(JobId{std::get<Uuid>(key[0])});
  }
  return static_cast<int64_t>(old.size());
}

Result<int64_t> SimStore::prune_parts(WorkspaceId workspace, Duration age, int64_t limit) {
  std::lock_guard hold(mutex_);
  auto of = rows_.find(workspace);
  if (of == rows_.end()) return 0;
  std::set<Cell> used;
  const Table& jobs = table_for<Job>();
  for (const auto& [key, row] : rows(workspace, jobs))
    for (const char* part : {"shared_part", "resource_part"}) used.insert(row[jobs.column(part)]);
  const int64_t before = owners_.at(workspace).last_now.us - age.us;
  const size_t by = table_for<ContextPart>().column("stored_at");
  Rows& parts = of->second[table_index(table_for<ContextPart>())];
  std::vector<std::pair<int64_t, Row>> old;
  for (const auto& [key, row] : parts) {
    const auto* at = std::get_if<int64_t>(&row[by]);
    if (at && *at < before && !used.contains(key[0])) old.emplace_back(*at, key);
  }
  std::sort(old.begin(), old.end());
  if (std::ssize(old) > limit) old.resize(static_cast<size_t>(limit));
  for (const auto& [at, key] : old) parts.erase(key);
  return std::ssize(old);
}

Status SimStore::append_output(WorkspaceId workspace, std::span<const OutputChunk> chunks) {
  std::lock_guard hold(mutex_);
  for (OutputChunk& piece : TRY(output_pieces(chunks))) {
    auto& of_job = output_[workspace][piece.job];
    std::string& stored = of_job[piece.offset];
    if (piece.text.size() >= stored.size())
      stored = std::move(piece.text);  // a shorter repeat takes nothing away
    const auto& [last, text] = *of_job.rbegin();
    const int64_t tail = last + std::ssize(text) - kOutputHalf;
    std::erase_if(of_job, [&](const auto& chunk) {
      return chunk.first >= kOutputHalf && chunk.first + std::ssize(chunk.second) <= tail;
    });
  }
  return {};
}

Result<std::vector<OutputChunk>> SimStore::read_output(WorkspaceId workspace, JobId job, int64_t from,
                                                       int64_t max_bytes) {
  std::lock_guard hold(mutex_);
  return collect_output(from, max_bytes, [&](int64_t after, int64_t rows) {
    std::vector<OutputChunk> page;
    const auto& of_job = output_[workspace][job];
    for (auto it = of_job.upper_bound(after); it != of_job.end() && std::ssize(page) < rows; ++it)
      page.push_back({job, it->first, it->second});
    return Result<std::vector<OutputChunk>>(std::move(page));
  });
}

const SimStore::Rows& SimStore::rows(WorkspaceId workspace, const Table& table) const {
  static const Rows none;
  auto it = rows_.find(workspace);
  return it == rows_.end() ? none : it->second[table_index(table)];
}

}  // namespace ctrlplane::store
