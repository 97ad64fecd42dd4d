#include "app/doctor_workspace.h"

#include <set>

#include <fmt/core.h>

#include "engine/reconcile.h"
#include "runtime/store_port.h"

namespace ctrlplane::app {
namespace {

constexpr size_t kExamples = 3;
constexpr size_t kIdsPerRead = 1000;

class Findings {
 public:
  void add(const std::string& what, const std::string& where) {
    Broken& b = found_[what];
    b.what = what;
    if (b.examples.size() < kExamples) b.examples.push_back(where);
    ++b.count;
  }
  std::vector<Broken> take() {
    std::vector<Broken> out;
    for (auto& [what, b] : found_) out.push_back(std::move(b));
    return out;
  }

 private:
  std::map<std::string, Broken> found_;
};

std::string name(const State& s, TargetIx t) {
  const TargetSlot& slot = s.at(t);
  return fmt::format("{}/{}/{}", s.deployments[slot.deployment].row.name,
                     s.environments[slot.environment].row.name, s.resources[slot.resource].row.identifier);
}

// Rows that are not in memory, asked for by key, many at a time: which are not there?
template <class E>
class Expected {
 public:
  Expected(store::Store& store, WorkspaceId workspace, std::string_view key_column, Findings& findings)
      : store_(store), workspace_(workspace), column_(key_column), findings_(findings) {}

  void add(const Uuid& key, const std::string& what, const std::string& where) {
    wanted_[key].emplace(what, where);
    if (wanted_.size() == kIdsPerRead) look();
  }
  // The first error there was.
  Status finish() {
    if (!wanted_.empty()) look();
    return status_;
  }

 private:
  static Uuid key_of(const Release& r) { return r.id.uuid; }
  static Uuid key_of(const ContextPart& p) { return Uuid{p.digest.bytes}; }

  void look() {
    store::ColdQuery query{.table = &store::table_for<E>(), .limit = static_cast<int64_t>(kIdsPerRead)};
    std::vector<store::CellView> keys;
    for (const auto& [key, uses] : wanted_) keys.emplace_back(key);
    query.among.emplace_back(column_, std::move(keys));
    if (auto rows = store_.read(workspace_, query); !rows) {
      if (status_) status_ = std::unexpected(std::move(rows).error());
    } else {
      for (const Entity& e : *rows) wanted_.erase(key_of(std::get<E>(e)));
      for (const auto& [key, uses] : wanted_)
        for (const auto& [what, where] : uses) findings_.add(what, where);
    }
    wanted_.clear();
  }

  store::Store& store_;
  const WorkspaceId workspace_;
  const std::string_view column_;
  Findings& findings_;
  Status status_;
  std::map<Uuid, std::set<std::pair<std::string, std::string>>> wanted_;
};

class Examination {
 public:
  Examination(store::Store& store, const State& state, Time now, WorkspaceHealth& out)
      : state_(state),
        now_(now),
        out_(out),
        releases_(store, state.id(), "id", findings_),
        parts_(store, state.id(), "digest", findings_) {}

  Status run() {
    state_.deployments.each([&](DeploymentIx, const DeploymentSlot& d) {
      for (TargetIx t : d.targets) look_at_target(t);
    });
    state_.jobs.each([&](JobIx, const JobSlot& slot) { look_at_job(slot); });
    for (const auto& [target, releases] : active_)
      if (releases.size() > 1) findings_.add("targets with two active releases", target.str());
    TRY(releases_.finish());
    TRY(parts_.finish());
    out_.broken = findings_.take();
    return {};
  }

 private:
  void look_at_target(TargetIx t) {
    const TargetSlot& slot = state_.at(t);
    auto reference = [&](const ReleaseId& release, VersionIx version, const char* which) {
      if (!release.is_nil() && !version)
        findings_.add(fmt::format("targets whose {} version is not there", which), name(state_, t));
    };
    reference(slot.desired_release, slot.desired_version, "desired");
    reference(slot.current_release, slot.current_version, "current");
    // What is desired has a row from its first job on.
    if (!slot.current_release.is_nil())
      releases_.add(slot.current_release.uuid, "targets whose current release is not there", name(state_, t));
    if (!slot.chain_release.is_nil())
      releases_.add(slot.chain_release.uuid, "targets whose last release is not there", name(state_, t));
    if (!slot.exists) return;
    if (Plan p = plan(state_, now_, t); !p.empty()) out_.due.emplace(name(state_, t), words(p));
  }

  void look_at_job(const JobSlot& slot) {
    const Job& job = slot.row;
    if (job.status == JobStatus::kActionRequired) ++out_.waiting_for_people;
    // A job outlives its target, and with the deployment goes the version.
    if (slot.target && !slot.version) findings_.add("live jobs whose version is not there", job.id.str());
    releases_.add(job.release.uuid, "live jobs whose release is not there", job.id.str());
    if (is_terminal(job.status)) return;  // it waits for the others of its attempt
    if (!state_.agents.find(job.agent)) findings_.add("live jobs whose agent is not there", job.id.str());
    for (const Digest& part : {job.shared_part, job.resource_part})
      parts_.add(Uuid{part.bytes}, "live jobs whose context is not there", job.id.str());
    active_[job.target].insert(job.release);
  }

  std::string words(const Plan& p) const {
    const std::string tag = p.version ? state_.versions[p.version].row.tag : "nothing";
    if (p.start) return "starts a job of " + tag;
    if (p.set_desired) return "desires " + tag;
    if (p.deny) return "rolls back";
    return "cancels a job";
  }

  const State& state_;
  const Time now_;
  WorkspaceHealth& out_;
  Findings findings_;
  Expected<Release> releases_;
  Expected<ContextPart> parts_;
  std::map<TargetKey, std::set<ReleaseId>> active_;
};

}  // namespace

Result<WorkspaceHealth> examine(store::Store& store, WorkspaceId workspace, Time wall) {
  Loaded loaded = TRY(load_state(store, workspace, std::nullopt));
  const State& state = *loaded.state;
  WorkspaceHealth out{.owner = loaded.owner};
  out.targets = state.target_count();
  out.resources = state.resources.size();
  out.versions = state.versions.size();
  out.live_jobs = state.jobs.size();
  out.rows_without_parents = !state.settled();
  for (const auto& [id, row] : state.workspaces) out.slugs.emplace(id, row.slug);
  // A workspace's time never goes back.
  TRY(Examination(store, state, std::max(wall, loaded.owner.last_now), out).run());
  return out;
}

}  // namespace ctrlplane::app
