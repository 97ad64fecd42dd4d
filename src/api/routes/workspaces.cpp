// Workspaces, and who belongs to them. They live in the instance.
#include <fmt/core.h>

#include "api/api.h"
#include "api/families.h"
#include "api/grants.h"
#include "api/views.h"
#include "store/row.h"

namespace ctrlplane::api {
namespace {

RenderFn workspace_text() {
  return [](const State& s, Time, const Answer& answer) {
    return text_of(s.workspaces.at(WorkspaceId{answer.id}));
  };
}

// The instance decides what there is; the directory has already said whether the caller may see it.
Status show(Call& c, WorkspaceId id) {
  return c.read_from(kInstanceWorkspace, [id](const State& s, Time) -> Result<std::string> {
    auto it = s.workspaces.find(id);
    if (it == s.workspaces.end()) return fail(ErrorCode::kNotFound, "no such workspace");
    return text_of(it->second);
  });
}

Status list(Call& c) {
  std::vector<WorkspaceId> visible;
  for (const Workspace& w : c.api().directory().workspaces_of(c.who())) visible.push_back(w.id);
  return c.read_from(kInstanceWorkspace, [visible](const State& s, Time) -> Result<std::string> {
    JsonWriter w;
    size_t total = 0;
    w.open().key("workspaces").open_array();
    for (WorkspaceId id : visible)
      if (auto it = s.workspaces.find(id); it != s.workspaces.end()) write(w, it->second), ++total;
    w.close_array().member("total", total).close();
    return w.take();
  });
}

Status create(Call& c) {
  if (c.who().key_role || c.who().key_workspace)
    return fail(ErrorCode::kForbidden,
                "an API key that is narrowed to a role or a workspace makes no workspaces");
  return c.write_to(
      kInstanceWorkspace,
      CreateWorkspace{.name = c.body().text("name"), .slug = c.body().text("slug"), .owner = c.who().user},
      workspace_text());
}

Status get(Call& c) { return show(c, c.workspace()); }

Status get_by_slug(Call& c) {
  auto workspace = c.api().directory().workspace(c.who(), c.argument("slug"));
  if (!workspace) return fail(ErrorCode::kNotFound, "no such workspace");
  return show(c, workspace->id);
}

Status update(Call& c) {
  UpdateWorkspace u{
      .id = c.workspace(), .name = c.body().maybe_text("name"), .slug = c.body().maybe_text("slug")};
  return c.write_to(kInstanceWorkspace, std::move(u), workspace_text());
}

// A workspace with something in it is not deleted by mistake. Its rows tell, because its loop may be on
// another replica than the instance's.
Status remove(Call& c) {
  return c.later([](Call& call) -> Status {
    auto count = [&](const store::Table& table) -> Result<int64_t> {
      return call.store().count(call.workspace(), {.table = &table});
    };
    int64_t deployments = TRY(count(store::table_for<Deployment>()));
    int64_t environments = TRY(count(store::table_for<Environment>()));
    int64_t resources = TRY(count(store::table_for<Resource>()));
    int64_t systems = TRY(count(store::table_for<System>()));
    if (deployments + environments + resources + systems > 0)
      return fail(ErrorCode::kConflict,
                  fmt::format("the workspace still has {} deployments, {} environments, {} resources and {} "
                              "systems: delete them first",
                              deployments, environments, resources, systems));
    return call.write_to(kInstanceWorkspace, DeleteWorkspace{call.workspace()}, {});
  });
}

// ---- Members
// -----------------------------------------------------------------------------------------------

void write_member(JsonWriter& w, const User& user, Role role, std::string_view grants) {
  w.open().member("userId", user.id).member("email", user.email).member("name", user.name);
  w.member("role", to_string(role));
  write_grants(w, grants);
  w.close();
}

Status list_members(Call& c) {
  return c.read_from(kInstanceWorkspace,
                     [id = c.workspace(), page = c.page()](const State& s, Time) -> Result<std::string> {
                       std::vector<std::pair<const User*, const ctrlplane::Member*>> found;
                       for (const auto& [key, member] : s.members)
                         if (member.workspace == id)
                           if (auto user = s.users.find(member.user); user != s.users.end())
                             found.push_back({&user->second, &member});
                       std::sort(found.begin(), found.end(),
                                 [](auto& a, auto& b) { return a.first->email < b.first->email; });
                       return page_of(found, page, [](JsonWriter& w, const auto& m) {
                         write_member(w, *m.first, m.second->role, m.second->grants);
                       });
                     });
}

Status set_member(Call& c) {
  SetMember m{.workspace = c.workspace(), .user = TRY(c.id<UserId>("userId"))};
  m.role = *parse_enum<Role>(c.body().text("role"));
  m.grants = TRY(grants_in(c.body()));
  return c.write_to(kInstanceWorkspace, m, [m](const State& s, Time, const Answer&) {
    JsonWriter w;
    const ctrlplane::Member& row = s.members.at({m.workspace, m.user});
    write_member(w, s.users.at(m.user), row.role, row.grants);
    return w.take();
  });
}

Status remove_member(Call& c) {
  return c.write_to(kInstanceWorkspace, RemoveMember{c.workspace(), TRY(c.id<UserId>("userId"))}, {});
}

}  // namespace

Family workspace_family() {
  using namespace permission;
  return {"Workspaces",
          {
              {.method = "GET",
               .path = "/api/v1/workspaces",
               .id = "listWorkspaces",
               .summary = "Workspaces the caller belongs to",
               .permission = kSelf,
               .outcomes = {{200, "WorkspaceList"}},
               .handler = list},
              {.method = "POST",
               .path = "/api/v1/workspaces",
               .id = "createWorkspace",
               .summary = "Make a workspace; the caller becomes its administrator",
               .permission = kSelf,
               .body = "CreateWorkspaceRequest",
               .outcomes = {{201, "Workspace"}},
               .handler = create},
              {.method = "GET",
               .path = "/api/v1/workspaces/slug/{slug}",
               .id = "getWorkspaceBySlug",
               .summary = "A workspace by its slug",
               .permission = kSelf,
               .outcomes = {{200, "Workspace"}},
               .handler = get_by_slug},
              {.method = "GET",
               .path = CTRLPLANE_W,
               .id = "getWorkspace",
               .summary = "A workspace",
               .permission = kRead,
               .outcomes = {{200, "Workspace"}},
               .handler = get},
              {.method = "PATCH",
               .path = CTRLPLANE_W,
               .id = "updateWorkspace",
               .summary = "Rename a workspace",
               .permission = kWorkspaceWrite,
               .body = "UpdateWorkspaceRequest",
               .outcomes = {{200, "Workspace"}},
               .handler = update},
              {.method = "DELETE",
               .path = CTRLPLANE_W,
               .id = "deleteWorkspace",
               .summary = "Delete an empty workspace",
               .permission = kWorkspaceWrite,
               .outcomes = {{204}},
               .handler = remove},
          }};
}

Family member_family() {
  using namespace permission;
  return {"Members",
          {
              {.method = "GET",
               .path = CTRLPLANE_W "/members",
               .id = "listMembers",
               .summary = "Who belongs to the workspace",
               .permission = kRead,
               .query = paged(),
               .outcomes = {{200, "MemberPage"}},
               .handler = list_members},
              {.method = "PUT",
               .path = CTRLPLANE_W "/members/{userId}",
               .id = "setMember",
               .summary = "Give a user a role in the workspace, and permissions beyond it",
               .permission = kMembersWrite,
               .body = "SetMemberRequest",
               .outcomes = {{200, "Member"}},
               .handler = set_member},
              {.method = "DELETE",
               .path = CTRLPLANE_W "/members/{userId}",
               .id = "removeMember",
               .summary = "Take a user out of the workspace",
               .permission = kMembersWrite,
               .outcomes = {{204}},
               .handler = remove_member},
          }};
}

}  // namespace ctrlplane::api
