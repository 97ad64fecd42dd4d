// Which replicas there are, and who owns what.
#include <algorithm>

#include "api/api.h"
#include "api/families.h"

namespace ctrlplane::api {
namespace {

std::string_view state_of(const Replica& self, const store::Replica& row) {
  if (!self.lives(row.id)) return "silent";
  return row.leaving ? "leaving" : "alive";
}

void write_owned(JsonWriter& w, const View& view, const std::map<WorkspaceId, std::string>& names,
                 store::ReplicaId replica) {
  w.key("workspaces").open_array();
  for (const store::Owner& o : view.rows.owners) {
    if (o.replica != replica) continue;
    auto name = names.find(o.workspace);
    w.open().member("id", o.workspace);
    w.member("slug", name == names.end() ? std::string() : name->second);
    w.member("epoch", o.epoch).member("seq", o.seq).close();
  }
  w.close_array();
}

std::string text_of(const Replica& self, const std::map<WorkspaceId, std::string>& names) {
  const View& view = self.view();
  JsonWriter w;
  w.open().key("items").open_array();
  for (const store::Replica& row : view.rows.replicas) {
    w.open().member("id", row.id).member("address", row.address).member("version", row.version);
    w.member("state", state_of(self, row)).member("answers", row.id == self.config().id);
    write_owned(w, view, names, row.id);
    w.close();
  }
  w.close_array();
  // Of nobody, or of one whose row is gone: without an owner until a lease is over.
  w.key("withoutOwner").open_array();
  for (const store::Owner& o : view.rows.owners) {
    bool has_row = std::any_of(view.rows.replicas.begin(), view.rows.replicas.end(),
                               [&](const store::Replica& r) { return r.id == o.replica; });
    if (!has_row && names.contains(o.workspace)) w.value(o.workspace);
  }
  w.close_array().close();
  return w.take();
}

Status list(Call& c) {
  std::map<WorkspaceId, std::string> names{{kInstanceWorkspace, "(instance)"}};
  for (const Workspace& row : c.api().directory().workspaces_of(c.who())) names[row.id] = row.slug;
  // What is known of the others belongs to the loops' thread.
  c.api().post([self = c.shared_from_this(), names = std::move(names)] {
    self->reply(text_of(self->api().replica(), names));
  });
  return {};
}

}  // namespace

Family replica_family() {
  using namespace permission;
  return {"Replicas",
          {
              {.method = "GET",
               .path = "/api/v1/replicas",
               .id = "listReplicas",
               .summary = "The processes that serve this instance, and which workspaces each owns",
               .permission = kInstanceAdmin,
               .outcomes = {{200, "Replicas"}},
               .handler = list},
          }};
}

}  // namespace ctrlplane::api
