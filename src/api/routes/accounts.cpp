// Users, sessions and API keys. They live in the instance.
#include <algorithm>

#include <fmt/core.h>

#include "api/api.h"
#include "api/families.h"
#include "api/grants.h"
#include "api/secret.h"
#include "api/views.h"

namespace ctrlplane::api {
namespace {

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  return text;
}

RenderFn user_text() {
  return [](const State& s, Time, const Answer& answer) { return text_of(s.users.at(UserId{answer.id})); };
}

// ---- Sessions
// ----------------------------------------------------------------------------------------------

net::Header session_cookie(const ApiOptions& options, std::string_view token, int64_t max_age) {
  return {"Set-Cookie", fmt::format("ctrlplane_session={}; HttpOnly; SameSite=Lax; Path=/; Max-Age={}{}",
                                    token, max_age, options.secure_cookies ? "; Secure" : "")};
}

std::string identity_text(const State& s, const Principal& who, const std::vector<Workspace>& workspaces) {
  JsonWriter w;
  const User& user = s.users.at(who.user);
  w.open().key("user");
  write(w, user);
  w.member("via", who.key ? "apiKey" : "session");
  if (who.session)
    if (auto it = s.sessions.find(*who.session); it != s.sessions.end())
      w.member("expiresAt", it->second.expires_at);
  w.key("workspaces").open_array();
  for (const Workspace& workspace : workspaces) {
    auto member = s.members.find({workspace.id, who.user});
    Role role = user.admin ? Role::kAdmin : member != s.members.end() ? member->second.role : Role::kViewer;
    w.open().member("id", workspace.id).member("slug", workspace.slug).member("name", workspace.name);
    w.member("role", to_string(role));
    if (member != s.members.end()) write_grants(w, member->second.grants);
    w.close();
  }
  w.close_array().close();
  return w.take();
}

Status who_am_i(Call& c) {
  return c.read_from(kInstanceWorkspace,
                     [who = c.who(), all = c.api().directory().workspaces_of(c.who())](
                         const State& s, Time) -> Result<std::string> {
                       if (!s.users.contains(who.user))
                         return fail(ErrorCode::kUnauthenticated, "no such user any more");
                       return identity_text(s, who, all);
                     });
}

Status try_password(Call& c) {
  std::string email = lower(c.body().text("email"));
  Duration boot = c.api().boot();
  if (!c.api().sign_in_throttle().may_try(email, boot)) {
    c.refuse({ErrorCode::kBusy, "too many failed attempts for this user; try again in a quarter of an hour"},
             static_cast<int>(Throttle::kWindow.us / 1'000'000));
    return {};
  }
  return c.later([email, password = c.body().text("password")](Call& call) -> Status {
    // An unknown user costs the same time as a wrong password.
    static const std::string nobody = hash_password(random_hex(16));
    auto user = call.api().directory().user_by_email(email);
    bool has_password = user && !user->password_hash.empty();
    bool good = verify_password(has_password ? user->password_hash : nobody, password) && has_password;
    if (!good) return fail(ErrorCode::kUnauthenticated, "the e-mail address or the password is wrong");
    call.api().sign_in_throttle().succeeded(email);
    std::string token = random_hex(32);
    Duration life = call.api().options().session_life;
    CreateSession command{.user = user->id, .token_hash = sha256_hex(token), .expires_at = call.now() + life};
    Principal who{.user = user->id, .email = user->email, .instance_admin = user->admin};
    auto workspaces = call.api().directory().workspaces_of(who);
    auto render = [who, workspaces](const State& s, Time, const Answer& answer) {
      Principal signed_in = who;
      signed_in.session = SessionId{answer.id};
      return identity_text(s, signed_in, workspaces);
    };
    return call.submit(
        kInstanceWorkspace, std::move(command), render, [token, life](Call& done, Reply reply) {
          if (!reply) return done.refuse(reply.error());
          net::Response response{
              .headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
              .body = std::move(reply->text)};
          net::Header cookie = session_cookie(done.api().options(), token, life.us / 1'000'000);
          response.headers.add(cookie.name, cookie.value);
          done.respond(std::move(response));
        });
  });
}

// By way of the instance's loop, so that passwords are checked and tries counted in one place: by its owner.
Status sign_in(Call& c) {
  Query nothing{[](const State&, Time) -> Result<std::string> { return std::string(); }};
  return c.submit(kInstanceWorkspace, std::move(nothing), {}, [](Call& call, Reply reply) {
    if (!reply) return call.refuse(reply.error());
    if (auto status = try_password(call); !status) call.refuse(status.error());
  });
}

Status sign_out(Call& c) {
  if (!c.who().session)
    return fail(ErrorCode::kInvalid, "this request came with an API key, not with a session");
  return c.submit(kInstanceWorkspace, DeleteSession{*c.who().session}, {}, [](Call& call, Reply reply) {
    if (!reply) return call.refuse(reply.error());
    net::Response response{.status = 204};
    net::Header cookie = session_cookie(call.api().options(), "", 0);
    response.headers.add(cookie.name, cookie.value);
    call.respond(std::move(response));
  });
}

// ---- Users
// -------------------------------------------------------------------------------------------------

Status list_users(Call& c) {
  return c.read_from(kInstanceWorkspace, [page = c.page()](const State& s, Time) -> Result<std::string> {
    std::vector<const User*> all;
    for (const auto& [id, user] : s.users) all.push_back(&user);
    std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->email < b->email; });
    return page_of(all, page, [](JsonWriter& w, const User* u) { write(w, *u); });
  });
}

