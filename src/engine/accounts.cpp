// Users, their keys and sessions: rows of the instance. Secrets come here as hashes only, and no hash
// goes into the audit.
#include <algorithm>

#include <fmt/core.h>

#include "engine/entities.h"
#include "engine/validate.h"
#include "model/json.h"
#include "model/json_writer.h"

namespace ctrlplane {
namespace {

constexpr size_t kMaxEmail = 254;
constexpr size_t kPrefixDigits = 16, kSecretHashDigits = 64;

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Whether mail arrives is not for us to know; this keeps out what cannot be an address.
Status valid_email(std::string_view email) {
  TRY(required_text("email", email, kMaxEmail));
  const size_t at = email.find('@');
  const bool plain = std::none_of(email.begin(), email.end(),
                                  [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; });
  if (!plain || at == 0 || at == std::string_view::npos || at + 1 == email.size() ||
      email.find('@', at + 1) != std::string_view::npos)
    return invalid("email", "must be an e-mail address");
  return {};
}

Status valid_hex(std::string_view path, std::string_view text, size_t digits) {
  const bool hex = std::all_of(text.begin(), text.end(),
                               [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (!hex || text.size() != digits)
    return invalid(std::string(path), fmt::format("must be {} lower-case hexadecimal digits", digits));
  return {};
}

Status email_is_free(const State& state, const std::string& email, std::optional<UserId> but_for = {}) {
  const User* other = state.user_with_email(email);
  if (other && other->id != but_for)
    return fail(ErrorCode::kConflict,
                fmt::format("a user with the e-mail address '{}' exists already", email));
  return {};
}

Result<User> known_user(const State& state, UserId id) {
  auto it = state.users.find(id);
  if (it == state.users.end()) return fail(ErrorCode::kNotFound, fmt::format("no user {}", id.str()));
  return it->second;
}

// Somebody must remain who can make administrators.
Status not_the_last_admin(const State& state, const User& user) {
  const auto admins = std::count_if(state.users.begin(), state.users.end(),
                                    [](const auto& entry) { return entry.second.admin; });
  if (user.admin && admins == 1)
    return fail(ErrorCode::kConflict, "this is the last administrator of the instance");
  return {};
}

void end_sessions(Tx& tx, UserId user) {
  std::vector<SessionId> of_user;
  for (const auto& [id, session] : tx.state.sessions)
    if (session.user == user) of_user.push_back(id);
  for (SessionId id : of_user) tx.erase(Session{.id = id});
}

std::string details_of(std::string_view member, std::string_view text) {
  std::string out = "{";
  append_json_string(out, member);
  out += ":";
  append_json_string(out, text);
  return out + "}";
}

Result<User> new_user(const State& state, const CreateUser& c) {
  TRY(valid_email(c.email));
  TRY(optional_text("name", c.name, kMaxName));
  TRY(optional_text("password", c.password_hash, kMaxIdentifier));
  User row{.email = lower_case(c.email), .name = c.name, .password_hash = c.password_hash, .admin = c.admin};
  TRY(email_is_free(state, row.email));
  return row;
}

void put_new_user(Tx& tx, User& row) {
  if (row.id.is_nil()) row.id = tx.ids.make<UserId>();
  row.created_at = tx.now;
  tx.put(row);
  tx.audit("user.create", row.id.str(), details_of("email", row.email));
}

Status valid_key(const State& state, std::string_view name, std::string_view prefix,
                 std::string_view secret_hash) {
  TRY(required_text("name", name));
  TRY(valid_hex("prefix", prefix, kPrefixDigits));
  TRY(valid_hex("secretHash", secret_hash, kSecretHashDigits));
  if (state.key_with_prefix(prefix))
    return fail(ErrorCode::kConflict, "a key with this prefix exists already");
  return {};
}

KeyId put_new_key(Tx& tx, ApiKey row) {
  row.id = tx.ids.make<KeyId>();
  row.created_at = tx.now;
  JsonWriter details;
  details.open().member("user", row.user).member_unless_empty("grants", row.grants).close();
  tx.audit("api_key.create", row.id.str(), details.take());
  KeyId id = row.id;
  tx.put(std::move(row));
  return id;
}

// Validates each member that is given and writes it into `row`. Returns the names of those that differ.
Result<std::string> change_user(const State& state, const UpdateUser& c, User& row) {
  std::string changed;
  auto set = [&](auto& member, const auto& value, std::string_view name) {
    if (member == value) return;
    member = value;
    changed += changed.empty() ? "" : " ";
    changed += name;
  };
  if (c.name) {
    TRY(optional_text("name", *c.name, kMaxName));
    set(row.name, *c.name, "name");
  }
  if (c.email) {
    TRY(valid_email(*c.email));
    const std::string email = lower_case(*c.email);
    TRY(email_is_free(state, email, c.id));
    set(row.email, email, "email");
  }
  if (c.password_hash) {
    TRY(optional_text("password", *c.password_hash, kMaxIdentifier));
    set(row.password_hash, *c.password_hash, "password");
  }
  if (c.admin) {
    if (!*c.admin) TRY(not_the_last_admin(state, row));
    set(row.admin, *c.admin, "admin");
  }
  return changed;
}

}  // namespace

Reply create_user(Tx& tx, const CreateUser& c) {
  TRY(on_instance(tx.state, "users are made"));
  if (c.id && tx.state.users.contains(*c.id))
    return fail(ErrorCode::kConflict, fmt::format("user {} exists already", c.id->str()));
  User row = TRY(new_user(tx.state, c));
  if (c.id) row.id = *c.id;
  put_new_user(tx, row);
  return Answer{.id = row.id.uuid, .created = true};
}

Reply update_user(Tx& tx, const UpdateUser& c) {
  TRY(on_instance(tx.state, "users are changed"));
  const User before = TRY(known_user(tx.state, c.id));
  User row = before;
  const std::string changed = TRY(change_user(tx.state, c, row));
  if (changed.empty()) return Answer{.id = c.id.uuid};
  if (row.password_hash != before.password_hash) end_sessions(tx, c.id);
  tx.put(std::move(row));
  tx.audit("user.update", c.id.str(), details_of("changed", changed));
  return Answer{.id = c.id.uuid};
}

Reply delete_user(Tx& tx, const DeleteUser& c) {
  TRY(on_instance(tx.state, "users are deleted"));
  const User user = TRY(known_user(tx.state, c.id));
  TRY(not_the_last_admin(tx.state, user));
  end_sessions(tx, c.id);
  std::vector<Entity> children;
  for (const auto& [id, key] : tx.state.api_keys)
    if (key.user == c.id) children.emplace_back(key);
  for (const auto& [key, member] : tx.state.members)
    if (member.user == c.id) children.emplace_back(member);
  for (Entity& child : children) tx.erase(std::move(child));
  tx.erase(User{.id = c.id});
  tx.audit("user.delete", c.id.str(), details_of("email", user.email));
  return Answer{.id = c.id.uuid};
}

Reply create_api_key(Tx& tx, const CreateApiKey& c) {
  TRY(on_instance(tx.state, "API keys are made"));
  TRY(known_user(tx.state, c.user));
  TRY(valid_key(tx.state, c.name, c.prefix, c.secret_hash));
  if (c.workspace && !tx.state.workspaces.contains(*c.workspace))
    return fail(ErrorCode::kNotFound, fmt::format("no workspace {}", c.workspace->str()));
  if (c.expires_at && *c.expires_at <= tx.now) return invalid("expiresAt", "is in the past");
  ApiKey row{.user = c.user, .name = c.name, .prefix = c.prefix, .secret_hash = c.secret_hash};
  row.role = c.role;
  row.workspace = c.workspace;
  row.expires_at = c.expires_at;
  row.grants = c.grants;
  const KeyId id = put_new_key(tx, std::move(row));
  return Answer{.id = id.uuid, .created = true};
}

Reply delete_api_key(Tx& tx, const DeleteApiKey& c) {
  TRY(on_instance(tx.state, "API keys are deleted"));
  auto it = tx.state.api_keys.find(c.id);
  if (it == tx.state.api_keys.end() || (c.only_of && it->second.user != *c.only_of))
    return fail(ErrorCode::kNotFound, fmt::format("no API key {}", c.id.str()));
  tx.audit("api_key.delete", c.id.str(), details_of("user", it->second.user.str()));
  tx.erase(ApiKey{.id = c.id});
  return Answer{.id = c.id.uuid};
}

Reply create_session(Tx& tx, const CreateSession& c) {
  TRY(on_instance(tx.state, "sessions begin"));
  TRY(known_user(tx.state, c.user));
  TRY(required_text("tokenHash", c.token_hash));
  if (c.expires_at <= tx.now) return invalid("expiresAt", "is in the past");
  if (tx.state.session_with_token(c.token_hash))
    return fail(ErrorCode::kConflict, "a session with this token exists already");
  Session row{tx.ids.make<SessionId>(), c.user, c.token_hash, tx.now, c.expires_at};
  tx.put(row);
  tx.audit("session.create", row.id.str(), details_of("user", c.user.str()));
  return Answer{.id = row.id.uuid, .created = true};
}

Reply delete_session(Tx& tx, const DeleteSession& c) {
  TRY(on_instance(tx.state, "sessions end"));
  auto it = tx.state.sessions.find(c.id);
  if (it == tx.state.sessions.end())
    return fail(ErrorCode::kNotFound, fmt::format("no session {}", c.id.str()));
  tx.audit("session.delete", c.id.str(), details_of("user", it->second.user.str()));
  tx.erase(Session{.id = c.id});
  return Answer{.id = c.id.uuid};
}

void session_expired(Tx& tx, SessionId id) {
  auto it = tx.state.sessions.find(id);
  if (it != tx.state.sessions.end() && it->second.expires_at <= tx.now) tx.erase(Session{.id = id});
}

Reply bootstrap(Tx& tx, const Bootstrap& c) {
  TRY(on_instance(tx.state, "the first user is made"));
  if (!tx.state.users.empty()) return Answer{};
  const CreateUser user{.email = c.email, .name = c.name, .password_hash = c.password_hash, .admin = true};
  User row = TRY(new_user(tx.state, user));
  TRY(valid_key(tx.state, "bootstrap", c.key_prefix, c.key_secret_hash));
  put_new_user(tx, row);
  ApiKey key{.user = row.id, .name = "bootstrap", .prefix = c.key_prefix, .secret_hash = c.key_secret_hash};
  put_new_key(tx, std::move(key));
  return Answer{.id = row.id.uuid, .created = true};
}

}  // namespace ctrlplane
