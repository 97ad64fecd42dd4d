#include "cli/freeze_names.h"

#include <algorithm>
#include <array>
#include <set>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/json_text.h"
#include "cli/names.h"
#include "cli/text.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr std::array<std::string_view, 4> kScopes = {"workspace", "system", "environment", "deployment"};
constexpr size_t kAskedOneByOne = 20;  // more names than that are read as a list

}  // namespace

const Kind& freeze_kind() {
  static const Kind kFreeze{.singular = "freeze",
                            .plural = "freezes",
                            .path = "freezes",
                            .name = "id",
                            .deleted = Delete::kNever,
                            .columns = {}};
  return kFreeze;
}

Outcome<std::string> freeze_id(Client& client, std::string reference) {
  if (reference.starts_with("freeze/")) reference.erase(0, 7);
  return id_of(client, freeze_kind(), reference);
}

Outcome<std::string> freeze_path(Client& client, std::string reference) {
  std::string id = TRY(freeze_id(client, std::move(reference)));
  return fmt::format("{}/freezes/{}", TRY(client.workspace_path()), segment(id));
}

Outcome<std::string> scope_called(std::string_view word) {
  std::string wanted = lower(word);
  if (wanted == "env") return std::string("environment");
  if (std::ranges::find(kScopes, wanted) != kScopes.end()) return wanted;
  return wrong_use(fmt::format("there is no scope '{}'{}", word, did_you_mean(word, kScopes)),
                   {fmt::format("scopes: {}", fmt::join(kScopes, ", "))});
}

Outcome<std::string> scope_entity(Client& client, const std::string& scope, const std::string& name) {
  if (scope != "workspace") {
    if (name.empty()) return wrong_use(fmt::format("which {}? its name is missing", scope));
    return id_of(client, kind(scope), name);
  }
  if (name.empty()) return std::string();
  const std::string& chosen = client.settings().workspace;
  if (!chosen.empty() && chosen != name)
    return wrong_use(fmt::format("two workspaces are named: '{}' and '{}'", name, chosen));
  client.choose_workspace(name);
  return std::string();
}

void ScopeNames::ask_for(const Kind& kind, const std::string& id) {
  auto path = list_path(client_, kind);
  auto found = path ? client_.get(fmt::format("{}/{}", *path, segment(id)))
                    : Outcome<bj::value>(std::unexpected(path.error()));
  if (found)
    names_[id] = text_at(*found, kind.name);
  else if (found.error().status == 404)
    names_[id] = "(deleted)";
  else
    refused_ = true;
}

void ScopeNames::ask_for_all(const Kind& kind) {
  auto path = list_path(client_, kind);
  auto all = path ? client_.list(*path) : Outcome<bj::array>(std::unexpected(path.error()));
  if (!all) {
    refused_ = true;
    return;
  }
  for (const bj::value& item : *all) names_[text_at(item, kind.id)] = text_at(item, kind.name);
}

void ScopeNames::learn(const bj::array& freezes) {
  std::map<std::string, std::set<std::string>> wanted;  // by scope
  for (const bj::value& f : freezes)
    if (std::string id = text_at(f, "scopeEntityId"); !id.empty() && !names_.contains(id))
      wanted[text_at(f, "scope")].insert(id);
  for (const auto& [scope, ids] : wanted) {
    if (scope == "workspace" || std::ranges::find(kScopes, scope) == kScopes.end()) continue;
    if (ids.size() > kAskedOneByOne) {
      if (!refused_) ask_for_all(kind(scope));
      continue;
    }
    for (const std::string& id : ids)
      if (!refused_) ask_for(kind(scope), id);
  }
}

std::string ScopeNames::title(const bj::value& freeze) const {
  std::string scope = text_at(freeze, "scope"), id = text_at(freeze, "scopeEntityId");
  if (scope == "workspace") return fmt::format("workspace {}", client_.workspace_name());
  auto known = names_.find(id);
  return fmt::format("{} {}", scope, known == names_.end() || known->second.empty() ? id : known->second);
}

}  // namespace ctrlplane::cli
