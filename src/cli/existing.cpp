#include "cli/existing.h"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/duration.h"
#include "cli/json_text.h"
#include "cli/kinds.h"
#include "cli/names.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

// From so many on one list is less than asking one by one.
constexpr size_t kManyResources = 20;

std::map<std::string, std::string> systems_of(const bj::value& item) {
  std::map<std::string, std::string> systems;
  const bj::value* list = member_at(item, "systems");
  if (list && list->is_array())
    for (const bj::value& s : list->get_array()) systems.emplace(text_at(s, "id"), text_at(s, "name"));
  return systems;
}

// `member` is where the answer has the thing itself, e.g. "deployment"; empty: it is the thing.
std::optional<Existing> existing_of(const bj::value& answer, std::string_view member) {
  const bj::value* thing = member_at(answer, member);
  if (!thing || !thing->is_object()) return std::nullopt;
  return Existing{text_at(*thing, "id"), std::make_shared<bj::object>(thing->get_object()),
                  systems_of(answer)};
}

std::optional<int64_t> microseconds_of(const bj::value& v) {
  if (v.is_int64()) return v.get_int64() * 1'000'000;
  if (!v.is_string()) return std::nullopt;
  auto d = parse_duration(v.get_string());
  return d ? std::optional(d->us) : std::nullopt;
}

// Without what the server adds to each.
bj::value bare(const bj::value& object) {
  bj::value copy = object;
  if (copy.is_object())
    for (std::string_view added : {"id", "policyId", "createdAt"}) copy.get_object().erase(added);
  return copy;
}

bool same_objects(const bj::value& wanted, const bj::value& there) {
  return wanted.is_array() && there.is_array() &&
         std::ranges::equal(wanted.get_array(), there.get_array(),
                            [](const auto& a, const auto& b) { return same_json(bare(a), bare(b)); });
}

bool same_member(Shape shape, const bj::value& wanted, const bj::value* there) {
  bool absent = !there || there->is_null();
  switch (shape) {
    case Shape::kText: return absent ? wanted.get_string().empty() : same_json(wanted, *there);
    case Shape::kSelector: {
      auto nothing = [](const bj::value& v) { return v == "" || v == "false"; };
      if (absent || nothing(*there)) return nothing(wanted);
      return same_json(wanted, *there);
    }
    case Shape::kInteger:
    case Shape::kFlag: return !absent && same_json(wanted, *there);
    case Shape::kObjects: return same_objects(wanted, absent ? bj::value(bj::array()) : *there);
    case Shape::kDuration: return !absent && microseconds_of(wanted) == microseconds_of(*there);
    case Shape::kTexts:
    case Shape::kTextMap:
    case Shape::kObject:
      return absent ? wanted.is_object() && wanted.get_object().empty() : same_json(wanted, *there);
  }
  return false;
}

}  // namespace

std::vector<std::string> differing_members(const Document& document, const Existing& existing) {
  std::vector<std::string> names;
  for (const DocumentMember& m : document.type->members) {
    const bj::value* wanted = document.members->if_contains(m.name);
    if (!wanted || m.reference) continue;
    if (!same_member(m.shape, *wanted, existing.values->if_contains(m.sent_as()))) names.emplace_back(m.name);
  }
  return names;
}

Outcome<bool> workspace_is_fresh(Client& client, const std::vector<Document>& documents) {
  std::vector<std::string> described;
  for (const Document& d : documents)
    if (d.type->kind == "workspace") described.push_back(d.text("slug"));
  if (described.size() == documents.size()) return false;  // nothing else that would have to be in one
  if (client.workspace_name().empty() && described.size() > 1)
    return wrong_use(
        "the documents describe several workspaces: say with --workspace where the rest belongs");
  if (client.workspace_name().empty() && described.size() == 1) client.choose_workspace(described[0]);
  auto there = client.get(TRY(client.workspace_path()));
  if (there) return false;
  if (there.error().status != 404) return std::unexpected(std::move(there.error()));
  if (std::ranges::find(described, client.workspace_name()) != described.end()) return true;
  return std::unexpected(
      Failure{.status = 404, .message = fmt::format("no workspace '{}'", client.workspace_name())});
}

Outcome<ExistingThings::Found> ExistingThings::ask(const std::string& path, std::string_view member) {
  if (auto known = asked_.find(path); known != asked_.end()) return known->second;
  auto answer = client_.get(path);
  if (!answer && answer.error().status != 404) return std::unexpected(std::move(answer.error()));
  return asked_[path] = answer ? existing_of(*answer, member) : std::nullopt;
}

Outcome<const ExistingThings::Things*> ExistingThings::list(std::string_view singular,
                                                            const std::string& deployment) {
  const Kind& k = kind(singular);
  std::string path = TRY(list_path(client_, k, deployment));
  if (auto known = lists_.find(path); known != lists_.end()) return &known->second;
  Things things;
  if (!fresh_ || k.where == Where::kInstance)
    for (const bj::value& item : TRY(client_.list(path, {}, 0, k.items)))
      if (auto existing = existing_of(item, {})) things.emplace(text_at(item, k.name), *std::move(existing));
  return &(lists_[path] = std::move(things));
}

void ExistingThings::prepare(const std::vector<Document>& documents) {
  auto resources = std::ranges::count(documents, "resource", [](const Document& d) { return d.type->kind; });
  resources_listed_ = static_cast<size_t>(resources) >= kManyResources;
}

Outcome<std::vector<std::string>> ExistingThings::systems(const std::string& name) {
  std::vector<std::string> ids;
  auto [first, last] = TRY(list("system"))->equal_range(name);
  for (; first != last; ++first) ids.push_back(first->second.id);
  return ids;
}

Outcome<ExistingThings::Found> ExistingThings::provider(const std::string& name) {
  if (fresh_) return std::nullopt;
  return ask(fmt::format("{}/resource-providers/name/{}", TRY(client_.workspace_path()), segment(name)));
}

Outcome<ExistingThings::Found> ExistingThings::deployment(const std::string& name) {
  if (fresh_) return std::nullopt;
  return ask(fmt::format("{}/deployments/name/{}", TRY(client_.workspace_path()), segment(name)),
             "deployment");
}

Outcome<ExistingThings::Found> ExistingThings::in_list(const Document& document, const std::string& owner) {
  auto [first, last] = TRY(list(document.type->kind, owner))->equal_range(document.text(document.type->key));
  if (first == last) return std::nullopt;
  if (std::next(first) != last)
    return wrong_use(fmt::format("{}: there are {} of {} on the server", document.place.text(),
                                 std::distance(first, last), document.title()));
  return first->second;
}

Outcome<ExistingThings::Found> ExistingThings::find(const Document& document) {
  std::string_view singular = document.type->kind;
  std::string key = document.text(document.type->key);
  if (singular == "workspace") return in_list(document);
  if (fresh_) return std::nullopt;
  if (singular == "provider") return provider(key);
  if (singular == "deployment") return deployment(key);
  std::string workspace = TRY(client_.workspace_path());
  if (singular == "environment") return ask(fmt::format("{}/environments/name/{}", workspace, segment(key)));
  if (singular == "resource" && !resources_listed_)
    return ask(fmt::format("{}/resources/identifier/{}", workspace, segment(key)));
  if (singular != "version") return in_list(document);
  Found owner = TRY(deployment(document.text("deployment")));
  return owner ? in_list(document, owner->id) : Outcome<Found>(std::nullopt);
}

}  // namespace ctrlplane::cli
