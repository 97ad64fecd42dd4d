// Bracket groups by resource, and the versions they hold on to.
#include <algorithm>

#include "state/state.h"

namespace ctrlplane {

void State::put(const BracketGroup& row) {
  GroupIx g = groups.find(row.id);
  if (row.retired) {
    if (g) drop_group(g);
    return;
  }
  if (!g) {
    g = groups.add(row.id);
    groups[g].resource = resources.find(row.resource);
    if (groups[g].resource) resources[groups[g].resource].groups.push_back(g);
  }
  const bool was_active = groups[g].row.active();
  groups[g].row = row;
  if (was_active && !row.active()) look_at_slots(row.resource);
  mark_group_dirty(g);
}

void State::erase(const BracketGroup& row) {
  if (GroupIx g = groups.find(row.id)) drop_group(g);
}

void State::drop_group(GroupIx g) {
  GroupSlot& slot = groups[g];
  const ResourceId resource = slot.row.resource;
  const ResourceIx r = slot.resource;
  const GroupId id = slot.row.id;
  release_members(slot);
  if (r) std::erase(resources[r].groups, g);
  groups.remove(id);
  look_at_slots(resource);
  // Another may have waited for it.
  if (r) mark_groups_dirty(r);
}

void State::release_members(GroupSlot& slot) {
  for (MemberSlot& m : slot.members) {
    set_version_ref(m.version, {});
    set_version_ref(m.next_version, {});
    set_version_ref(m.previous, {});
  }
  slot.members.clear();
}

void State::put(const BracketMember& row) {
  GroupIx g = groups.find(row.group);
  if (!g || row.retired) return;
  auto& members = groups[g].members;
  auto it = std::lower_bound(members.begin(), members.end(), row.deployment,
                             [](const MemberSlot& m, DeploymentId d) { return m.row.deployment < d; });
  if (it == members.end() || it->row.deployment != row.deployment) it = members.insert(it, MemberSlot{});
  auto version = [&](const std::optional<VersionId>& id) { return id ? versions.find(*id) : VersionIx{}; };
  set_version_ref(it->version, version(row.version));
  set_version_ref(it->next_version, version(row.next_version));
  set_version_ref(it->previous, version(row.previous));
  it->row = row;
  mark_group_dirty(g);
}

void State::erase(const BracketMember& row) {
  GroupIx g = groups.find(row.group);
  if (!g) return;
  auto& members = groups[g].members;
  auto it = std::find_if(members.begin(), members.end(),
                         [&](const MemberSlot& m) { return m.row.deployment == row.deployment; });
  if (it == members.end()) return;
  set_version_ref(it->version, {});
  set_version_ref(it->next_version, {});
  set_version_ref(it->previous, {});
  members.erase(it);
}

void State::mark_group_dirty(GroupIx g) {
  if (std::exchange(groups[g].dirty, true)) return;
  dirty_groups_.push_back(groups[g].row.id);
}

std::optional<GroupIx> State::pop_dirty_group() {
  while (!dirty_groups_.empty()) {
    GroupIx g = groups.find(dirty_groups_.front());
    dirty_groups_.pop_front();
    if (!g || !groups[g].dirty) continue;
    groups[g].dirty = false;
    return g;
  }
  return std::nullopt;
}

// What a freeze does not cover passes by what it holds.
void State::mark_queued_groups_dirty() {
  groups.each([&](GroupIx g, const GroupSlot& slot) {
    if (slot.row.status == GroupStatus::kQueued) mark_group_dirty(g);
  });
}

void State::mark_groups_dirty(ResourceIx r) {
  for (GroupIx g : resources[r].groups) mark_group_dirty(g);
}

void State::leave_groups(ResourceIx r) {
  for (GroupIx g : resources[r].groups) {
    groups[g].resource = {};
    mark_group_dirty(g);
  }
}

// ---- Quarantine ------------------------------------------------------------------------------------------

void State::put(const Quarantine& row) {
  if (row.cleared_at) return erase(row);
  quarantines_[{row.rule, row.resource}] = row;
  if (ResourceIx r = resources.find(row.resource)) mark_groups_dirty(r);
}

void State::erase(const Quarantine& row) {
  if (!quarantines_.erase({row.rule, row.resource})) return;
  stir_lines();  // as many as the limit allows may have been in one
  if (ResourceIx r = resources.find(row.resource)) {
    mark_groups_dirty(r);
    for (TargetIx t : resources[r].targets) mark_dirty(t);
  }
}

const Quarantine* State::quarantine(RuleId rule, ResourceId resource) const {
  auto it = quarantines_.find({rule, resource});
  return it == quarantines_.end() ? nullptr : &it->second;
}

}  // namespace ctrlplane
