#include "cli/bracket_names.h"

#include <algorithm>
#include <map>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/json_text.h"
#include "cli/names.h"
#include "cli/text.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr std::string_view kPrefix = "bracket-group/";
constexpr size_t kSearched = 5000;  // groups, for the beginning of an id
constexpr size_t kResources = 50;   // of one name
constexpr size_t kCandidates = 10;  // as many as help

bool is_called(const bj::value& resource, std::string_view name) {
  return text_at(resource, "name") == name || text_at(resource, "identifier") == name;
}

std::string stripped(std::string reference) {
  if (reference.starts_with(kPrefix)) reference.erase(0, kPrefix.size());
  return reference;
}

// Open groups on resources of that name, by id.
Outcome<std::map<std::string, bj::value>> groups_on(Client& client, const std::string& name) {
  std::string workspace = TRY(client.workspace_path());
  std::string literal = cel_text(name);
  Query query{{"cel", fmt::format("resource.name == {0} || resource.identifier == {0}", literal)}};
  std::map<std::string, bj::value> found;
  for (const bj::value& resource : TRY(client.list(workspace + "/resources", query, kResources))) {
    if (!is_called(resource, name)) continue;
    Query of_resource{{"status", std::string(kOpenStatuses)}, {"resourceId", text_at(resource, "id")}};
    for (bj::value& group : TRY(client.list(workspace + "/bracket-groups", of_resource)))
      if (is_called(*member_at(group, "resource"), name) && text_at(group, "finishedAt").empty())
        found.emplace(text_at(group, "id"), std::move(group));
  }
  return found;
}

Failure several(std::string_view reference, const std::map<std::string, bj::value>& found) {
  Failure f{.exit_code = kWrongUse,
            .message = fmt::format("'{}' has {} open bracket groups:", reference, found.size())};
  for (const auto& [id, group] : found)
    if (f.hints.size() < kCandidates)
      f.hints.push_back(
          fmt::format("{}  {}  {}", id, text_at(group, "status"), text_at(group, "policyName")));
  if (found.size() > kCandidates) f.hints.push_back(fmt::format("and {} more", found.size() - kCandidates));
  return f;
}

Outcome<std::string> path_of(Client& client, const std::string& id) {
  return fmt::format("{}/bracket-groups/{}", TRY(client.workspace_path()), segment(id));
}

}  // namespace

const Kind& group_kind() {
  static const Kind kGroup{.singular = "bracket-group",
                           .plural = "bracket groups",
                           .path = "bracket-groups",
                           .name = "id",
                           .searched = kSearched,
                           .deleted = Delete::kNever,
                           .columns = {}};
  return kGroup;
}

Outcome<std::string> group_id(Client& client, std::string reference) {
  reference = stripped(std::move(reference));
  if (reference.empty()) return wrong_use("which bracket group? it has no name");
  if (is_uuid(reference)) return lower(reference);
  auto found = TRY(groups_on(client, reference));
  if (found.size() == 1) return found.begin()->first;
  if (found.size() > 1) return std::unexpected(several(reference, found));
  auto id = id_of(client, group_kind(), reference);
  if (!id && id.error().status == 404)
    id.error().hints.push_back(
        "a resource's name is enough while one group is open on it: `ctrlplane brackets`");
  return id;
}

Outcome<std::string> group_path(Client& client, std::string reference) {
  return path_of(client, TRY(group_id(client, std::move(reference))));
}

Outcome<std::string> quarantined_group_path(Client& client, std::string reference) {
  reference = stripped(std::move(reference));
  if (is_uuid(reference)) return path_of(client, lower(reference));
  std::map<std::string, bj::value> found;
  bj::value answer = TRY(client.get(TRY(client.workspace_path()) + "/brackets"));
  for (const bj::value& rule : list_at(answer, "items"))
    for (const bj::value& q : list_at(rule, "quarantines"))
      if (const bj::value* r = member_at(q, "resource"); r && is_called(*r, reference))
        found.emplace(text_at(q, "groupId"),
                      bj::object{{"status", "in quarantine"}, {"policyName", text_at(rule, "policyName")}});
  if (found.size() == 1) return path_of(client, found.begin()->first);
  if (found.size() > 1) return std::unexpected(several(reference, found));
  return group_path(client, std::move(reference));
}

Outcome<std::string> member_deployment(const bj::value& group, std::string_view reference) {
  std::vector<std::string> names, by_id;
  std::string prefix = lower(reference);
  for (const bj::value& m : list_at(group, "members")) {
    std::string id = text_at(m, "deploymentId"), name = text_at(m, "deploymentName");
    if (name == reference) return id;
    names.push_back(name.empty() ? id : name);
    if (is_id_prefix(reference) && id.starts_with(prefix)) by_id.push_back(id);
  }
  if (by_id.size() == 1) return by_id.front();
  std::vector<std::string_view> known(names.begin(), names.end());
  return wrong_use(fmt::format("the group has no member '{}'{}", reference, did_you_mean(reference, known)),
                   {fmt::format("members: {}", fmt::join(names, ", "))});
}

}  // namespace ctrlplane::cli
