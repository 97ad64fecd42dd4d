// Workspaces, users, keys, sessions and members: rows of the instance.
#include <gtest/gtest.h>

#include "engine/testing.h"

namespace ctrlplane {
namespace {

using testing::id;
using testing::World;

const std::string kPrefix = "0123456789abcdef", kOtherPrefix = "fedcba9876543210", kSecret(64, 'a');

struct Accounts : ::testing::Test, World {
  UserId user(std::string email, bool is_admin = false) {
    CreateUser c{.email = email, .name = email, .password_hash = "$hash$", .admin = is_admin};
    return UserId{must(c)};
  }
  WorkspaceId workspace(std::string slug) { return WorkspaceId{must(CreateWorkspace{"Some name", slug})}; }
  KeyId key(UserId of, std::string prefix = kPrefix, std::optional<WorkspaceId> bound = {}) {
    CreateApiKey c{.user = of, .name = "ci", .prefix = prefix, .secret_hash = kSecret};
    c.workspace = bound;
    return KeyId{must(c)};
  }
  SessionId session(UserId of, Duration lasts = hours(1)) {
    return SessionId{must(CreateSession{of, "token " + std::to_string(++tokens), now + lasts})};
  }
  ErrorCode refusal(Command c) {
    Reply r = run(std::move(c));
    EXPECT_FALSE(r);
    EXPECT_TRUE(last.empty());
    return r ? ErrorCode::kInternal : r.error().code;
  }
  std::vector<AuditEntry> audit() const {
    std::vector<AuditEntry> out;
    rows.each<AuditEntry>([&](const AuditEntry& e) { out.push_back(e); });
    return out;
  }
  int64_t told_of(std::string_view text) const {
    std::vector<AuditEntry> all = audit();
    return std::count_if(all.begin(), all.end(),
                         [&](const AuditEntry& e) { return e.details.find(text) != std::string::npos; });
  }
  int tokens = 0;
};

std::vector<Command> every_command() {
  return {CreateWorkspace{"name", "slug"},
          UpdateWorkspace{},
          DeleteWorkspace{},
          CreateUser{.email = "a@b", .name = "n"},
          UpdateUser{},
          DeleteUser{},
          CreateApiKey{.name = "n", .prefix = kPrefix, .secret_hash = kSecret},
          DeleteApiKey{},
          CreateSession{},
          DeleteSession{},
          SetMember{},
          RemoveMember{},
          Bootstrap{}};
}

TEST(AccountCommands, are_refused_outside_the_instance) {
  for (const Command& c : every_command()) {
    State state(id<WorkspaceId>(7));
    Changes changes;
    Tx tx(state, testing::kStart, {}, IdSource(testing::kStart, 1), changes);
    Reply r = execute(tx, Request{c});
    ASSERT_FALSE(r) << c.index();
    EXPECT_EQ(r.error().code, ErrorCode::kInvalid) << c.index();
    EXPECT_TRUE(r.error().message.ends_with("on the instance")) << r.error().message;
  }
}

TEST_F(Accounts, leave_an_audit_entry_each_and_no_secret_in_it) {
  UserId u = user("ann@example.com", true);
  must(CreateUser{.email = "bob@example.com", .password_hash = "$secret$"});
  WorkspaceId w = workspace("shop");
  must(UpdateUser{.id = u, .password_hash = "$new$"});
  KeyId k = key(u);
  must(SetMember{w, u, Role::kAgent});
  must(RemoveMember{w, u});
  must(DeleteSession{session(u)});
  must(DeleteApiKey{k});
  must(UpdateWorkspace{.id = w, .slug = "shop-2"});
  must(DeleteWorkspace{w});
  must(DeleteUser{state->user_with_email("bob@example.com")->id});
  std::set<std::string> actions;
  for (const AuditEntry& e : audit()) {
    actions.insert(e.action);
    EXPECT_EQ(e.actor, "tester");
    for (const std::string& secret : {kSecret, std::string("$secret$"), std::string("$new$"), kPrefix})
      EXPECT_EQ(e.details.find(secret), std::string::npos) << e.details;
    EXPECT_TRUE(Json::parse_object(e.details)) << e.details;
  }
  EXPECT_EQ(actions, (std::set<std::string>{"user.create", "user.update", "user.delete", "api_key.create",
                                            "api_key.delete", "session.create", "session.delete",
                                            "member.set", "member.remove", "workspace.create",
                                            "workspace.update", "workspace.delete"}));
}

// ---- Users ---------------------------------------------------------------------------------------------

TEST_F(Accounts, an_email_address_is_one_user_in_any_case) {
  UserId u = user("Ann@Example.com");
  EXPECT_EQ(state->users.at(u).email, "ann@example.com");
  EXPECT_EQ(refusal(CreateUser{.email = "ANN@example.COM"}), ErrorCode::kConflict);
  UserId other = user("bob@example.com");
  EXPECT_EQ(refusal(UpdateUser{.id = other, .email = "ANN@example.com"}), ErrorCode::kConflict);
  must(UpdateUser{.id = u, .email = "ANN@example.com"});
  EXPECT_TRUE(last.empty()) << "nothing differs";
  must(UpdateUser{.id = u, .email = "anna@example.com"});
  EXPECT_EQ(state->user_with_email("ann@example.com"), nullptr);
  EXPECT_EQ(user("ann@example.com").is_nil(), false) << "free again";
}

TEST_F(Accounts, what_is_no_email_address_is_refused) {
  for (const char* email : {"", "ann", "@b", "a@", "a b@c", "a@b@c", "a@b\n"})
    EXPECT_EQ(refusal(CreateUser{.email = email}), ErrorCode::kInvalid) << email;
  EXPECT_EQ(refusal(CreateUser{.email = "a@" + std::string(300, 'b')}), ErrorCode::kInvalid);
}

TEST_F(Accounts, a_user_can_be_given_its_id_once) {
  CreateUser c{.id = id<UserId>(5), .email = "a@b"};
  EXPECT_EQ(must(c), id<UserId>(5).uuid);
  c.email = "c@d";
  EXPECT_EQ(refusal(c), ErrorCode::kConflict);
}

TEST_F(Accounts, the_last_administrator_stays) {
  UserId a = user("a@b", true), b = user("c@d", true);
  user("e@f");
  must(UpdateUser{.id = a, .admin = false});
  EXPECT_EQ(refusal(UpdateUser{.id = b, .admin = false}), ErrorCode::kConflict);
  EXPECT_EQ(refusal(DeleteUser{b}), ErrorCode::kConflict);
  must(UpdateUser{.id = a, .admin = true});
  must(DeleteUser{b});
  EXPECT_EQ(refusal(DeleteUser{a}), ErrorCode::kConflict);
}

TEST_F(Accounts, a_changed_password_ends_the_sessions_of_its_user_only) {
  UserId a = user("a@b"), b = user("c@d");
  session(a);
  session(a);
  SessionId other = session(b);
  must(UpdateUser{.id = a, .name = "new", .password_hash = "$hash$"});
  EXPECT_EQ(state->sessions.size(), 3u) << "the same password again";
  must(UpdateUser{.id = a, .password_hash = "$other$"});
  ASSERT_EQ(state->sessions.size(), 1u);
  EXPECT_EQ(state->sessions.begin()->first, other);
}

TEST_F(Accounts, a_deleted_user_takes_keys_sessions_and_memberships_along) {
  UserId gone = user("a@b"), stays = user("c@d", true);
  WorkspaceId w = workspace("shop");
  for (UserId u : {gone, stays}) {
    key(u, u == gone ? kPrefix : kOtherPrefix);
    session(u);
    must(SetMember{w, u, Role::kViewer});
  }
  must(DeleteUser{gone});
  EXPECT_EQ(state->users.size() + state->api_keys.size() + state->sessions.size() + state->members.size(),
            4u);
  EXPECT_EQ(rows.count<User>() + rows.count<ApiKey>() + rows.count<Session>() + rows.count<Member>(), 4u);
  EXPECT_EQ(state->key_with_prefix(kPrefix), nullptr);
  EXPECT_EQ(refusal(DeleteUser{gone}), ErrorCode::kNotFound);
  EXPECT_EQ(refusal(UpdateUser{.id = gone}), ErrorCode::kNotFound);
}

// ---- Keys and sessions ---------------------------------------------------------------------------------

TEST_F(Accounts, a_key_is_checked_in_form) {
  UserId u = user("a@b");
  CreateApiKey good{.user = u, .name = "ci", .prefix = kPrefix, .secret_hash = kSecret};
  auto with = [&](auto&& change) {
    CreateApiKey c = good;
    change(c);
    return refusal(c);
  };
  EXPECT_EQ(with([](auto& c) { c.name = ""; }), ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto& c) { c.prefix = "0123"; }), ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto& c) { c.prefix = "0123456789ABCDEF"; }), ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto& c) { c.secret_hash += "a"; }), ErrorCode::kInvalid);
  EXPECT_EQ(with([&](auto& c) { c.expires_at = now; }), ErrorCode::kInvalid);
  EXPECT_EQ(with([](auto& c) { c.user = id<UserId>(9); }), ErrorCode::kNotFound);
  EXPECT_EQ(with([](auto& c) { c.workspace = id<WorkspaceId>(9); }), ErrorCode::kNotFound);
  must(good);
  EXPECT_EQ(refusal(good), ErrorCode::kConflict) << "the prefix finds one key";
}

