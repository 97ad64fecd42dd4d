#include "cli/write_document.h"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/ids.h"
#include "cli/json_text.h"
#include "cli/kinds.h"
#include "cli/names.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

bj::object body_of(const Document& document, const Existing* existing) {
  bj::object body;
  for (const DocumentMember& m : document.type->members) {
    if (m.reference) continue;
    const bj::value* v = document.members->if_contains(m.name);
    if (!v && existing) v = existing->values->if_contains(m.sent_as());
    if (v && !v->is_null()) body[m.sent_as()] = *v;
  }
  return body;
}

void set_default(bj::object& body, std::string_view member, bj::value value) {
  body.emplace(member, std::move(value));
}

Outcome<std::string> id_in(const Outcome<bj::value>& answer, std::string otherwise = {}) {
  if (!answer) return std::unexpected(answer.error());
  std::string id = text_at(*answer, "id");
  if (id.empty()) id = std::move(otherwise);
  if (id.empty()) return failed("the server did not say what id it gave");
  return id;
}

Outcome<Written> written_in(const Outcome<bj::value>& answer, std::string otherwise = {}) {
  Written written{TRY(id_in(answer, std::move(otherwise)))};
  for (const bj::value& warning : list_at(*answer, "warnings"))
    if (warning.is_string()) written.warnings.emplace_back(warning.get_string());
  return written;
}

Outcome<std::string> write_workspace(Client& client, const bj::object& body, const Existing* existing) {
  std::string path = fmt::format("{}/workspaces", kApi);
  if (existing)
    return id_in(client.send("PATCH", fmt::format("{}/{}", path, existing->id), body), existing->id);
  return id_in(client.send("POST", path, body));
}

Outcome<Written> write_version(Client& client, const Document& document, bj::object body,
                               const Existing* existing, const Links& links) {
  std::string workspace = TRY(client.workspace_path());
  if (existing) {
    bj::object change{{"status", document.has("status") ? body["status"] : existing->values->at("status")}};
    if (document.has("message")) change["message"] = body["message"];
    return written_in(
        client.send("PATCH", fmt::format("{}/deployment-versions/{}", workspace, existing->id), change),
        existing->id);
  }
  set_default(body, "name", bj::string(document.text("tag")));
  set_default(body, "status", "ready");
  set_default(body, "config", bj::object());
  set_default(body, "metadata", bj::object());
  return written_in(client.send(
      "POST", fmt::format("{}/deployments/{}/versions", workspace, segment(links.deployment)), body));
}

Outcome<std::string> write_resource(Client& client, const Document& document, bj::object body,
                                    const Existing* existing, const Links& links) {
  std::string identifier = document.text("identifier");
  body.erase("identifier");
  set_default(body, "name", bj::string(identifier));
  if (links.provider) body["providerId"] = *links.provider;
  std::string path =
      fmt::format("{}/resources/identifier/{}", TRY(client.workspace_path()), segment(identifier));
  return id_in(client.send("PUT", path, body), existing ? existing->id : std::string());
}

}  // namespace

Outcome<Written> write_document(Client& client, const Document& document, const Existing* existing,
                                const Links& links) {
  std::string_view singular = document.type->kind;
  bj::object body = body_of(document, existing);
  if (singular == "workspace") return Written{TRY(write_workspace(client, body, existing))};
  if (singular == "version") return write_version(client, document, std::move(body), existing, links);
  if (singular == "resource")
    return Written{TRY(write_resource(client, document, std::move(body), existing, links))};

  std::string path = TRY(list_path(client, kind(singular)));
  if (singular == "provider") {
    body["id"] = existing ? existing->id : random_uuid();
    return Written{TRY(id_in(client.send("PUT", path, body)))};
  }
  if (singular == "agent") {
    set_default(body, "config", bj::object());
    std::string id = existing ? existing->id : random_uuid();
    return Written{TRY(id_in(client.send("PUT", fmt::format("{}/{}", path, id), body), id))};
  }
  if (singular == "deployment") set_default(body, "slug", bj::string(document.text("name")));
  auto answer = existing ? client.send("PUT", fmt::format("{}/{}", path, existing->id), body)
                         : client.send("POST", path, body);
  return written_in(answer, existing ? existing->id : std::string());
}

Outcome<void> write_links(Client& client, const Document& document, const std::string& id,
                          const Links& links) {
  if (links.link.empty() && links.unlink.empty()) return {};
  std::string workspace = TRY(client.workspace_path());
  auto path = [&](const std::string& system) {
    return fmt::format("{}/systems/{}/{}/{}", workspace, segment(system), kind(document.type->kind).path,
                       segment(id));
  };
  for (const std::string& system : links.link) TRY(client.send("PUT", path(system)));
  for (const std::string& system : links.unlink) {
    auto gone = client.send("DELETE", path(system));
    if (!gone && gone.error().status != 404) return std::unexpected(std::move(gone.error()));
  }
  return {};
}

}  // namespace ctrlplane::cli
