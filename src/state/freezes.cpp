// Freezes: by what they cover, so that asking whether a target is frozen looks only at those that could be
// meant, and a freeze over a million targets touches none of them.
#include <algorithm>

#include "state/state.h"

namespace ctrlplane {
namespace {

// One that cannot be read any more stops everything in its scope, as one that cannot be evaluated does: a
// halt fails closed.
std::optional<Selector> compiled(const std::optional<std::string>& text) {
  if (!text || text->empty()) return std::nullopt;
  auto selector = Selector::compile(*text, Selector::Subject::kVersion);
  return selector ? std::optional(*std::move(selector)) : std::nullopt;
}

bool stops(Match m) { return m == Match::kYes || m == Match::kError; }

bool covers_the_same(const Freeze& a, const Freeze& b) {
  return a.effective_at == b.effective_at && a.expires_at == b.expires_at && a.thawed_at == b.thawed_at &&
         a.selector == b.selector && a.resume_per_minute == b.resume_per_minute;
}

}  // namespace

void State::index_freeze(FreezeIx f) {
  const Freeze& row = freezes[f].row;
  auto& list = (row.ended() ? ended_freezes_ : open_freezes_)[row.scope_entity.value_or(Uuid{})];
  list.push_back(f);
}

void State::unindex_freeze(FreezeIx f) {
  const Freeze& row = freezes[f].row;
  FreezesByScope& from = row.ended() ? ended_freezes_ : open_freezes_;
  auto it = from.find(row.scope_entity.value_or(Uuid{}));
  if (it == from.end()) return;
  std::erase(it->second, f);
  if (it->second.empty()) from.erase(it);
}

void State::put(const Freeze& row) {
  FreezeIx f = freezes.find(row.id);
  if (row.retired) return erase(row);
  const bool is_new = !f;
  if (is_new) f = freezes.add(row.id);
  FreezeSlot& slot = freezes[f];
  if (!is_new) unindex_freeze(f);
  const bool changed = !is_new && !covers_the_same(slot.row, row);
  const bool begins = row.activated_at && (is_new || !slot.row.activated_at);
  if (is_new || slot.row.selector != row.selector) slot.selector = compiled(row.selector);
  slot.row = row;
  slot.said = {};
  slot.span_selectors.clear();
  for (const FreezeSpan& s : row.spans) slot.span_selectors.push_back(compiled(s.selector));
  index_freeze(f);
  if (changed) mark_scope_dirty(row);
  if (row.ended()) return;
  if (begins) {
    mark_queued_groups_dirty();
    stir_lines();  // who is frozen keeps no place
  }
  if (!row.activated_at) timers.add(row.effective_at, TimerKind::kFreezeDue, row.id.uuid);
  if (row.warn_at) timers.add(*row.warn_at, TimerKind::kFreezeDue, row.id.uuid);
  if (row.expires_at) timers.add(*row.expires_at, TimerKind::kFreezeDue, row.id.uuid);
  if (row.in_flight == InFlight::kCancel && row.activated_at) stop_walks_.push_back({f});
}

void State::erase(const Freeze& row) {
  FreezeIx f = freezes.find(row.id);
  if (!f) return;
  unindex_freeze(f);
  if (!freezes[f].row.ended()) mark_scope_dirty(freezes[f].row);
  std::erase_if(stop_walks_, [&](const StopWalk& w) { return w.freeze == f; });
  freezes.remove(row.id);
}

bool State::in_scope(const Freeze& f, DeploymentIx d, EnvironmentIx e) const {
  const Uuid entity = f.scope_entity.value_or(Uuid{});
  switch (f.scope) {
    case FreezeScope::kWorkspace: return true;
    case FreezeScope::kDeployment: return deployments[d].row.id.uuid == entity;
    case FreezeScope::kEnvironment: return environments[e].row.id.uuid == entity;
    case FreezeScope::kSystem: break;
  }
  const SystemIx s = systems.find(SystemId{entity});
  if (!s) return false;
  auto links = [&](const std::vector<SystemIx>& all) {
    return std::find(all.begin(), all.end(), s) != all.end();
  };
  return links(deployments[d].members.systems) && links(environments[e].members.systems);
}

bool State::freeze_selects(FreezeIx f, TargetIx t, VersionIx v) const {
  const FreezeSlot& slot = freezes[f];
  if (!slot.selector) return true;
  if (!slot.selector->uses("version")) v = {};
  FreezeSlot::Said& said = slot.said;
  if (said.epoch != rows_epoch_ || said.target != t || said.version != v)
    said = {rows_epoch_, t, v, matches(*slot.selector, t, v)};
  return said.match;
}

bool State::freeze_selected(FreezeIx f, size_t span, TargetIx t, VersionIx v) const {
  const auto& selector = freezes[f].span_selectors[span];
  return !selector || matches(*selector, t, v);
}

bool State::matches(const Selector& selector, TargetIx t, VersionIx v) const {
  const TargetSlot& target = targets_[t.n];
  SelectorInput input{.resource = &resources[target.resource].row,
                      .deployment = &deployments[target.deployment].row,
                      .environment = &environments[target.environment].row};
  if (v) input.version = &versions[v].row;
  return stops(selector.match(input));
}

void State::mark_scope_dirty(const Freeze& f) {
  const Uuid entity = f.scope_entity.value_or(Uuid{});
  switch (f.scope) {
    case FreezeScope::kWorkspace: return mark_all_dirty();
    case FreezeScope::kDeployment:
      if (DeploymentIx d = deployments.find(DeploymentId{entity})) mark_deployment_dirty(d);
      return;
    case FreezeScope::kEnvironment:
      if (EnvironmentIx e = environments.find(EnvironmentId{entity}))
        deployments.each([&](DeploymentIx d, const DeploymentSlot&) { mark_dirty_in(d, e); });
      return;
    case FreezeScope::kSystem:
      if (SystemIx s = systems.find(SystemId{entity}))
        for (DeploymentIx d : systems[s].deployments)
          for (EnvironmentIx e : systems[s].environments) mark_dirty_in(d, e);
      return;
  }
}

// ---- Jobs --------------------------------------------------------------------------------------------

void State::note_in_flight(JobIx j) {
  const Job& row = jobs[j].row;
  if (row.live && row.handed_over_at && !is_terminal(row.status))
    in_flight_.add(j.n);
  else
    in_flight_.remove(j.n);
}

void State::set_aside(AgentIx a, JobId job) {
  AgentSlot& agent = agents[a];
  if (agent.pending.erase(job)) agent.held.insert(job);
}

void State::recall_held(TargetIx t) {
  for (JobIx j = targets_[t.n].first_job; j; j = jobs[j].next_on_target)
    if (AgentIx a = agents.find(jobs[j].row.agent); a && agents[a].held.erase(jobs[j].row.id))
      agents[a].pending.insert(jobs[j].row.id);
}

FreezeIx State::take_to_stop(size_t budget, std::vector<JobIx>& found) {
  if (stop_walks_.empty()) return {};
  StopWalk& walk = stop_walks_.front();
  const FreezeIx f = walk.freeze;
  auto it = in_flight_.begin();
  it.equalorlarger(walk.next);
  for (; budget > 0 && it.i.has_value; ++it, --budget) {
    found.push_back({*it});
    walk.next = *it + 1;
  }
  if (!it.i.has_value) stop_walks_.pop_front();
  return f;
}

}  // namespace ctrlplane