TEST_F(Accounts, somebody_elses_key_is_not_found) {
  UserId a = user("a@b"), b = user("c@d");
  KeyId k = key(a);
  EXPECT_EQ(refusal(DeleteApiKey{k, b}), ErrorCode::kNotFound);
  must(DeleteApiKey{k, a});
  EXPECT_EQ(refusal(DeleteApiKey{k, a}), ErrorCode::kNotFound);
}

TEST_F(Accounts, a_session_goes_when_it_expires_also_after_a_load) {
  UserId u = user("a@b");
  session(u, hours(1));
  SessionId longer = session(u, hours(2));
  EXPECT_EQ(refusal(CreateSession{u, "x", now}), ErrorCode::kInvalid);
  EXPECT_EQ(refusal(CreateSession{u, "token 1", now + hours(1)}), ErrorCode::kConflict);
  reload();
  EXPECT_EQ(state->session_with_token("token 2")->id, longer);
  pass(hours(1) - seconds(1));
  EXPECT_EQ(rows.count<Session>(), 2u);
  pass(seconds(1));
  EXPECT_EQ(rows.count<Session>(), 1u);
  EXPECT_EQ(state->session_with_token("token 1"), nullptr);
  pass(hours(1));
  EXPECT_TRUE(state->sessions.empty());
}

