#include "app/doctor.h"

#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "app/doctor_store.h"
#include "app/doctor_workspace.h"
#include "model/ids.h"
#include "store/sqlite/read_only_db.h"

namespace ctrlplane::app {
namespace {

constexpr Duration kBetweenLooks = seconds(3);  // replicas beat every two
constexpr std::string_view kInstanceName = "(instance)";
constexpr std::string_view kTellUs =
    "Keep the database as it is, and a backup of it: this is a defect, or the rows were edited by hand.";

// One look at the rows of every workspace.
struct Look {
  std::vector<store::Replica> replicas;
  std::map<WorkspaceId, WorkspaceHealth> workspaces;
  std::map<WorkspaceId, std::string> names;
};

class Doctor {
 public:
  Doctor(const Clock& clock, const std::function<void(Duration)>& pause, Diagnosis& out)
      : clock_(clock), pause_(pause), out_(out) {}

  void look_at_rows(store::Store& store, Servers servers) {
    Look before = look(store, nullptr);
    if (!servers.one_file && before.replicas.empty()) servers.running = false;
    const bool twice = servers.one_file ? servers.running && any_due(before) : !before.replicas.empty();
    Look after;
    if (twice) {
      pause_(kBetweenLooks);
      after = look(store, &before);
    }
    if (!servers.one_file) servers = compare_beats(before.replicas, after.replicas);
    out_.add(judge_servers(servers));
    for (const auto& [id, health] : before.workspaces) {
      auto again = after.workspaces.find(id);
      for (Finding& f : judge_workspace(before.names.at(id), health,
                                        again == after.workspaces.end() ? nullptr : &again->second, servers))
        out_.add(std::move(f));
    }
  }

 private:
  static bool any_due(const Look& look) {
    return std::any_of(look.workspaces.begin(), look.workspaces.end(),
                       [](const auto& entry) { return !entry.second.due.empty(); });
  }

  // The second time only those where something was due.
  Look look(store::Store& store, const Look* before) {
    Look out;
    if (auto rows = store.replicas())
      out.replicas = *std::move(rows);
    else
      failed("replicas", rows.error());
    out.names = before ? before->names : names_of_all(store);
    for (const auto& [id, name] : out.names) {
      if (before) {
        auto seen = before->workspaces.find(id);
        if (seen == before->workspaces.end() || seen->second.due.empty()) continue;
      }
      auto health = examine(store, id, clock_.wall());
      if (health)
        out.workspaces.emplace(id, *std::move(health));
      else if (health.error().code == ErrorCode::kNotFound)
        out_.add({Health::kOk, "workspace " + name, "new: no server has taken it yet"});
      else
        failed("workspace " + name, health.error());
    }
    return out;
  }

  // The instance knows what workspaces there are.
  std::map<WorkspaceId, std::string> names_of_all(store::Store& store) {
    std::map<WorkspaceId, std::string> names = {{kInstanceWorkspace, std::string(kInstanceName)}};
    auto instance = examine(store, kInstanceWorkspace, clock_.wall());
    if (instance) names.merge(instance->slugs);
    return names;
  }

  void failed(const std::string& check, const Error& error) {
    out_.add({Health::kProblem, check, "cannot be read: " + error.message});
  }

  const Clock& clock_;
  const std::function<void(Duration)>& pause_;
  Diagnosis& out_;
};

// Decisions that were due in both looks.
std::vector<std::string> still_due(const WorkspaceHealth& before, const WorkspaceHealth& after) {
  std::vector<std::string> out;
  for (const auto& [target, what] : before.due) {
    auto it = after.due.find(target);
    if (it != after.due.end() && it->second == what) out.push_back(fmt::format("{} {}", target, what));
  }
  return out;
}

std::string first_of(std::vector<std::string> all) {
  const bool more = all.size() > 3;
  if (more) all.resize(3);
  return fmt::format("{}{}", fmt::join(all, ", "), more ? ", …" : "");
}

Finding summary(const std::string& name, const WorkspaceHealth& w) {
  Finding f{Health::kOk, "workspace " + name,
            fmt::format("{} targets, {} live jobs, seq {}", w.targets, w.live_jobs, w.owner.seq)};
  f.counts = {{"targets", w.targets},
              {"resources", w.resources},
              {"versions", w.versions},
              {"liveJobs", w.live_jobs},
              {"waitingForPeople", w.waiting_for_people},
              {"due", w.due.size()},
              {"seq", w.owner.seq},
              {"epoch", w.owner.epoch}};
  if (w.waiting_for_people > 0) f.message += fmt::format("; waiting for a person: {}", w.waiting_for_people);
  if (w.rows_without_parents) f.message += "; rows of deleted targets are still to be removed";
  return f;
}

}  // namespace

std::string_view to_string(Health health) {
  switch (health) {
    case Health::kOk: return "ok";
    case Health::kWarning: return "warning";
    case Health::kProblem: return "problem";
  }
  return "";
}

size_t Diagnosis::count(Health health) const {
  return static_cast<size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.health == health; }));
}

