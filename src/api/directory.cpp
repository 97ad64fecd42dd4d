#include "api/directory.h"

#include <fmt/core.h>

#include "api/secret.h"
#include "runtime/workspace_loop.h"

namespace ctrlplane::api {
namespace {

auto not_recognised() {
  return fail(ErrorCode::kUnauthenticated, "the API key or session is missing, unknown or expired");
}

Status known(bool ready) {
  if (ready) return {};
  return fail(ErrorCode::kUnavailable, "the server is starting: accounts are not loaded yet");
}

}  // namespace

void Directory::open() {
  std::lock_guard lock(mutex_);
  open_ = true;
}

bool Directory::ready() const {
  std::lock_guard lock(mutex_);
  return ready_ && open_;
}

Result<Principal> Directory::principal_of(UserId user) const {
  auto it = users_.find(user);
  if (it == users_.end()) return not_recognised();
  return Principal{.user = user, .email = it->second.email, .instance_admin = it->second.admin};
}

Result<Principal> Directory::by_key(std::string_view text, Time now) const {
  std::lock_guard lock(mutex_);
  TRY(known(ready_ && open_));
  std::string_view prefix, secret;
  if (!parse_key(text, prefix, secret)) return not_recognised();
  auto found = key_by_prefix_.find(prefix);
  if (found == key_by_prefix_.end()) return not_recognised();
  const ApiKey& key = keys_.at(found->second);
  if (!same_secret(key.secret_hash, sha256_hex(secret))) return not_recognised();
  if (key.expires_at && *key.expires_at <= now) return not_recognised();
  Principal who = TRY(principal_of(key.user));
  who.key = key.id;
  who.key_role = key.role;
  who.key_expires_at = key.expires_at;
  who.key_workspace = key.workspace;
  // A key that was given less than its user never acts for the whole instance.
  if (key.role || key.workspace) who.instance_admin = false;
  return who;
}

Result<Principal> Directory::by_session(std::string_view token, Time now) const {
  std::lock_guard lock(mutex_);
  TRY(known(ready_ && open_));
  auto found = session_by_hash_.find(sha256_hex(token));
  if (found == session_by_hash_.end()) return not_recognised();
  const Session& session = sessions_.at(found->second);
  if (session.expires_at <= now) return not_recognised();
  Principal who = TRY(principal_of(session.user));
  who.session = session.id;
  return who;
}

bool Directory::holds(const Principal& who, Time now) const {
  std::lock_guard lock(mutex_);
  if (!ready_ || !users_.contains(who.user)) return false;
  if (who.key) {
    auto it = keys_.find(*who.key);
    return it != keys_.end() && (!it->second.expires_at || *it->second.expires_at > now);
  }
  auto it = who.session ? sessions_.find(*who.session) : sessions_.end();
  return it != sessions_.end() && it->second.expires_at > now;
}

std::optional<User> Directory::user_by_email(std::string_view email) const {
  std::lock_guard lock(mutex_);
  for (const auto& [id, user] : users_)
    if (user.email == email) return user;
  return std::nullopt;
}

std::optional<Role> Directory::role_of(const Principal& who, WorkspaceId workspace) const {
  if (who.key_workspace && *who.key_workspace != workspace) return std::nullopt;
  auto user = users_.find(who.user);
  if (user == users_.end()) return std::nullopt;
  std::optional<Role> role;
  if (user->second.admin) {
    role = Role::kAdmin;
  } else if (auto it = members_.find({workspace, who.user}); it != members_.end()) {
    role = it->second;
  }
  return role;
}

std::optional<Role> Directory::role_in(const Principal& who, WorkspaceId workspace) const {
  std::lock_guard lock(mutex_);
  auto role = role_of(who, workspace);
  return role && who.key_role ? who.key_role : role;
}

bool Directory::sees(const Principal& who, WorkspaceId workspace) const {
  return role_of(who, workspace).has_value();
}

std::optional<Workspace> Directory::workspace(const Principal& who, std::string_view id_or_slug) const {
  std::lock_guard lock(mutex_);
  if (auto id = WorkspaceId::parse(id_or_slug)) {
    auto it = workspaces_.find(*id);
    return it != workspaces_.end() && sees(who, *id) ? std::optional(it->second) : std::nullopt;
  }
  for (const auto& [id, workspace] : workspaces_)
    if (workspace.slug == id_or_slug && sees(who, id)) return workspace;
  return std::nullopt;
}

std::vector<Workspace> Directory::workspaces_of(const Principal& who) const {
  std::lock_guard lock(mutex_);
  std::vector<Workspace> all;
  for (const auto& [id, workspace] : workspaces_)
    if (sees(who, id)) all.push_back(workspace);
  return all;
}

Status Directory::allows(const Principal& who, const Permission& permission, WorkspaceId workspace) const {
  using Where = Permission::Where;
  if (permission.where == Where::kNobody || permission.where == Where::kAnybody) return {};
  std::lock_guard lock(mutex_);
  if (permission.where == Where::kInstance) {
    if (who.instance_admin) return {};
    return fail(ErrorCode::kForbidden,
                fmt::format("this needs the permission {}, which administrators of the instance have",
                            permission.name));
  }
  auto role = role_of(who, workspace);
  if (!role) return fail(ErrorCode::kNotFound, "no such workspace");
  bool by_user = permission.allows(*role);
  bool by_key = !who.key_role || permission.allows(*who.key_role);
  if (by_user && by_key) return {};
  return fail(ErrorCode::kForbidden, fmt::format("this needs the permission {}, which {} {} does not have",
                                                 permission.name, by_user ? "the API key's role" : "the role",
                                                 to_string(by_user ? *who.key_role : *role)));
}

// ---- Following the instance ------------------------------------------------------------------------------

void Directory::loaded(WorkspaceLoop& loop) {
  if (loop.workspace() != kInstanceWorkspace) return;
  const State& state = *loop.state();
  std::lock_guard lock(mutex_);
  users_.clear(), keys_.clear(), key_by_prefix_.clear(), sessions_.clear(), session_by_hash_.clear();
  members_.clear(), workspaces_.clear();
  for (const auto& [id, row] : state.workspaces) apply(Change::put(row));
  for (const auto& [id, row] : state.users) apply(Change::put(row));
  for (const auto& [id, row] : state.api_keys) apply(Change::put(row));
  for (const auto& [id, row] : state.sessions) apply(Change::put(row));
  for (const auto& [id, row] : state.members) apply(Change::put(row));
  ready_ = true;
}

void Directory::committed(WorkspaceId workspace, int64_t, Time, const Changes& changes) {
  if (workspace != kInstanceWorkspace) return;
  std::lock_guard lock(mutex_);
  for (const Change& change : changes) apply(change);
}

void Directory::lost(WorkspaceLoop& loop) {
  if (loop.workspace() != kInstanceWorkspace) return;
  std::lock_guard lock(mutex_);
  ready_ = false;
}

void Directory::apply(const Change& change) {
  bool put = change.op == Change::Op::kPut;
  if (const auto* user = std::get_if<User>(&change.entity)) {
    put ? void(users_[user->id] = *user) : void(users_.erase(user->id));
  } else if (const auto* key = std::get_if<ApiKey>(&change.entity)) {
    if (auto old = keys_.find(key->id); old != keys_.end()) key_by_prefix_.erase(old->second.prefix);
    keys_.erase(key->id);
    if (!put) return;
    keys_[key->id] = *key;
    key_by_prefix_[key->prefix] = key->id;
  } else if (const auto* session = std::get_if<Session>(&change.entity)) {
    if (auto old = sessions_.find(session->id); old != sessions_.end())
      session_by_hash_.erase(old->second.token_hash);
    sessions_.erase(session->id);
    if (!put) return;
    sessions_[session->id] = *session;
    session_by_hash_[session->token_hash] = session->id;
  } else if (const auto* member = std::get_if<ctrlplane::Member>(&change.entity)) {
    std::pair key{member->workspace, member->user};
    put ? void(members_[key] = member->role) : void(members_.erase(key));
  } else if (const auto* row = std::get_if<Workspace>(&change.entity)) {
    put ? void(workspaces_[row->id] = *row) : void(workspaces_.erase(row->id));
  }
}

}  // namespace ctrlplane::api
