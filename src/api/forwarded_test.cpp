#include "api/forwarded.h"

#include <gtest/gtest.h>

namespace ctrlplane::api {
namespace {

template <class T>
T id(uint64_t n) {
  return T{Uuid::from_halves(7, n)};
}

struct ForwardedRequest : ::testing::Test {
  Seal seal{"the secret of the cluster"};
  net::Request request{
      .method = "POST", .path = "/api/v1/workspaces/a%2Fb/systems", .query = "x=1", .body = "{}"};
  Forwarded what{.to = id<store::ReplicaId>(1),
                 .request = Uuid::from_halves(8, 2),
                 .who = {.user = id<UserId>(3), .email = "ü; key=x@example.com"},
                 .workspace = id<WorkspaceId>(4)};
};

TEST_F(ForwardedRequest, arrives_as_it_was_sent) {
  what.who.key = id<KeyId>(5);
  what.who.key_role = Role::kViewer;
  what.role = Role::kOperator;
  what.who.key_workspace = id<WorkspaceId>(6);
  what.who.key_expires_at = Time{1234567};
  seal.close(request, what);
  auto opened = seal.open(request);
  ASSERT_TRUE(opened);
  EXPECT_EQ(*opened, what);
}

TEST_F(ForwardedRequest, of_a_session_and_of_an_administrator_too) {
  what.who.session = id<SessionId>(5);
  what.who.instance_admin = true;
  seal.close(request, what);
  EXPECT_EQ(seal.open(request), what);
}

TEST_F(ForwardedRequest, is_bound_to_everything_that_was_asked) {
  seal.close(request, what);
  auto altered = [&](auto change) {
    net::Request other = request;
    change(other);
    return seal.open(other).has_value();
  };
  EXPECT_TRUE(altered([](net::Request&) {}));
  EXPECT_FALSE(altered([](net::Request& r) { r.method = "PUT"; }));
  EXPECT_FALSE(altered([](net::Request& r) { r.path += "x"; }));
  EXPECT_FALSE(altered([](net::Request& r) { r.query = "x=2"; }));
  EXPECT_FALSE(altered([](net::Request& r) { r.body = "{} "; }));
  EXPECT_FALSE(altered([](net::Request& r) { r.headers.add("Idempotency-Key", "another"); }));
}

TEST_F(ForwardedRequest, without_the_secret_nobody_is_anybody) {
  EXPECT_FALSE(seal.open(request)) << "no headers at all";
  Seal other("another secret");
  other.close(request, what);
  EXPECT_FALSE(seal.open(request));
  net::Request bare{.method = "GET", .path = "/"};
  bare.headers.add(std::string(kForwardedHeader), "user=" + what.who.user.str());
  bare.headers.add(std::string(kSignatureHeader), "");
  EXPECT_FALSE(seal.open(bare));
}

}  // namespace
}  // namespace ctrlplane::api
