#include "api/directory.h"

#include <gtest/gtest.h>

#include "state/testing.h"

namespace ctrlplane::api {
namespace {

const std::string kPrefix(16, 'a');
const std::string kSecret(64, 'b'), kOther(64, 'c');
const std::string kKey = kPrefix + "." + kSecret;

class DirectoryOfOneKey : public ::testing::Test {
 protected:
  void SetUp() override {
    state.apply(Change::put(user));
    state.apply(Change::put(key));
    directory.load(state);
    directory.open();
  }
  void commit(Change change) { directory.committed(kInstanceWorkspace, 1, now, {std::move(change)}); }
  bool knows(std::string_view text) { return directory.by_key(text, now).has_value(); }
  ErrorCode refusal(std::string_view text) {
    auto who = directory.by_key(text, now);
    return who ? ErrorCode::kInternal : who.error().code;
  }

  static Uuid uuid(uint64_t n) { return Uuid::from_halves(0, n); }

  Time now = testing::kStart;
  User user{.id = UserId{uuid(1)}, .email = "a@example.com"};
  ApiKey key{.id = KeyId{uuid(2)}, .user = user.id, .prefix = kPrefix, .secret_hash = sha256_hex(kSecret)};
  State state{kInstanceWorkspace};
  Directory directory;
};

TEST_F(DirectoryOfOneKey, knows_the_key_however_often_it_comes) {
  for (int i = 0; i < 3; ++i) {
    auto who = directory.by_key(kKey, now);
    ASSERT_TRUE(who);
    EXPECT_EQ(who->email, "a@example.com");
    EXPECT_EQ(who->key, key.id);
  }
}

TEST_F(DirectoryOfOneKey, refuses_another_secret_before_and_after_the_right_one) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(refusal(kPrefix + "." + kOther), ErrorCode::kUnauthenticated);
    EXPECT_EQ(refusal(kPrefix + "." + kSecret.substr(1) + "c"), ErrorCode::kUnauthenticated);
    EXPECT_EQ(refusal(std::string(16, 'd') + "." + kSecret), ErrorCode::kUnauthenticated);
    EXPECT_TRUE(knows(kKey));
  }
}

TEST_F(DirectoryOfOneKey, refuses_a_key_at_once_when_it_is_revoked) {
  EXPECT_TRUE(knows(kKey));
  auto who = directory.by_key(kKey, now);
  commit(Change::erase(key));
  EXPECT_EQ(refusal(kKey), ErrorCode::kUnauthenticated);
  EXPECT_FALSE(directory.holds(*who, now));
}

TEST_F(DirectoryOfOneKey, refuses_the_old_secret_of_a_key_that_has_a_new_one) {
  EXPECT_TRUE(knows(kKey));
  ApiKey renewed = key;
  renewed.secret_hash = sha256_hex(kOther);
  commit(Change::put(renewed));
  EXPECT_EQ(refusal(kKey), ErrorCode::kUnauthenticated);
  EXPECT_TRUE(knows(kPrefix + "." + kOther));
  EXPECT_EQ(refusal(kKey), ErrorCode::kUnauthenticated);
}

TEST_F(DirectoryOfOneKey, refuses_a_key_from_its_expiry_on) {
  key.expires_at = now + seconds(10);
  commit(Change::put(key));
  EXPECT_TRUE(knows(kKey));
  now = now + seconds(10);
  EXPECT_EQ(refusal(kKey), ErrorCode::kUnauthenticated);
}

TEST_F(DirectoryOfOneKey, refuses_the_key_of_a_user_who_is_gone) {
  EXPECT_TRUE(knows(kKey));
  commit(Change::erase(user));
  EXPECT_EQ(refusal(kKey), ErrorCode::kUnauthenticated);
}

TEST_F(DirectoryOfOneKey, forgets_what_it_knew_when_it_is_loaded_again) {
  EXPECT_TRUE(knows(kKey));
  State without(kInstanceWorkspace);
  without.apply(Change::put(user));
  directory.load(without);
  EXPECT_EQ(refusal(kKey), ErrorCode::kUnauthenticated);
  directory.load(state);
  EXPECT_TRUE(knows(kKey));
}

TEST_F(DirectoryOfOneKey, finds_a_workspace_by_the_slug_it_has_now) {
  Principal who{.user = user.id};
  commit(Change::put(User{.id = user.id, .email = "a@example.com", .admin = true}));
  Workspace one{.id = WorkspaceId{uuid(3)}, .name = "one", .slug = "first"};
  commit(Change::put(one));
  EXPECT_TRUE(directory.workspace(who, "first"));
  EXPECT_TRUE(directory.workspace(who, one.id.str()));
  one.slug = "second";
  commit(Change::put(one));
  EXPECT_FALSE(directory.workspace(who, "first"));
  EXPECT_TRUE(directory.workspace(who, "second"));
  Workspace two{.id = WorkspaceId{uuid(4)}, .name = "two", .slug = "first"};
  commit(Change::put(two));
  commit(Change::erase(one));
  EXPECT_EQ(directory.workspace(who, "first")->id, two.id);
  EXPECT_FALSE(directory.workspace(who, "second"));
}