Status get_user(Call& c) {
  UserId id = TRY(c.id<UserId>("userId"));
  return c.read_from(kInstanceWorkspace, [id](const State& s, Time) -> Result<std::string> {
    auto it = s.users.find(id);
    if (it == s.users.end()) return fail(ErrorCode::kNotFound, fmt::format("no user {}", id.str()));
    return text_of(it->second);
  });
}

Status create_user(Call& c) {
  std::string email = lower(c.body().text("email"));
  return c.later([email](Call& call) -> Status {
    const Body& b = call.body();
    CreateUser u{.email = email, .name = b.text("name"), .admin = b.flag("admin")};
    if (auto password = b.maybe_text("password")) u.password_hash = hash_password(*password);
    return call.write_to(kInstanceWorkspace, std::move(u), user_text());
  });
}

Status update_user(Call& c) {
  UserId id = TRY(c.id<UserId>("userId"));
  return c.later([id](Call& call) -> Status {
    const Body& b = call.body();
    UpdateUser u{.id = id,
                 .name = b.maybe_text("name"),
                 .email = b.maybe_text("email"),
                 .admin = b.maybe_flag("admin")};
    if (u.email) u.email = lower(*u.email);
    if (auto password = b.maybe_text("password")) u.password_hash = hash_password(*password);
    return call.write_to(kInstanceWorkspace, std::move(u), user_text());
  });
}

Status delete_user(Call& c) {
  return c.write_to(kInstanceWorkspace, DeleteUser{TRY(c.id<UserId>("userId"))}, {});
}

// ---- API keys
// ----------------------------------------------------------------------------------------------

Status list_keys(Call& c) {
  auto user = TRY(c.query_id<UserId>("userId"));
  if (user && *user != c.who().user && !c.who().instance_admin)
    return fail(ErrorCode::kForbidden, "only administrators of the instance see the keys of others");
  return c.read_from(
      kInstanceWorkspace,
      [user = user.value_or(c.who().user), page = c.page()](const State& s, Time) -> Result<std::string> {
        std::vector<const ApiKey*> all;
        for (const auto& [id, key] : s.api_keys)
          if (key.user == user) all.push_back(&key);
        std::sort(all.begin(), all.end(), [](auto* a, auto* b) {
          return std::tie(a->created_at, a->id) < std::tie(b->created_at, b->id);
        });
        return page_of(all, page, [](JsonWriter& w, const ApiKey* k) { write(w, *k); });
      });
}

// What a narrowed key may hand on: never more than it has itself.
Status may_make(const Principal& who, const CreateApiKey& key) {
  if (key.user != who.user && !who.instance_admin)
    return fail(ErrorCode::kForbidden, "only administrators of the instance make keys for others");
  if (who.key_role && (!key.role || *key.role != *who.key_role))
    return fail(ErrorCode::kForbidden, fmt::format("an API key with the role {} makes keys of that role only",
                                                   to_string(*who.key_role)));
  if (who.key_expires_at && (!key.expires_at || *key.expires_at > *who.key_expires_at))
    return fail(ErrorCode::kForbidden, "an API key that expires makes no keys that outlive it");
  if (who.key_workspace && key.workspace != who.key_workspace)
    return fail(ErrorCode::kForbidden, "an API key for one workspace makes keys for that workspace only");
  return {};
}

// Nobody hands on what they lack: where the key is for, or anywhere if it is for everywhere.
Status may_grant(Call& c, const CreateApiKey& key) {
  for (const Permission& p : permission::kGrantable) {
    if (c.who().instance_admin || !has_grant(key.grants, p.name)) continue;
    std::vector<WorkspaceId> where;
    for (const Workspace& w : c.api().directory().workspaces_of(c.who()))
      if (!key.workspace || *key.workspace == w.id) where.push_back(w.id);
    bool has_it = std::any_of(where.begin(), where.end(), [&](WorkspaceId w) {
      return c.api().directory().allows(c.who(), p, w).has_value();
    });
    if (!has_it)
      return fail(ErrorCode::kForbidden, fmt::format("nobody grants {} who does not have it", p.name));
  }
  return {};
}