TEST_F(Accounts, a_session_that_was_ended_is_not_erased_again) {
  SessionId s = session(user("a@b"));
  must(DeleteSession{s});
  EXPECT_EQ(refusal(DeleteSession{s}), ErrorCode::kNotFound);
  now = now + hours(2);
  tick();
  EXPECT_TRUE(last.empty());
}

// ---- Workspaces and members ----------------------------------------------------------------------------

TEST_F(Accounts, the_owner_of_a_new_workspace_is_its_administrator) {
  UserId u = user("a@b");
  WorkspaceId w{must(CreateWorkspace{"Shop", "shop", u})};
  EXPECT_EQ(state->members.at({w, u}).role, Role::kAdmin);
  EXPECT_EQ(refusal(CreateWorkspace{"Other", "other", id<UserId>(9)}), ErrorCode::kNotFound);
}

TEST_F(Accounts, names_and_slugs_of_workspaces_have_a_form) {
  for (const std::string& name : {std::string("ab"), std::string(31, 'a'), std::string("a\0b", 3)})
    EXPECT_EQ(refusal(CreateWorkspace{name, "slug"}), ErrorCode::kInvalid) << name;
  for (const std::string& slug :
       {std::string(""), std::string("ab"), std::string(51, 'a'), std::string("Slug"), std::string("a_b")})
    EXPECT_EQ(refusal(CreateWorkspace{"Name", slug}), ErrorCode::kInvalid) << slug;
  WorkspaceId w{must(CreateWorkspace{"Zürich Süd äöü äöü äöü äöü äöü", "a-1"})};
  WorkspaceId other = workspace("other");
  EXPECT_EQ(refusal(CreateWorkspace{"Name", "other"}), ErrorCode::kConflict);
  EXPECT_EQ(refusal(UpdateWorkspace{.id = w, .name = "x"}), ErrorCode::kInvalid);
  EXPECT_EQ(refusal(UpdateWorkspace{.id = w, .slug = "X Y"}), ErrorCode::kInvalid);
  EXPECT_EQ(refusal(UpdateWorkspace{.id = w, .slug = "other"}), ErrorCode::kConflict);
  EXPECT_EQ(refusal(UpdateWorkspace{.id = id<WorkspaceId>(9)}), ErrorCode::kNotFound);
  must(UpdateWorkspace{.id = other, .slug = "other"});
  must(UpdateWorkspace{.id = other, .name = "Renamed", .slug = "new-slug"});
  EXPECT_EQ(state->workspace_with_slug("other"), nullptr);
  EXPECT_EQ(state->workspace_with_slug("new-slug")->name, "Renamed");
}

