#include "api/directory.h"

#include <fmt/core.h>

#include "api/secret.h"
#include "runtime/workspace_loop.h"
#include "state/state.h"

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

// The stored hash decides; a secret that it has accepted is known again by its fingerprint.
bool Directory::has_secret(KnownKey& key, std::string_view secret) const {
  Fingerprints::Value seen = fingerprints_.of(secret);
  if (key.verified && Fingerprints::same(*key.verified, seen)) return true;
  if (!same_secret(key.row.secret_hash, sha256_hex(secret))) return false;
  key.verified = seen;
  return true;
}

Result<Principal> Directory::by_key(std::string_view text, Time now) const {
  std::lock_guard lock(mutex_);
  TRY(known(ready_ && open_));
  std::string_view prefix, secret;
  if (!parse_key(text, prefix, secret)) return not_recognised();
  auto found = key_by_prefix_.find(prefix);
  if (found == key_by_prefix_.end()) return not_recognised();
  KnownKey& known_key = keys_.at(found->second);
  if (!has_secret(known_key, secret)) return not_recognised();
  const ApiKey& key = known_key.row;
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
    return it != keys_.end() && (!it->second.row.expires_at || *it->second.row.expires_at > now);
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
    role = it->second.role;
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
  auto found = workspace_by_slug_.find(id_or_slug);
  if (found == workspace_by_slug_.end() || !sees(who, found->second)) return std::nullopt;
  return workspaces_.at(found->second);
}

std::vector<Workspace> Directory::workspaces_of(const Principal& who) const {
  std::lock_guard lock(mutex_);
  std::vector<Workspace> all;
  for (const auto& [id, workspace] : workspaces_)
    if (sees(who, id)) all.push_back(workspace);
  return all;
}

std::vector<std::string> Directory::emails_of(WorkspaceId workspace, uint8_t roles) const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  const Permission concerned{.roles = roles};
  for (auto it = members_.lower_bound({workspace, UserId{}});
       it != members_.end() && it->first.first == workspace; ++it) {
    auto user = users_.find(it->first.second);
    if (user != users_.end() && concerned.allows(it->second.role)) all.push_back(user->second.email);
  }
  return all;
}

bool Directory::is_granted(const Principal& who, const Permission& permission, WorkspaceId workspace) const {
  auto it = members_.find({workspace, who.user});
  return it != members_.end() && has_grant(it->second.grants, permission.name);
}

bool Directory::is_granted_to_key(const Principal& who, const Permission& permission) const {
  auto it = who.key ? keys_.find(*who.key) : keys_.end();
  return it != keys_.end() && has_grant(it->second.row.grants, permission.name);
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
  bool by_user = permission.allows(*role) || is_granted(who, permission, workspace);
  bool by_key = !who.key_role || permission.allows(*who.key_role) || is_granted_to_key(who, permission);
  if (by_user && by_key) return {};
  return fail(ErrorCode::kForbidden, fmt::format("this needs the permission {}, which {} {} does not have",
                                                 permission.name, by_user ? "the API key's role" : "the role",
                                                 to_string(by_user ? *who.key_role : *role)));
}

// ---- Following the instance ------------------------------------------------------------------------------

void Directory::load(const State& instance) {
  std::lock_guard lock(mutex_);
  users_.clear(), keys_.clear(), key_by_prefix_.clear(), sessions_.clear(), session_by_hash_.clear();
  members_.clear(), workspaces_.clear(), workspace_by_slug_.clear();
  for (const auto& [id, row] : instance.workspaces) apply(Change::put(row));
  for (const auto& [id, row] : instance.users) apply(Change::put(row));
  for (const auto& [id, row] : instance.api_keys) apply(Change::put(row));
  for (const auto& [id, row] : instance.sessions) apply(Change::put(row));
  for (const auto& [id, row] : instance.members) apply(Change::put(row));
  ready_ = true;
}

void Directory::loaded(WorkspaceLoop& loop) {
  if (loop.workspace() == kInstanceWorkspace) load(*loop.state());
}

void Directory::committed(WorkspaceId workspace, int64_t, Time, const Changes& changes) {
  if (workspace != kInstanceWorkspace) return;
  std::lock_guard lock(mutex_);
  for (const Change& change : changes) apply(change);
}

void Directory::apply(const Change& change) {
  bool put_it = change.op == Change::Op::kPut;
  if (const auto* user = std::get_if<User>(&change.entity)) {
    put_it ? void(users_[user->id] = *user) : void(users_.erase(user->id));
  } else if (const auto* key = std::get_if<ApiKey>(&change.entity)) {
    put_it ? put(*key) : erase(*key);
  } else if (const auto* session = std::get_if<Session>(&change.entity)) {
    put_it ? put(*session) : erase(*session);
  } else if (const auto* member = std::get_if<ctrlplane::Member>(&change.entity)) {
    std::pair which{member->workspace, member->user};
    put_it ? void(members_[which] = *member) : void(members_.erase(which));
  } else if (const auto* workspace = std::get_if<Workspace>(&change.entity)) {
    put_it ? put(*workspace) : erase(*workspace);
  }
}

void Directory::put(const ApiKey& row) {
  erase(row);
  keys_[row.id] = {row};
  key_by_prefix_[row.prefix] = row.id;
}

void Directory::erase(const ApiKey& row) {
  auto old = keys_.find(row.id);
  if (old == keys_.end()) return;
  key_by_prefix_.erase(old->second.row.prefix);
  keys_.erase(old);
}

void Directory::put(const Session& row) {
  erase(row);
  sessions_[row.id] = row;
  session_by_hash_[row.token_hash] = row.id;
}

void Directory::erase(const Session& row) {
  auto old = sessions_.find(row.id);
  if (old == sessions_.end()) return;
  session_by_hash_.erase(old->second.token_hash);
  sessions_.erase(old);
}

void Directory::put(const Workspace& row) {
  erase(row);
  workspaces_[row.id] = row;
  workspace_by_slug_[row.slug] = row.id;
}

void Directory::erase(const Workspace& row) {
  auto old = workspaces_.find(row.id);
  if (old == workspaces_.end()) return;
  // Another may have taken its slug in the same commit.
  if (auto slug = workspace_by_slug_.find(old->second.slug);
      slug != workspace_by_slug_.end() && slug->second == row.id)
    workspace_by_slug_.erase(slug);
  workspaces_.erase(old);
}

}  // namespace ctrlplane::api
