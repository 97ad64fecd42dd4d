#include "bench/freeze_check.h"

#include <time.h>

#include <algorithm>

#include "bench/harness.h"
#include "engine/execute.h"
#include "policy/freezes.h"

namespace ctrlplane::bench {
namespace {

constexpr size_t kAsked = 200'000, kPasses = 5, kElsewhere = 1000;
constexpr size_t kVersionsAsked = 10;
const std::string kNowhere = "resource.metadata['region'] == 'nowhere'";

// Of this thread on a processor: what others do meanwhile on a busy machine is not the question.
double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

template <class Fn>
double best_ns(size_t calls, Fn&& pass) {
  double best = 1e300;
  for (size_t i = 0; i < kPasses; ++i) {
    const double start = cpu_seconds();
    pass();
    best = std::min(best, cpu_seconds() - start);
  }
  return best * 1e9 / static_cast<double>(calls);
}

struct Asked {
  TargetIx target;
  VersionIx version;
};

class Check {
 public:
  Check(store::Store& store, const Fleet& fleet)
      : fleet_(fleet),
        loaded_(must(load_state(store, fleet.workspace, std::nullopt))),
        state_(*loaded_.state),
        now_(fleet.created_at + hours(1)) {
    for (size_t i = 0; i < kElsewhere; ++i) {
      Deployment d{.id = ids_.make<DeploymentId>(), .name = fmt::format("elsewhere-{}", i)};
      d.created_at = fleet.created_at;
      elsewhere_.push_back(d.id);
      state_.apply(Change::put(d));
    }
    const uint32_t bound = state_.target_bound();
    const size_t n = std::min<size_t>(kAsked, bound);
    for (uint32_t i = 0; i < n; ++i) in_turn_.push_back(ask({i}));
    for (uint32_t i = 0; i < n; ++i) at_random_.push_back(ask({static_cast<uint32_t>(mix64(i) % bound)}));
  }

  void without_selectors(CheckAims& aims) {
    TablePrinter table({"freezes", "of these in scope", "frozen targets", "ns, in turn", "ns, at random"});
    double one = 0;
    auto row = [&](const std::string& freezes, const std::string& in_scope) {
      const double turn = cost(in_turn_), random = cost(at_random_);
      const double frozen = static_cast<double>(frozen_) / static_cast<double>(at_random_.size());
      table.row({freezes, in_scope, fmt::format("{:.0f} %", frozen * 100), fmt::format("{:.0f}", turn),
                 fmt::format("{:.0f}", random)});
      aims.slowest_ns = std::max(aims.slowest_ns, turn);
      return turn;
    };
    table.row({"only reading the target", "", "", fmt::format("{:.0f}", reading(in_turn_)),
               fmt::format("{:.0f}", reading(at_random_))});
    row("none", "0");
    freeze_elsewhere(1);
    one = row("1", "0");
    freeze_elsewhere(10);
    row("10", "0");
    freeze_elsewhere(kElsewhere);
    aims.growth = row(count(kElsewhere), "0") / one;
    put(FreezeScope::kDeployment, fleet_.deployments.front().uuid);
    row(count(kElsewhere + 1), "1, of one deployment");
    put(FreezeScope::kWorkspace, {});
    row(count(kElsewhere + 2), "and 1 of the workspace");
    forget();
    table.print();
  }

  void with_selectors(CheckAims& aims) {
    const Selector bare = must(Selector::compile(kNowhere, Selector::Subject::kVersion));
    const double evaluation = best_ns(in_turn_.size(), [&] {
      for (const Asked& a : in_turn_) {
        const TargetSlot& t = state_.at(a.target);
        matched_ += bare.match({.resource = &state_.resources[t.resource].row,
                                .deployment = &state_.deployments[t.deployment].row,
                                .environment = &state_.environments[t.environment].row}) == Match::kYes;
      }
    });
    TablePrinter table({"freezes over the workspace, with selector", "ns a target", "bare evaluations each",
                        fmt::format("ns, asked of {} versions", kVersionsAsked)});
    table.row({"none: one bare evaluation", fmt::format("{:.0f}", evaluation), "1.00", ""});
    freeze_elsewhere(1);
    const double without = cost(in_turn_);
    forget();
    for (size_t n : {size_t{1}, size_t{10}}) {
      while (made_.size() < n) put(FreezeScope::kWorkspace, {}, kNowhere);
      const double first = cost(in_turn_), again = cost(in_turn_, kVersionsAsked);
      const double each = (first - without) / evaluation / static_cast<double>(n);
      aims.evaluations = std::max(aims.evaluations, each);
      table.row({count(static_cast<double>(n)), fmt::format("{:.0f}", first), fmt::format("{:.2f}", each),
                 fmt::format("{:.0f}", again)});
    }
    forget();
    table.print();
  }