TEST_F(Accounts, a_deleted_workspace_takes_members_and_the_keys_bound_to_it_along) {
  UserId u = user("a@b");
  WorkspaceId gone = workspace("gone"), stays = workspace("stays");
  must(SetMember{gone, u, Role::kViewer});
  must(SetMember{stays, u, Role::kViewer});
  key(u, kPrefix, gone);
  key(u, kOtherPrefix);
  must(DeleteWorkspace{gone});
  EXPECT_EQ(state->workspaces.size(), 1u);
  EXPECT_EQ(state->members.begin()->second.workspace, stays);
  EXPECT_EQ(state->members.size(), 1u);
  EXPECT_EQ(state->api_keys.begin()->second.prefix, kOtherPrefix);
  EXPECT_EQ(state->api_keys.size(), 1u);
  EXPECT_EQ(refusal(DeleteWorkspace{gone}), ErrorCode::kNotFound);
  EXPECT_EQ(refusal(SetMember{gone, u, Role::kViewer}), ErrorCode::kNotFound);
}

TEST_F(Accounts, a_membership_is_set_changed_and_removed) {
  UserId u = user("a@b");
  WorkspaceId w = workspace("shop");
  EXPECT_TRUE(run(SetMember{w, u, Role::kViewer})->created);
  EXPECT_FALSE(run(SetMember{w, u, Role::kOperator})->created);
  EXPECT_EQ(state->members.at({w, u}).role, Role::kOperator);
  must(SetMember{w, u, Role::kOperator});
  EXPECT_TRUE(last.empty());
  EXPECT_EQ(refusal(SetMember{w, id<UserId>(9), Role::kViewer}), ErrorCode::kNotFound);
  must(RemoveMember{w, u});
  EXPECT_EQ(refusal(RemoveMember{w, u}), ErrorCode::kNotFound);
  EXPECT_TRUE(state->members.empty());
}

TEST_F(Accounts, a_membership_keeps_its_grants_until_it_is_set_without) {
  UserId u = user("a@b");
  WorkspaceId w = workspace("shop");
  must(SetMember{w, u, Role::kDeployer});
  must(SetMember{w, u, Role::kDeployer, "deployment_freeze.bypass"});
  EXPECT_EQ(state->members.at({w, u}).grants, "deployment_freeze.bypass");
  EXPECT_EQ(told_of("deployment_freeze.bypass"), 1);
  must(SetMember{w, u, Role::kDeployer, "deployment_freeze.bypass"});
  EXPECT_TRUE(last.empty());
  must(SetMember{w, u, Role::kDeployer});
  EXPECT_EQ(state->members.at({w, u}).grants, "");
}

TEST_F(Accounts, a_key_keeps_its_grants_and_the_audit_tells_of_them) {
  CreateApiKey c{.user = user("a@b"), .name = "ci", .prefix = kPrefix, .secret_hash = kSecret};
  c.role = Role::kDeployer;
  c.grants = "deployment_freeze.bypass";
  KeyId k{must(c)};
  EXPECT_EQ(state->api_keys.at(k).grants, "deployment_freeze.bypass");
  EXPECT_EQ(told_of("deployment_freeze.bypass"), 1);
}

// ---- The first user ------------------------------------------------------------------------------------

TEST_F(Accounts, bootstrap_makes_the_first_administrator_once) {
  Bootstrap c{.email = "Root@example.com", .name = "root", .key_prefix = kPrefix, .key_secret_hash = kSecret};
  c.key_prefix = "short";
  EXPECT_EQ(refusal(c), ErrorCode::kInvalid);
  EXPECT_TRUE(state->users.empty());
  c.key_prefix = kPrefix;
  Reply first = run(c);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->created);
  const User& root = state->users.at(UserId{first->id});
  EXPECT_TRUE(root.admin);
  EXPECT_EQ(root.email, "root@example.com");
  EXPECT_EQ(state->key_with_prefix(kPrefix)->user, root.id);
  EXPECT_EQ(state->key_with_prefix(kPrefix)->name, "bootstrap");
  c.email = "other@example.com";
  c.key_prefix = kOtherPrefix;
  Reply second = run(c);
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->created);
  EXPECT_TRUE(last.empty());
}

TEST_F(Accounts, loaded_from_rows_are_what_the_changes_made) {
  UserId u = user("a@b", true);
  WorkspaceId w = workspace("shop");
  must(SetMember{w, u, Role::kDeployer});
  key(u);
  session(u);
  auto loaded = rows.load();
  EXPECT_EQ(loaded->workspaces, state->workspaces);
  EXPECT_EQ(loaded->users, state->users);
  EXPECT_EQ(loaded->api_keys, state->api_keys);
  EXPECT_EQ(loaded->sessions, state->sessions);
  EXPECT_EQ(loaded->members, state->members);
}

}  // namespace
}  // namespace ctrlplane
