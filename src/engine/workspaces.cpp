// Workspaces and who belongs to them: rows of the instance.
#include <algorithm>

#include <fmt/core.h>

#include "engine/entities.h"
#include "engine/validate.h"

namespace ctrlplane {
namespace {

Status valid_workspace_name(std::string_view name) {
  TRY(optional_text("name", name));
  const auto characters = std::count_if(name.begin(), name.end(), [](char c) { return (c & 0xc0) != 0x80; });
  if (characters < 3 || characters > 30) return invalid("name", "must have 3 to 30 characters");
  return {};
}

Status valid_workspace_slug(std::string_view slug) {
  const bool plain = std::all_of(slug.begin(), slug.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (!plain || slug.size() < 3 || slug.size() > 50)
    return invalid("slug", "must have 3 to 50 characters of a-z, 0-9 and '-'");
  return {};
}

Status slug_is_free(const State& state, std::string_view slug, std::optional<WorkspaceId> but_for = {}) {
  const Workspace* other = state.workspace_with_slug(slug);
  if (other && other->id != but_for)
    return fail(ErrorCode::kConflict, fmt::format("slug '{}' is taken", slug));
  return {};
}

Status workspace_exists(const State& state, WorkspaceId id) {
  if (state.workspaces.contains(id)) return {};
  return fail(ErrorCode::kNotFound, fmt::format("no workspace {}", id.str()));
}

Status user_exists(const State& state, UserId id) {
  if (state.users.contains(id)) return {};
  return fail(ErrorCode::kNotFound, fmt::format("no user {}", id.str()));
}

std::string member_details(UserId user, std::optional<Role> role, std::string_view grants = {}) {
  if (!role) return fmt::format(R"({{"user":"{}"}})", user.str());
  const std::string more = grants.empty() ? "" : fmt::format(R"(,"grants":"{}")", grants);
  return fmt::format(R"({{"user":"{}","role":"{}"{}}})", user.str(), to_string(*role), more);
}

}  // namespace

Reply create_workspace(Tx& tx, const CreateWorkspace& c) {
  TRY(on_instance(tx.state, "workspaces are made"));
  TRY(valid_workspace_name(c.name));
  TRY(valid_workspace_slug(c.slug));
  TRY(slug_is_free(tx.state, c.slug));
  if (c.owner) TRY(user_exists(tx.state, *c.owner));
  Workspace row{tx.ids.make<WorkspaceId>(), c.name, c.slug, tx.now};
  tx.put(row);
  tx.audit("workspace.create", row.id.str(), fmt::format(R"({{"slug":"{}"}})", c.slug));
  if (c.owner) {
    tx.put(Member{row.id, *c.owner, Role::kAdmin});
    tx.audit("member.set", row.id.str(), member_details(*c.owner, Role::kAdmin));
  }
  return Answer{.id = row.id.uuid, .created = true};
}

Reply update_workspace(Tx& tx, const UpdateWorkspace& c) {
  TRY(on_instance(tx.state, "workspaces are changed"));
  TRY(workspace_exists(tx.state, c.id));
  Workspace row = tx.state.workspaces.at(c.id);
  if (c.name) {
    TRY(valid_workspace_name(*c.name));
    row.name = *c.name;
  }
  if (c.slug) {
    TRY(valid_workspace_slug(*c.slug));
    TRY(slug_is_free(tx.state, *c.slug, c.id));
    row.slug = *c.slug;
  }
  if (row != tx.state.workspaces.at(c.id)) {
    tx.audit("workspace.update", c.id.str(), fmt::format(R"({{"slug":"{}"}})", row.slug));
    tx.put(std::move(row));
  }
  return Answer{.id = c.id.uuid};
}

Reply delete_workspace(Tx& tx, const DeleteWorkspace& c) {
  TRY(on_instance(tx.state, "workspaces are deleted"));
  TRY(workspace_exists(tx.state, c.id));
  std::vector<Entity> children;
  for (const auto& [key, member] : tx.state.members)
    if (member.workspace == c.id) children.emplace_back(member);
  for (const auto& [id, key] : tx.state.api_keys)
    if (key.workspace == c.id) children.emplace_back(key);
  for (Entity& child : children) tx.erase(std::move(child));
  tx.erase(Workspace{.id = c.id});
  tx.audit("workspace.delete", c.id.str());
  return Answer{.id = c.id.uuid};
}

Reply set_member(Tx& tx, const SetMember& c) {
  TRY(on_instance(tx.state, "members are set"));
  TRY(workspace_exists(tx.state, c.workspace));
  TRY(user_exists(tx.state, c.user));
  auto it = tx.state.members.find({c.workspace, c.user});
  const bool created = it == tx.state.members.end();
  if (created || it->second.role != c.role || it->second.grants != c.grants) {
    tx.put(Member{c.workspace, c.user, c.role, c.grants});
    tx.audit("member.set", c.workspace.str(), member_details(c.user, c.role, c.grants));
  }
  return Answer{.id = c.user.uuid, .created = created};
}

Reply remove_member(Tx& tx, const RemoveMember& c) {
  TRY(on_instance(tx.state, "members are removed"));
  TRY(workspace_exists(tx.state, c.workspace));
  if (!tx.state.members.contains({c.workspace, c.user}))
    return fail(ErrorCode::kNotFound, fmt::format("user {} is no member of the workspace", c.user.str()));
  tx.erase(Member{c.workspace, c.user});
  tx.audit("member.remove", c.workspace.str(), member_details(c.user, {}));
  return Answer{.id = c.user.uuid};
}

}  // namespace ctrlplane