// ---- What is granted beyond a role ----------------------------------------------------------------------

class DirectoryOfOneMember : public DirectoryOfOneKey {
 protected:
  void SetUp() override {
    DirectoryOfOneKey::SetUp();
    commit(Change::put(workspace));
    member(Role::kViewer);
  }
  void member(Role role, std::string grants = {}) {
    commit(Change::put(ctrlplane::Member{workspace.id, user.id, role, std::move(grants)}));
  }
  void give_key(std::optional<Role> role, std::string grants = {}) {
    key.role = role;
    key.grants = std::move(grants);
    commit(Change::put(key));
  }
  bool may(const Permission& permission, WorkspaceId where) {
    auto who = directory.by_key(kKey, now);
    return who && directory.allows(*who, permission, where);
  }
  bool may(const Permission& permission) { return may(permission, workspace.id); }

  Workspace workspace{.id = WorkspaceId{uuid(5)}, .name = "one", .slug = "one"};
};

TEST_F(DirectoryOfOneMember, lets_a_member_do_what_was_granted_and_nothing_else) {
  EXPECT_FALSE(may(permission::kFreezeBypass));
  member(Role::kViewer, "deployment_freeze.create deployment_freeze.bypass");
  EXPECT_TRUE(may(permission::kFreezeBypass));
  EXPECT_TRUE(may(permission::kFreezeCreate));
  EXPECT_FALSE(may(permission::kFreezeThaw));
  EXPECT_FALSE(may(permission::kSystemWrite));
  member(Role::kViewer);
  EXPECT_FALSE(may(permission::kFreezeBypass));
}

TEST_F(DirectoryOfOneMember, keeps_grants_when_it_is_loaded_again) {
  state.apply(Change::put(workspace));
  state.apply(Change::put(ctrlplane::Member{workspace.id, user.id, Role::kViewer, "deployment_freeze.thaw"}));
  directory.load(state);
  EXPECT_TRUE(may(permission::kFreezeThaw));
}

TEST_F(DirectoryOfOneMember, a_grant_counts_in_its_workspace_only) {
  member(Role::kViewer, "deployment_freeze.bypass");
  Workspace other{.id = WorkspaceId{uuid(6)}, .name = "two", .slug = "two"};
  commit(Change::put(other));
  commit(Change::put(ctrlplane::Member{other.id, user.id, Role::kOperator}));
  EXPECT_TRUE(may(permission::kFreezeBypass));
  EXPECT_FALSE(may(permission::kFreezeBypass, other.id));
}

TEST_F(DirectoryOfOneMember, a_narrow_key_does_what_was_granted_to_it_if_its_user_may) {
  member(Role::kAdmin);
  give_key(Role::kDeployer);
  EXPECT_FALSE(may(permission::kFreezeBypass));
  give_key(Role::kDeployer, "deployment_freeze.bypass");
  EXPECT_TRUE(may(permission::kFreezeBypass));
  EXPECT_FALSE(may(permission::kFreezeThaw));
  member(Role::kOperator);
  EXPECT_FALSE(may(permission::kFreezeBypass)) << "the key would do more than its user";
  member(Role::kOperator, "deployment_freeze.bypass");
  EXPECT_TRUE(may(permission::kFreezeBypass));
}

TEST_F(DirectoryOfOneMember, a_narrow_key_does_not_do_what_was_granted_to_its_user_alone) {
  member(Role::kOperator, "deployment_freeze.bypass");
  give_key(Role::kDeployer);
  EXPECT_FALSE(may(permission::kFreezeBypass));
  give_key(std::nullopt);
  EXPECT_TRUE(may(permission::kFreezeBypass)) << "one without a role does what its user does";
}

TEST_F(DirectoryOfOneMember, knows_the_addresses_of_members_by_their_roles) {
  EXPECT_TRUE(directory.emails_of(workspace.id, permission::kDeployers).empty());
  member(Role::kOperator);
  EXPECT_EQ(directory.emails_of(workspace.id, permission::kDeployers), std::vector<std::string>{user.email});
  EXPECT_TRUE(directory.emails_of(workspace.id, permission::kAdmins).empty());
  EXPECT_TRUE(directory.emails_of(WorkspaceId{uuid(6)}, permission::kDeployers).empty());
}

TEST(NewDirectory, knows_nobody_and_says_so) {
  Directory directory;
  EXPECT_EQ(directory.by_key(kKey, testing::kStart).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace ctrlplane::api
