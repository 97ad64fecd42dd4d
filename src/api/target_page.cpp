#include "api/target_page.h"

#include <algorithm>

#include <fmt/core.h>

#include "api/views.h"

namespace ctrlplane::api {
namespace {

constexpr size_t kSortable = 10'000;

class Gathering {
 public:
  Gathering(const State& state, Page page, bool off_main_line)
      : s_(state), page_(page), off_main_line_(off_main_line) {}

  // The targets of a deployment in an environment, by identifier of the resource.
  void add_pair(DeploymentIx d, EnvironmentIx e) {
    size_t count = s_.targets_in(d, e);
    if (off_main_line_ && s_.deployments[d].scoped.empty()) return;
    if (!off_main_line_ && !reaches_page(count)) return void(out_.total += count);
    std::vector<TargetIx> all;
    all.reserve(count);
    s_.each_target_in(d, e, [&](TargetIx t) {
      if (fits(t)) all.push_back(t);
    });
    auto identifier = [&](TargetIx t) -> const std::string& {
      return s_.resources[s_.at(t).resource].row.identifier;
    };
    add(std::move(all), [&](TargetIx a, TargetIx b) { return identifier(a) < identifier(b); });
  }

  void add_resource(ResourceIx r, DeploymentIx d, EnvironmentIx e) {
    std::vector<TargetIx> all;
    for (TargetIx t : s_.resources[r].targets) {
      const TargetSlot& slot = s_.at(t);
      if (slot.exists && (!d || slot.deployment == d) && (!e || slot.environment == e) && fits(t))
        all.push_back(t);
    }
    auto names = [&](TargetIx t) {
      const TargetSlot& slot = s_.at(t);
      return std::tie(s_.deployments[slot.deployment].row.name, s_.environments[slot.environment].row.name);
    };
    add(std::move(all), [&](TargetIx a, TargetIx b) { return names(a) < names(b); });
  }

  TargetPage take() { return std::move(out_); }

 private:
  bool fits(TargetIx t) const { return !off_main_line_ || is_off_main_line(s_, t); }
  bool reaches_page(size_t count) const {
    return out_.total < page_.offset + page_.limit && out_.total + count > page_.offset;
  }

  // Only what falls on the page is put in order.
  template <class Less>
  void add(std::vector<TargetIx> next, Less less) {
    auto place = [&](size_t n) {
      return next.begin() +
             static_cast<ptrdiff_t>(std::clamp(n, out_.total, out_.total + next.size()) - out_.total);
    };
    auto from = place(page_.offset), to = place(page_.offset + page_.limit);
    if (from != to && next.size() <= kSortable) {
      std::nth_element(next.begin(), from, next.end(), less);
      std::partial_sort(from, to, next.end(), less);
    }
    out_.items.insert(out_.items.end(), from, to);
    out_.total += next.size();
  }

  const State& s_;
  Page page_;
  bool off_main_line_;
  TargetPage out_;
};

template <class Ix, class Slots>
std::vector<Ix> by_name(const Slots& slots, std::vector<Ix> all) {
  std::erase_if(all, [&](Ix ix) { return slots[ix].members.leaving; });
  std::sort(all.begin(), all.end(), [&](Ix a, Ix b) { return kByName(slots[a].row, slots[b].row); });
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<DeploymentIx> deployments_of(const State& s) {
  std::vector<DeploymentIx> all;
  s.deployments.each([&](DeploymentIx d, const DeploymentSlot&) { all.push_back(d); });
  return by_name(s.deployments, std::move(all));
}

// Those that share a system with the deployment.
std::vector<EnvironmentIx> environments_of(const State& s, DeploymentIx d) {
  std::vector<EnvironmentIx> all;
  for (SystemIx system : s.deployments[d].members.systems)
    all.insert(all.end(), s.systems[system].environments.begin(), s.systems[system].environments.end());
  return by_name(s.environments, std::move(all));
}

}  // namespace

bool is_off_main_line(const State& state, TargetIx target) {
  const VersionIx current = state.at(target).current_version;
  return current && state.versions[current].scope;
}

Result<TargetPage> page_of_targets(const State& s, const TargetFilter& f, Page page) {
  DeploymentIx d = f.deployment ? s.deployments.find(*f.deployment) : DeploymentIx{};
  EnvironmentIx e = f.environment ? s.environments.find(*f.environment) : EnvironmentIx{};
  ResourceIx r = f.resource ? s.resources.find(*f.resource) : ResourceIx{};
  if (f.deployment && !d)
    return fail(ErrorCode::kNotFound, fmt::format("no deployment {}", f.deployment->str()));
  if (f.environment && !e)
    return fail(ErrorCode::kNotFound, fmt::format("no environment {}", f.environment->str()));
  if (f.resource && !r) return fail(ErrorCode::kNotFound, fmt::format("no resource {}", f.resource->str()));
  Gathering out(s, page, f.off_main_line);
  if (r) {
    out.add_resource(r, d, e);
    return out.take();
  }
  for (DeploymentIx each : d ? std::vector{d} : deployments_of(s))
    for (EnvironmentIx its : e ? std::vector{e} : environments_of(s, each)) out.add_pair(each, its);
  return out.take();
}

}  // namespace ctrlplane::api