Servers compare_beats(const std::vector<store::Replica>& before, const std::vector<store::Replica>& after) {
  Servers out;
  std::map<store::ReplicaId, int64_t> first;
  for (const store::Replica& r : before) first[r.id] = r.beat;
  for (const store::Replica& r : after) {
    auto it = first.find(r.id);
    if (it == first.end() || it->second != r.beat)
      out.alive.emplace(r.id, r);
    else
      ++out.silent;
  }
  out.running = !out.alive.empty();
  return out;
}

Finding judge_servers(const Servers& s) {
  Finding f{Health::kOk, "server", ""};
  if (s.one_file) {
    f.message = s.running ? "running" : "not running";
    return f;
  }
  f.counts = {{"alive", s.alive.size()}, {"silent", s.silent}};
  std::vector<std::string> words;
  for (const auto& [id, r] : s.alive) words.push_back(fmt::format("{} ({})", r.address, r.version));
  f.message =
      words.empty() ? "no server is running" : fmt::format("{} alive: {}", words.size(), first_of(words));
  if (s.silent > 0) f.message += fmt::format("; {} rows of servers that have ended", s.silent);
  return f;
}

std::vector<Finding> judge_workspace(const std::string& name, const WorkspaceHealth& before,
                                     const WorkspaceHealth* after, const Servers& servers) {
  std::vector<Finding> out = {summary(name, before)};
  Finding& line = out.front();
  if (!servers.running && !before.due.empty())
    line.message += fmt::format("; {} decisions are due at the next start", before.due.size());
  if (servers.running && !servers.one_file && !servers.alive.contains(before.owner.replica)) {
    line.health = Health::kWarning;
    line.message += before.owner.replica.is_nil() ? "; nobody owns it" : "; its owner is silent";
    line.advice = "A living server takes it over within 10 seconds or so: look again.";
  }
  const auto missed = after && servers.running ? still_due(before, *after) : std::vector<std::string>();
  if (!missed.empty() && after->owner.seq != before.owner.seq) {
    if (line.health == Health::kOk) line.health = Health::kWarning;
    line.message += fmt::format("; at work, {} decisions are still due", missed.size());
  } else if (!missed.empty() && line.health == Health::kOk) {
    out.push_back({Health::kProblem, "workspace " + name,
                   fmt::format("{} decisions are due and are not made: {}", missed.size(), first_of(missed)),
                   "See the server's log for commits that fail. Otherwise restart it, and tell its makers: a "
                   "wake-up was missed."});
  }
  for (const Broken& b : before.broken)
    out.push_back({Health::kProblem, "workspace " + name,
                   fmt::format("{} {}: {}{}", b.count, b.what, fmt::join(b.examples, ", "),
                               b.count > b.examples.size() ? ", …" : ""),
                   std::string(kTellUs)});
  return out;
}

Diagnosis diagnose(const DoctorOptions& options, const Clock& clock,
                   const std::function<void(Duration)>& pause) {
  Diagnosis out;
  const std::string& url = options.database;
  std::unique_ptr<store::Store> store;
  Servers servers{.running = true};
  if (url.starts_with("sqlite:")) {
    const std::string path = url.substr(7);
    servers = {.one_file = true, .running = store::in_use_by_a_server(path)};
    store = check_sqlite(path, options.full_integrity, out);
  } else if (url.starts_with("postgres://") || url.starts_with("postgresql://") ||
             url.find('=') != std::string::npos) {
    store = check_postgres(url, out);
  } else {
    out.add(
        {Health::kProblem, "database", fmt::format("'{}' is neither sqlite:FILE nor postgresql://…", url)});
  }
  if (store)
    Doctor(clock, pause, out).look_at_rows(*store, servers);
  else
    out.add({Health::kWarning, "workspaces", "not looked at, because of the above"});
  return out;
}

}  // namespace ctrlplane::app