  // One command that looks at whom the freezes cover.
  void exempt_version(CheckAims& aims) {
    TablePrinter table({"publishing an exempt version, active freezes elsewhere", "targets of it", "ms"});
    for (size_t n : {size_t{1}, size_t{100}, kElsewhere}) {
      freeze_elsewhere(n);
      CreateVersion c{.deployment = fleet_.deployments.front(), .tag = fmt::format("exempt-{}", n)};
      c.bypass_freeze = true;
      Changes changes;
      now_ = now_ + seconds(1);
      Tx tx(state_, now_, Duration{}, IdSource(now_, 7), changes);
      const double start = cpu_seconds();
      must(execute(tx, Request{c}));
      aims.exempt_turn_ms = (cpu_seconds() - start) * 1000;
      table.row({count(static_cast<double>(n)), count(static_cast<double>(fleet_.resources.size())),
                 fmt::format("{:.2f}", aims.exempt_turn_ms)});
    }
    forget();
    table.print();
  }

 private:
  Asked ask(TargetIx t) const { return {t, state_.deployments[state_.at(t).deployment].versions.front()}; }

  double reading(const std::vector<Asked>& asked) {
    return best_ns(asked.size(), [&] {
      // Each step depends on what was read: as in the check, which cannot go on before it knows the pair.
      size_t i = 0;
      while (i < asked.size()) i += 1 + (state_.at(asked[i].target).deployment.n == DeploymentIx{}.n);
      matched_ += i;
    });
  }

  double cost(const std::vector<Asked>& asked, size_t times = 1) {
    return best_ns(asked.size(), [&] {
      frozen_ = 0;
      for (const Asked& a : asked)
        for (size_t i = 0; i < times; ++i)
          frozen_ += static_cast<bool>(policy::frozen_by(state_, now_, a.target, a.version));
      frozen_ /= times;
    });
  }

  void put(FreezeScope scope, std::optional<Uuid> entity, std::optional<std::string> selector = {}) {
    Freeze f{.id = ids_.make<FreezeId>(), .scope = scope, .scope_entity = entity, .reason = "bench"};
    f.created_at = f.effective_at = now_ - minutes(1);
    f.activated_at = f.effective_at;
    f.selector = std::move(selector);
    made_.push_back(f);
    state_.apply(Change::put(std::move(f)));
  }
  void freeze_elsewhere(size_t n) {
    while (made_.size() < n) put(FreezeScope::kDeployment, elsewhere_[made_.size()].uuid);
  }
  void forget() {
    for (Freeze& f : std::exchange(made_, {})) state_.apply(Change::erase(std::move(f)));
  }

  const Fleet& fleet_;
  Loaded loaded_;
  State& state_;
  Time now_;
  IdSource ids_{now_, 11};
  std::vector<DeploymentId> elsewhere_;
  std::vector<Asked> in_turn_, at_random_;
  std::vector<Freeze> made_;
  size_t frozen_ = 0, matched_ = 0;
};

}  // namespace

CheckAims measure_check(store::Store& store, const Fleet& fleet) {
  Check check(store, fleet);
  CheckAims aims;
  fmt::print("\nIs this target frozen? Time on a processor, best of {}\n\n", kPasses);
  check.without_selectors(aims);
  check.with_selectors(aims);
  check.exempt_version(aims);
  return aims;
}

}  // namespace ctrlplane::bench
