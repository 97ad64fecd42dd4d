// Whom a version is for. A scoped version's targets are found once, through the index of resources, and kept
// as they come, go and change: asking is a look into a bitmap.
#include <algorithm>

#include "state/bits.h"
#include "state/state.h"

namespace ctrlplane {
namespace {

// So many are marked at once; more are walked over in slices, with the rest of their deployment.
constexpr uint64_t kMarkedAtOnce = 4096;

// Few enough to be looked at in the step that makes the version: a hotfix is known to be for whom it is for
// when its creation is answered.
constexpr size_t kCountedAtOnce = 256;

// A walk that has not begun will find what comes before it.
bool is_to_be_walked(const VersionScope& s) { return s.counting && !s.walked; }

}  // namespace

// ---- Asking --------------------------------------------------------------------------------------------

Match State::match_on(const VersionScope& s, TargetIx t) const {
  if (!s.selector) return Match::kError;
  const TargetSlot& slot = targets_[t.n];
  return s.selector->match({.resource = &resources[slot.resource].row,
                            .deployment = &deployments[slot.deployment].row,
                            .environment = &environments[slot.environment].row});
}

Match State::scope_match(VersionIx v, TargetIx t) const {
  const VersionScope* s = versions[v].scope.get();
  return s ? match_on(*s, t) : Match::kYes;
}

VersionIx State::newest_for(TargetIx t) const {
  for (VersionIx v : deployments[targets_[t.n].deployment].versions)
    if (in_scope(v, t)) return v;
  return {};
}

uint32_t State::targets_in(DeploymentIx d, EnvironmentIx e, VersionIx v) const {
  const VersionScope* s = versions[v].scope.get();
  if (!s) return targets_in(d, e);
  auto it = s->counts.find(e);
  return it == s->counts.end() ? 0 : it->second;
}

uint64_t State::membership_epoch(DeploymentIx d, EnvironmentIx e, VersionIx v) const {
  const VersionScope* s = versions[v].scope.get();
  return s ? s->epoch : membership_epoch(d, e);
}

std::vector<std::pair<VersionIx, EnvironmentIx>> State::take_changed_scopes() {
  std::vector<std::pair<VersionIx, EnvironmentIx>> all(changed_scopes_.begin(), changed_scopes_.end());
  changed_scopes_.clear();
  return all;
}

void State::mark_version_dirty(VersionIx v, EnvironmentIx e) {
  const VersionSlot& slot = versions[v];
  const DeploymentIx d = slot.deployment;
  if (slot.scope && slot.scope->counting) return;  // they are marked when all are known
  if (!slot.scope || slot.scope->targets.cardinality() > kMarkedAtOnce)
    return e ? mark_dirty_in(d, e) : mark_deployment_dirty(d);
  for (uint32_t n : slot.scope->targets)
    if (!e || targets_[n].environment == e) mark_dirty({n});
}

void State::mark_wherever_it_runs(VersionIx v, EnvironmentIx e) {
  if (versions[v].references == 0) return mark_version_dirty(v, e);
  e ? mark_dirty_in(versions[v].deployment, e) : mark_deployment_dirty(versions[v].deployment);
}

// ---- Counting ------------------------------------------------------------------------------------------

void State::make_scope(VersionIx v) {
  VersionSlot& slot = versions[v];
  slot.scope = std::make_unique<VersionScope>();
  slot.scope->on_error = slot.row.on_selector_error;
  if (auto selector = Selector::compile(*slot.row.target_selector, Selector::Subject::kTarget))
    slot.scope->selector = std::move(*selector);
  deployments[slot.deployment].scoped.push_back(v);
  recount(v);
}

void State::recount(VersionIx v) {
  VersionSlot& slot = versions[v];
  if (slot.erased) return;
  // Start over: what a walk has seen so far was something else.
  std::erase_if(work_,
                [&](const Work& w) { return w.kind == Work::Kind::kScope && w.version == slot.row.id; });
  slot.scope->counting = true;
  slot.scope->walked = false;
  enqueue({.kind = Work::Kind::kScope, .deployment = slot.deployment, .version = slot.row.id});
  if (work_.size() > 1) return;
  size_t budget = kCountedAtOnce;
  if (!step(work_.front(), budget)) return;
  const Work done = std::move(work_.front());
  work_.pop_front();
  finish(done);
}

// Something that selectors read of every target has changed; none: in every deployment.
void State::recount_where(std::string_view variable, DeploymentIx d) {
  for (uint32_t n = 0; n < deployments.bound(); ++n)
    if (deployments.used({n}) && (!d || d.n == n))
      for (VersionIx v : deployments[{n}].scoped)
        if (const auto& s = versions[v].scope->selector; s && s->uses(variable)) recount(v);
}

// None: the version is gone, whatever has its id now.
VersionIx State::counted_by(const Work& work) const {
  const VersionIx v = versions.find(work.version);
  return v && versions[v].deployment == work.deployment ? v : VersionIx{};
}

void State::set_in_scope(VersionIx v, TargetIx t, bool in) {
  VersionScope& s = *versions[v].scope;
  const EnvironmentIx e = targets_[t.n].environment;
  if (!set_bit(s.targets, t.n, in)) return;
  in ? ++s.counts[e] : --s.counts[e];
  if (s.counts[e] == 0) s.counts.erase(e);
  s.epoch = ++membership_changes_;
  changed_scopes_.insert({v, e});
}

void State::rescope(VersionIx v, TargetIx t) {
  const TargetSlot& slot = targets_[t.n];
  if (!slot.exists) return;
  VersionScope& s = *versions[v].scope;
  const Match m = match_on(s, t);
  set_bit(s.undetermined, t.n, m != Match::kYes && m != Match::kNo);
  const bool in = s.holds(m);
  if (s.targets.contains(t.n) == in) return;
  if (!in) discount_past(t, v);
  set_in_scope(v, t, in);
  if (in) count_past(t, v);
  forget_ended(slot);
  // Those that a walk finds are marked at its end.
  if (!in || !s.counting) mark_dirty(t);
}

void State::enter_scopes(TargetIx t) {
  for (VersionIx v : deployments[targets_[t.n].deployment].scoped) {
    VersionScope& s = *versions[v].scope;
    if (is_to_be_walked(s)) continue;
    const Match m = match_on(s, t);
    set_bit(s.undetermined, t.n, m != Match::kYes && m != Match::kNo);
    if (s.holds(m)) set_in_scope(v, t, true);
  }
}

void State::leave_scopes(TargetIx t) {
  for (VersionIx v : deployments[targets_[t.n].deployment].scoped) {
    set_bit(versions[v].scope->undetermined, t.n, false);
    set_in_scope(v, t, false);
  }
}

void State::scope_counted(VersionIx v) {
  VersionScope& s = *versions[v].scope;
  s.counting = false;
  for (const auto& [e, count] : s.counts) changed_scopes_.insert({v, e});
  if (s.targets.cardinality() > kMarkedAtOnce) return mark_deployment_dirty(versions[v].deployment);
  for (uint32_t n : s.targets) mark_dirty({n});
}

}  // namespace ctrlplane
