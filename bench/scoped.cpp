// What does a hotfix for three of many targets cost? Versions with a targetSelector by metadata equality,
// each for three targets, in a workspace of 5,000 targets and in one of 50,000: from the command until
// nothing is left to do, its three jobs made. In memory, without a store. Beside them a version for everyone,
// and selectors that no index helps with.
//
// Aim: a version for three of 50,000 targets costs at most 1.5 times what one of 5,000 does.
#include "bench/core.h"
#include "engine/select.h"
#include "state/state.h"

namespace ctrlplane::bench {
namespace {

constexpr size_t kScoped = 200, kInScope = 3;

class Fleet {
 public:
  explicit Fleet(size_t targets) : targets_(targets), state_(WorkspaceId{}), core_(state_, kBegun) {
    core_.run(UpsertAgent{.name = "runner", .type = "http-pull"});
    const SystemId system{core_.run(UpsertSystem{.name = "fleet"}).id};
    UpsertEnvironment e{.name = "prod"};
    e.resource_selector = "true";
    core_.run(LinkEnvironment{system, EnvironmentId{core_.run(e).id}});
    UpsertDeployment d{.name = "api"};
    d.resource_selector = "true";
    d.agent_selector = "true";
    deployment_ = DeploymentId{core_.run(d).id};
    core_.run(LinkDeployment{system, deployment_});
    for (size_t n = 0; n < targets; ++n) {
      ResourceInput r{
          fmt::format("cluster-{:05}", n), fmt::format("cluster-{:05}", n), "Cluster", "v1", {}, {}};
      r.metadata.set("cell", fmt::format("cell-{}", n / kInScope));
      core_.run(UpsertResource{r, {}});
    }
    core_.rest();
    stand_on(publish("v1", std::nullopt));
  }

  // A version, until nothing is left to do.
  Spent measure(std::string tag, std::optional<std::string> selector) {
    core_.forget();
    const Meter meter;
    publish(std::move(tag), std::move(selector));
    units = core_.rest();
    const Spent spent = meter.spent();
    jobs = static_cast<size_t>(std::ranges::count_if(
        core_.changes, [](const Change& c) { return std::holds_alternative<Job>(c.entity); }));
    return spent;
  }

  size_t jobs = 0, units = 0;  // of the last version
  size_t targets() const { return targets_; }

 private:
  static constexpr Time kBegun{1'800'000'000'000'000};

  VersionId publish(std::string tag, std::optional<std::string> selector) {
    CreateVersion c{.deployment = deployment_, .tag = std::move(tag)};
    c.target_selector = std::move(selector);
    return VersionId{core_.run(c).id};
  }

  // Everybody runs it, as if jobs had been there.
  void stand_on(VersionId version) {
    const DeploymentIx d = state_.deployments.find(deployment_);
    for (TargetIx t : std::vector(state_.deployments[d].targets)) {
      TargetState row = state_.row_of(t);
      row.current_version = row.desired_version = version;
      row.current_since = core_.now;
      row.past = {{version, core_.now}};
      row.current_release = row.desired_release = release_id(row.key, version, Digest{});
      state_.apply(Change::put(row));
    }
    core_.rest();
    CHECK(state_.jobs.size() == 0, "somebody has been given a job already");
  }

  size_t targets_;
  State state_;
  Core core_;
  DeploymentId deployment_;
};

struct Measured {
  double hotfix_us = 0, everyone_us = 0;
  size_t looked = 0;
};

Measured measure_hotfixes(Fleet& fleet, size_t versions) {
  std::vector<double> each;
  size_t jobs = 0, units = 0;
  for (size_t i = 0; i < versions; ++i) {
    const size_t cell = i * (fleet.targets() / kInScope - 1) / versions;  // all over the fleet
    const Spent s = fleet.measure(fmt::format("hotfix-{}", i),
                                  fmt::format("resource.metadata['cell'] == 'cell-{}'", cell));
    each.push_back(s.cpu * 1e6);
    jobs += fleet.jobs;
    units = std::max(units, fleet.units);
  }
  CHECK(jobs == versions * kInScope, "a hotfix was for others");
  Measured m{.hotfix_us = median(each), .looked = units};
  return m;
}

struct Kind {
  std::string_view name, selector;
};
constexpr Kind kOthers[] = {
    {"a part of the name", "resource.name.endsWith('77')"},
    {"an expression over metadata", "resource.metadata['cell'].matches('^cell-1[0-9]$')"},
    {"the environment", "environment.name == 'nowhere'"},
};

int run(const Options& options) {
  const size_t sizes[] = {5'000, 50'000};
  const size_t versions = options.quick ? 20 : kScoped;
  TablePrinter table({"targets", "hotfix for 3, us", "of them units", "version for all, ms"});
  TablePrinter others({"selector that no index helps with", "targets", "in scope", "ns a resource"});
  std::vector<double> costs;
  {
    progress("warming up");
    Fleet first(sizes[0]);
    measure_hotfixes(first, versions);
  }
  for (size_t size : sizes) {
    progress("{} targets", count(static_cast<double>(size)));
    Fleet fleet(size);
    Measured m = measure_hotfixes(fleet, versions);
    for (const Kind& kind : kOthers) {
      const Spent s = fleet.measure(std::string(kind.name), std::string(kind.selector));
      others.row({std::string(kind.name), count(static_cast<double>(size)),
                  count(static_cast<double>(fleet.jobs)),
                  fmt::format("{:.0f}", s.cpu * 1e9 / static_cast<double>(size))});
    }
    m.everyone_us = fleet.measure("everyone", std::nullopt).cpu * 1e6;
    costs.push_back(m.hotfix_us);
    table.row({count(static_cast<double>(size)), fmt::format("{:.1f}", m.hotfix_us),
               count(static_cast<double>(m.looked)), fmt::format("{:.1f}", m.everyone_us / 1000)});
  }
  table.print();
  fmt::print("aim, 50,000 targets at most 1.5 times 5,000: {} ({:.2f})\n\n", met(costs[1] <= 1.5 * costs[0]),
             costs[1] / costs[0]);
  others.print();
  return 0;
}

}  // namespace
}  // namespace ctrlplane::bench

int main(int argc, char** argv) { return ctrlplane::bench::run(ctrlplane::bench::parse_options(argc, argv)); }
