// Slots: whom a concurrency rule counts, who holds its slots, who waits for one.
#include "state/limits.h"

#include <algorithm>

#include "state/bits.h"
#include "state/state.h"

namespace ctrlplane {
namespace {

constexpr std::string_view kType = "resourceConcurrency";

// A limit fails closed: what cannot be evaluated is counted.
bool counts(const Limit& limit, const Resource& r) {
  if (!limit.selector) return true;
  const Match m = limit.selector->match(r);
  return m == Match::kYes || m == Match::kError;
}

}  // namespace

// ---- The line ------------------------------------------------------------------------------------------

size_t Line::ahead_of(const LineKey& key, size_t most) const {
  size_t n = 0;
  for (auto it = by_key_.begin(); it != by_key_.end() && n < most && *it < key; ++it)
    if (it->resource != key.resource) ++n;
  return n;
}

void Line::join(const LineKey& key, TargetIx t) {
  Waiting& w = waiting_[key.resource];
  // With several wishes a resource waits with the oldest.
  const bool others = std::any_of(w.targets.begin(), w.targets.end(), [&](TargetIx o) { return o != t; });
  if (!w.targets.empty()) by_key_.erase(w.key);
  w.key = others ? std::min(w.key, key) : key;
  by_key_.insert(w.key);
  if (std::find(w.targets.begin(), w.targets.end(), t) == w.targets.end()) w.targets.push_back(t);
}

bool Line::leave(ResourceId r) {
  auto it = waiting_.find(r);
  if (it == waiting_.end()) return false;
  by_key_.erase(it->second.key);
  waiting_.erase(it);
  return true;
}

const Line& State::line(RuleId rule) const {
  static const Line kEmpty;
  auto it = lines_.find(rule);
  return it == lines_.end() ? kEmpty : it->second;
}

void State::wait_in_line(RuleId rule, const LineKey& key, TargetIx t) {
  Line& line = lines_[rule];
  const Line::Waiting* before = line.find(key.resource);
  const LineKey place = before ? before->key : key;
  line.join(key, t);
  const Line::Waiting& now = *line.find(key.resource);
  if (!(now.key < place)) return;
  for (TargetIx o : now.targets)  // they have a better place now
    if (o != t) mark_dirty(o);
}

bool State::leave_line(RuleId rule, ResourceId resource) {
  auto it = lines_.find(rule);
  return it != lines_.end() && it->second.leave(resource);
}

// A target that goes waits for nothing; others of its resource join again when they are looked at.
void State::leave_lines(TargetIx t) {
  if (lines_.empty()) return;
  const ResourceId resource = resources[targets_[t.n].resource].row.id;
  for (auto& [rule, line] : lines_) {
    const Line::Waiting* w = line.find(resource);
    if (!w || std::find(w->targets.begin(), w->targets.end(), t) == w->targets.end()) continue;
    for (TargetIx o : w->targets)
      if (o != t) mark_dirty(o);
    line.leave(resource);
    stir_line(rule);
  }
}

void State::stir_line(RuleId rule) {
  if (lines_.contains(rule)) stirred_lines_.insert(rule);
}

void State::stir_lines() {
  for (const auto& [rule, line] : lines_) stir_line(rule);
}

void State::wake_line(RuleId rule, size_t first) {
  const Line& of = line(rule);
  for (auto it = of.order().begin(); it != of.order().end() && first > 0; ++it, --first)
    for (TargetIx t : of.find(it->resource)->targets)
      if (t.n < targets_.size()) mark_dirty(t);
}

bool State::anyone_in_line() const {
  return std::any_of(lines_.begin(), lines_.end(), [](const auto& of) { return !of.second.order().empty(); });
}

void State::wake_in_lines(DeploymentIx d, EnvironmentIx e) {
  for (const auto& [rule, line] : lines_)
    for (const LineKey& key : line.order())
      for (TargetIx t : line.find(key.resource)->targets)
        if (targets_[t.n].deployment == d && targets_[t.n].environment == e) mark_dirty(t);
}

void State::wake_in_lines(ResourceIx r) {
  for (const auto& [rule, line] : lines_)
    if (const Line::Waiting* w = line.find(resources[r].row.id))
      for (TargetIx t : w->targets) mark_dirty(t);
}

// ---- Whom a rule counts --------------------------------------------------------------------------------

const Limit* State::limit(RuleId rule) const {
  auto it = limits_.find(rule);
  return it == limits_.end() ? nullptr : &it->second;
}

bool State::is_limited(RuleId rule, ResourceIx r) const {
  const Limit* of = limit(rule);
  return of && (of->counting ? counts(*of, resources[r].row) : of->resources.contains(r.n));
}

void State::set_limits(const Policy& row) {
  for (const PolicyRule& rule : row.rules) {
    if (rule.type != kType) continue;
    std::string text = text_member(rule.body, "groupSelector").value_or("");
    auto [it, is_new] = limits_.try_emplace(rule.id);
    Limit& limit = it->second;
    if (!is_new && limit.text == text) continue;
    limit.text = std::move(text);
    auto selector = Selector::compile(limit.text, Selector::Subject::kResource);
    limit.selector = selector ? std::optional(*std::move(selector)) : std::nullopt;
    limit.resources = {};
    limit.counting = true;
    limit.walked = false;
    std::erase_if(work_, [&](const Work& w) { return w.kind == Work::Kind::kLimit && w.rule == rule.id; });
    enqueue({Work::Kind::kLimit, {}, {}, rule.id});
  }
}

void State::drop_limits(const Policy& row) {
  for (const PolicyRule& rule : row.rules) {
    if (!limits_.erase(rule.id)) continue;
    lines_.erase(rule.id);
    std::erase_if(work_, [&](const Work& w) { return w.kind == Work::Kind::kLimit && w.rule == rule.id; });
  }
}

void State::count_in_limits(ResourceIx r) {
  for (auto& [rule, limit] : limits_)
    if ((limit.walked || !limit.counting) && count_in_limit(limit, r)) stir_line(rule);
}

bool State::count_in_limit(Limit& limit, ResourceIx r) {
  return set_bit(limit.resources, r.n, counts(limit, resources[r].row));
}

void State::leave_limits(ResourceIx r) {
  for (auto& [rule, limit] : limits_) limit.resources.remove(r.n);
  const ResourceId id = resources[r].row.id;
  const bool in_quarantine = std::any_of(quarantines_.begin(), quarantines_.end(),
                                         [&](const auto& q) { return q.first.second == id; });
  for (auto& [rule, line] : lines_)
    if (line.leave(id) || in_quarantine) stir_line(rule);
}

// ---- Who holds -------------------------------------------------------------------------------------------

const std::map<ResourceId, ConcurrencySlot>& State::holders(RuleId rule) const {
  static const std::map<ResourceId, ConcurrencySlot> kNone;
  auto it = holders_.find(rule);
  return it == holders_.end() ? kNone : it->second;
}

void State::put(const ConcurrencySlot& row) {
  holders_[row.rule][row.resource] = row;
  idle_slots_.emplace_back(row.rule, row.resource);
}

void State::erase(const ConcurrencySlot& row) {
  auto it = holders_.find(row.rule);
  if (it == holders_.end() || !it->second.erase(row.resource)) return;
  if (it->second.empty()) holders_.erase(it);
}

bool State::slot_in_use(const ConcurrencySlot& slot) const {
  if (slot_users_.contains({slot.rule, slot.resource})) return true;
  if (!slot.group) return false;
  if (GroupIx own = groups.find(*slot.group); own && groups[own].row.active()) return true;
  // Groups of several brackets may have come to share it.
  const auto is_active = [&](GroupIx g) { return groups[g].row.active(); };
  if (const ResourceIx r = resources.find(slot.resource))
    return std::any_of(resources[r].groups.begin(), resources[r].groups.end(), is_active);
  bool any = false;  // they are about to end with their resource
  groups.each(
      [&](GroupIx g, const GroupSlot& of) { any |= of.row.resource == slot.resource && is_active(g); });
  return any;
}

std::optional<ConcurrencySlot> State::pop_idle_slot() {
  while (!idle_slots_.empty()) {
    auto [rule, resource] = idle_slots_.front();
    idle_slots_.pop_front();
    const auto& of = holders(rule);
    if (auto it = of.find(resource); it != of.end() && !slot_in_use(it->second)) return it->second;
  }
  return std::nullopt;
}

void State::use_slots(const Job& row, int by) {
  for (RuleId rule : row.slots) {
    const std::pair key(rule, row.target.resource);
    if ((slot_users_[key] += by) > 0) continue;
    slot_users_.erase(key);
    idle_slots_.push_back(key);
  }
}

void State::look_at_slots(ResourceId resource) {
  for (const auto& [rule, of] : holders_)
    if (of.contains(resource)) idle_slots_.emplace_back(rule, resource);
}

}  // namespace ctrlplane
