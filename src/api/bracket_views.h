// Bracket groups as the API shows them. Names are taken from the state, so the texts are made on the loop;
// what has left memory comes from the store as rows first.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/call.h"

namespace ctrlplane::api {

// A group and its members, wherever they were found.
struct GroupRows {
  BracketGroup row;
  std::vector<BracketMember> members;
  std::map<VersionId, std::string> tags = {};  // of versions that may have left memory
  std::optional<Quarantine> quarantine = {};   // the one that it ended with
};
GroupRows rows_of(const GroupSlot& slot);

// Also of those that have left memory; kNotFound if there is none. On pool threads only.
Result<GroupRows> stored_group(Call& call, GroupId id);
// Puts in the members and the tags of groups whose rows are there. On pool threads only.
Status add_members(store::Store& store, WorkspaceId workspace, std::vector<GroupRows>& groups);

// ---- On the loop -----------------------------------------------------------------------------------------

// As lists have it.
void write_group(JsonWriter& w, const State& state, Time now, const GroupRows& group);
// With terms, its members in full, its timeline, and what a person could do about it.
std::string group_text(const State& state, Time now, const GroupRows& group);

// {ruleId, policyId, policyName}, without brackets; the policy if there still is one.
void write_rule_and_policy(JsonWriter& w, const State& state, RuleId rule);
// {id, identifier, name}; the id alone of one that is gone.
void write_resource(JsonWriter& w, const State& state, ResourceId id);

}  // namespace ctrlplane::api