Status create_key(Call& c) {
  const Body& b = c.body();
  NewKey fresh = new_key();
  CreateApiKey command{.user = b.id<UserId>("userId").value_or(c.who().user),
                       .name = b.text("name"),
                       .prefix = fresh.prefix,
                       .secret_hash = sha256_hex(fresh.secret)};
  if (auto role = b.maybe_text("role")) command.role = parse_enum<Role>(*role);
  command.workspace = b.id<WorkspaceId>("workspaceId");
  command.expires_at = b.time("expiresAt");
  command.grants = TRY(grants_in(b));
  TRY(may_make(c.who(), command));
  if (command.workspace && !c.api().directory().workspace(c.who(), command.workspace->str()))
    return fail(ErrorCode::kNotFound, "no such workspace");
  TRY(may_grant(c, command));
  if (c.request().headers.find("idempotency-key"))
    return fail(ErrorCode::kInvalid,
                "a new key is shown once and not kept, so Idempotency-Key is not possible here");
  return c.write_to(kInstanceWorkspace, std::move(command),
                    [text = fresh.text()](const State& s, Time, const Answer& answer) {
                      return text_of(s.api_keys.at(KeyId{answer.id}), std::string_view(text));
                    });
}

Status delete_key(Call& c) {
  DeleteApiKey command{.id = TRY(c.id<KeyId>("keyId"))};
  if (!c.who().instance_admin) command.only_of = c.who().user;
  if ((c.who().key_role || c.who().key_workspace) && c.who().key != command.id)
    return fail(ErrorCode::kForbidden,
                "an API key that is narrowed to a role or a workspace can revoke only itself");
  return c.write_to(kInstanceWorkspace, std::move(command), {});
}

}  // namespace

Family account_family() {
  using namespace permission;
  constexpr std::string_view kSession = "/api/v1/session", kUsers = "/api/v1/users",
                             kKeys = "/api/v1/api-keys";
  constexpr std::string_view kUser = "/api/v1/users/{userId}", kKey = "/api/v1/api-keys/{keyId}";
  return {"Accounts",
          {
              {.method = "POST",
               .path = kSession,
               .id = "signIn",
               .summary = "Sign in with a password",
               .permission = kPublic,
               .body = "SignInRequest",
               .outcomes = {{200, "Identity"}},
               .handler = sign_in},
              {.method = "GET",
               .path = kSession,
               .id = "whoAmI",
               .summary = "Who asks, and where they belong",
               .permission = kSelf,
               .outcomes = {{200, "Identity"}},
               .handler = who_am_i},
              {.method = "DELETE",
               .path = kSession,
               .id = "signOut",
               .summary = "End the session",
               .permission = kSelf,
               .outcomes = {{204}},
               .handler = sign_out},
              {.method = "GET",
               .path = kUsers,
               .id = "listUsers",
               .summary = "Users by e-mail address",
               .permission = kInstanceAdmin,
               .query = paged(),
               .outcomes = {{200, "UserPage"}},
               .handler = list_users},
              {.method = "POST",
               .path = kUsers,
               .id = "createUser",
               .summary = "Make a user",
               .permission = kInstanceAdmin,
               .body = "CreateUserRequest",
               .outcomes = {{201, "User"}},
               .handler = create_user},
              {.method = "GET",
               .path = kUser,
               .id = "getUser",
               .summary = "A user",
               .permission = kInstanceAdmin,
               .outcomes = {{200, "User"}},
               .handler = get_user},
              {.method = "PATCH",
               .path = kUser,
               .id = "updateUser",
               .summary = "Change a user; a new password ends their sessions",
               .permission = kInstanceAdmin,
               .body = "UpdateUserRequest",
               .outcomes = {{200, "User"}},
               .handler = update_user},
              {.method = "DELETE",
               .path = kUser,
               .id = "deleteUser",
               .summary = "Delete a user with their keys, sessions and memberships",
               .permission = kInstanceAdmin,
               .outcomes = {{204}},
               .handler = delete_user},
              {.method = "GET",
               .path = kKeys,
               .id = "listApiKeys",
               .summary = "One's own API keys",
               .permission = kSelf,
               .query = paged({{"userId", "uuid", "of another user; for administrators of the instance"}}),
               .outcomes = {{200, "ApiKeyPage"}},
               .handler = list_keys},
              {.method = "POST",
               .path = kKeys,
               .id = "createApiKey",
               .summary = "Make an API key; the key itself is shown in this answer only",
               .permission = kSelf,
               .body = "CreateApiKeyRequest",
               .repeat = Repeat::kNever,
               .outcomes = {{201, "NewApiKey"}},
               .handler = create_key},
              {.method = "DELETE",
               .path = kKey,
               .id = "deleteApiKey",
               .summary = "Revoke an API key",
               .permission = kSelf,
               .outcomes = {{204}},
               .handler = delete_key},
          }};
}

}  // namespace ctrlplane::api
