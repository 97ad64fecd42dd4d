#include "engine/restore.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/check.h"
#include "engine/execute.h"
#include "engine/freezes.h"
#include "engine/handover.h"
#include "model/json_writer.h"

namespace ctrlplane {
namespace {

constexpr std::string_view kRestored = "restored", kBackupOf = "backupOf";
constexpr Duration kLongest = hours(24 * 365 * 10);
constexpr size_t kMostRowsOfOne = 2;  // a version with its audit entry, a job with its start

std::string when(Time backup_of) {
  return backup_of == Time{} ? "before its first commit" : format_rfc3339(backup_of);
}

bool is_of_a_restore(const Freeze& f) {
  const std::string* restored = f.metadata.find(kRestored);
  return f.created_by == kRestoreActor && restored && *restored == "true";
}

// ---- Versions ----------------------------------------------------------------------------------------

bool bypasses_everything(const VersionSlot& slot) {
  return !slot.erased && slot.row.bypass_freeze && slot.row.bypass_freeze_ids.empty();
}

// It was exempt from the freezes that somebody could know of. Those it still passes.
void narrow_bypass(Tx& tx, Version row) {
  tx.state.freezes.each([&](FreezeIx, const FreezeSlot& slot) {
    if (!slot.row.ended() && !is_of_a_restore(slot.row)) row.bypass_freeze_ids.push_back(slot.row.id);
  });
  row.bypass_freeze = !row.bypass_freeze_ids.empty();
  tx.audit("version.bypass_narrowed", row.id.str(), R"({"reason":"restored from a backup"})");
  tx.put(std::move(row));
}

// ---- Jobs --------------------------------------------------------------------------------------------

// One with a timeout would fail by itself, and be tried again.
bool may_act_by_itself(const Job& job) {
  return !is_terminal(job.status) && (job.status != JobStatus::kActionRequired || job.timeout);
}

std::string unknown_since(const Job& job, Time backup_of) {
  const std::string backup = fmt::format("the backup of {}", when(backup_of));
  if (!job.handed_over_at) return fmt::format("may have run since {}: it waited for its agent then", backup);
  if (job.status != JobStatus::kActionRequired)
    return fmt::format("may have run on since {}, or ended: its agent had it then", backup);
  return fmt::format("{}{}may have been decided since {}", job.message, job.message.empty() ? "" : "; ",
                     backup);
}

void give_up(Tx& tx, OutboxItem item) {
  item.status = OutboxStatus::kAbandoned;
  item.last_error = "restored from a backup: it may have been sent since";
  item.ended_at = tx.now;
  tx.put(std::move(item));
}

// In flight, as far as anybody knows. Its start must go in the same commit: without it nobody would send it.
void make_unknown(Tx& tx, Job job, Time backup_of) {
  if (auto start = tx.state.outbox_of(job.id)) give_up(tx, tx.state.outbox.at(*start));
  job.message = unknown_since(job, backup_of);
  job.status = JobStatus::kActionRequired;
  assume_handed_over(job, tx.now);
  job.timeout.reset();
  job.updated_at = tx.now;
  tx.put(std::move(job));
}

template <class Row, class Table, class Fn>
std::vector<Row> collect(const Table& table, size_t max, Fn&& wanted) {
  std::vector<Row> rows;
  table.each([&](auto, const auto& slot) {
    if (rows.size() < max && wanted(slot)) rows.push_back(slot.row);
  });
  return rows;
}

}  // namespace

RestorePoint restore_point(const State& state, Time last_commit, Time wall) {
  // Later than everything in the backup, so that what the restore makes can be told from it.
  RestorePoint point{.backup_of = last_commit, .now = std::max(wall, last_commit + microseconds(1))};
  state.freezes.each([&](FreezeIx, const FreezeSlot& slot) {
    const Freeze& f = slot.row;
    if (f.ended() || f.created_at != last_commit || !is_of_a_restore(f)) return;
    const std::string* backup_of = f.metadata.find(kBackupOf);
    point = {parse_rfc3339(backup_of ? *backup_of : "").value_or(Time{}), last_commit, f.id};
  });
  return point;
}

Result<FreezeId> freeze_restored(Tx& tx, const RestorePoint& point) {
  CreateFreeze c{.reason = fmt::format("Restored from a backup of {}: what agents did since then is "
                                       "unknown. Thaw it when somebody has looked.",
                                       when(point.backup_of))};
  c.metadata = {{std::string(kRestored), "true"}, {std::string(kBackupOf), format_rfc3339(point.backup_of)}};
  const FreezeSettings settings = freeze_settings(tx.state);
  if (settings.ttl_required || settings.max_ttl)
    c.expires_in = std::min(settings.max_ttl.value_or(kLongest), kLongest);
  Answer made = TRY(execute(tx, Request{std::move(c), std::string(kRestoreActor)}));
  JsonWriter w;
  w.open().member("backupOf", point.backup_of).member("freezeId", made.id).close();
  tx.audit("workspace.restored", tx.state.id().str(), w.take());
  return FreezeId{made.id};
}

RestoreStep forget_some_intentions(Tx& tx, const RestorePoint& point, size_t max_rows) {
  CHECK(max_rows >= kMostRowsOfOne, "a step must be able to do something");
  tx.actor = kRestoreActor;
  const size_t most = max_rows / kMostRowsOfOne;
  RestoreStep step;
  for (Version& row : collect<Version>(tx.state.versions, most, bypasses_everything)) {
    narrow_bypass(tx, std::move(row));
    ++step.versions;
  }
  if (!step.done()) return step;
  auto wanted = [](const JobSlot& slot) { return may_act_by_itself(slot.row); };
  for (Job& row : collect<Job>(tx.state.jobs, most, wanted)) {
    make_unknown(tx, std::move(row), point.backup_of);
    ++step.jobs;
  }
  if (!step.done()) return step;
  std::vector<OutboxItem> old;
  for (const auto& [id, item] : tx.state.outbox) {
    // The restore's own news are not older than it.
    const bool is_old = item.kind != OutboxKind::kNotice || item.created_at < point.now;
    if (is_old && old.size() < max_rows) old.push_back(item);
  }
  step.messages = old.size();
  for (OutboxItem& item : old) give_up(tx, std::move(item));
  return step;
}

size_t jobs_to_decide(const State& state) {
  size_t n = 0;
  state.jobs.each([&](JobIx, const JobSlot& slot) { n += slot.row.status == JobStatus::kActionRequired; });
  return n;
}

}  // namespace ctrlplane
