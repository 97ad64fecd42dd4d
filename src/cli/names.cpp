#include "cli/names.h"

#include <map>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/json_text.h"
#include "cli/text.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr size_t kCandidates = 10;  // as many as help

Failure ambiguous(const Kind& kind, std::string_view reference,
                  const std::map<std::string, bj::value>& found) {
  Failure f{.exit_code = kWrongUse,
            .message = fmt::format("'{}' can be any of {} {}:", reference, found.size(), kind.plural)};
  for (const auto& [id, item] : found) {
    if (f.hints.size() == kCandidates) {
      f.hints.push_back(fmt::format("and {} more", found.size() - kCandidates));
      break;
    }
    std::string name = text_at(item, kind.name);
    f.hints.push_back(name == id ? id : fmt::format("{}  {}", id, name));
  }
  return f;
}

// By id, so that one that moved to another page while the list was read does not count twice.
std::map<std::string, bj::value> matching(const bj::array& items, std::string_view path, const auto& fits,
                                          const Kind& kind) {
  std::map<std::string, bj::value> found;
  for (const bj::value& item : items)
    if (fits(text_at(item, path))) found.emplace(text_at(item, kind.id), item);
  return found;
}

Outcome<bj::value> find_in_list(Client& client, const Kind& kind, std::string_view reference,
                                std::string_view deployment) {
  std::string prefix = lower(reference);
  bool may_be_id = is_id_prefix(reference);
  Query query;
  if (!kind.id_cel.empty())
    query.emplace_back("cel", fmt::format("{}.startsWith({})", kind.id_cel, cel_text(prefix)));
  std::string path = TRY(list_path(client, kind, deployment));
  bj::array items = TRY(client.list(path, query, kind.searched, kind.items));
  auto found = matching(items, kind.name, [&](const std::string& name) { return name == reference; }, kind);
  if (found.empty() && may_be_id)
    found =
        matching(items, kind.id, [&](const std::string& id) { return lower(id).starts_with(prefix); }, kind);
  if (found.size() == 1) return std::move(found.begin()->second);
  if (found.empty()) return std::unexpected(not_found(client, kind, reference));
  return std::unexpected(ambiguous(kind, reference, found));
}

}  // namespace

std::string cel_text(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\x{:02x}", c);
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

Outcome<std::string> list_path(Client& client, const Kind& kind, std::string_view deployment) {
  if (kind.where == Where::kInstance) return fmt::format("{}/{}", kApi, kind.path);
  std::string workspace = TRY(client.workspace_path());
  if (kind.where == Where::kWorkspace) return fmt::format("{}/{}", workspace, kind.path);
  return fmt::format("{}/deployments/{}/{}", workspace, segment(deployment), kind.path);
}

Failure not_found(Client& client, const Kind& kind, std::string_view reference) {
  Failure f{.status = 404, .message = fmt::format("no {} '{}'", kind.singular, reference)};
  if (kind.where == Where::kInstance) return f;
  if (auto path = client.workspace_path()) {
    auto workspace = client.get(*path);
    if (!workspace && workspace.error().status == 404)
      return {.status = 404, .message = fmt::format("no workspace '{}'", client.workspace_name())};
    f.message += fmt::format(" in workspace '{}'", client.workspace_name());
  }
  return f;
}

Outcome<bj::value> find_one(Client& client, const Kind& kind, std::string_view reference,
                            std::string_view deployment) {
  // A table on a narrow terminal cuts ids; they are copied with the mark at their end.
  constexpr std::string_view kCut = "…";
  if (reference.ends_with(kCut) && is_id_prefix(reference.substr(0, reference.size() - kCut.size())))
    reference.remove_suffix(kCut.size());
  if (reference.empty()) return wrong_use(fmt::format("the name of the {} is empty", kind.singular));
  auto ask = [&](const std::string& path) -> Outcome<std::optional<bj::value>> {
    auto found = client.get(path);
    if (found) return *std::move(found);
    if (found.error().status == 404) return std::nullopt;
    return std::unexpected(std::move(found.error()));
  };
  std::string path = TRY(list_path(client, kind, deployment));
  if (kind.by_id && is_uuid(reference))
    if (auto found = TRY(ask(fmt::format("{}/{}{}", path, segment(reference), kind.id_suffix))))
      return *std::move(found);
  if (!kind.by_name.empty()) {
    std::string workspace = TRY(client.workspace_path());
    if (auto found = TRY(ask(fmt::format("{}/{}/{}", workspace, kind.by_name, segment(reference)))))
      return *std::move(found);
    if (!is_id_prefix(reference)) return std::unexpected(not_found(client, kind, reference));
  }
  return find_in_list(client, kind, reference, deployment);
}

Outcome<std::string> id_of(Client& client, const Kind& kind, std::string_view reference,
                           std::string_view deployment) {
  if (is_uuid(reference)) return lower(reference);
  bj::value found = TRY(find_one(client, kind, reference, deployment));
  return text_at(found, kind.id);
}

}  // namespace ctrlplane::cli
