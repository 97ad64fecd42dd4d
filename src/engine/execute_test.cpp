// What the door answers: keys that make requests repeatable, and refusals that name the member.
#include "engine/execute.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "engine/testing.h"
#include "engine/validate.h"

namespace ctrlplane {
namespace {

using testing::World;

Idempotency key(std::string_view key, std::string_view body) { return {digest_of(key), digest_of(body)}; }

TEST(Idempotency, answers_a_repeated_request_as_it_was_answered) {
  World w;
  w.one_target();
  CreateVersion c{.deployment = w.deployment, .tag = "v1"};
  Reply first = w.run(c, key("k", "body"));
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->created);
  Reply again = w.run(c, key("k", "body"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, first->id);
  EXPECT_TRUE(again->created);
  EXPECT_TRUE(again->replayed);
  EXPECT_TRUE(w.last.empty());
  w.reload();
  EXPECT_EQ(w.run(c, key("k", "body"))->id, first->id) << "also after a load";
}

TEST(Idempotency, refuses_the_same_key_for_another_request) {
  World w;
  w.one_target();
  ASSERT_TRUE(w.run(CreateVersion{.deployment = w.deployment, .tag = "v1"}, key("k", "body")));
  Reply other = w.run(CreateVersion{.deployment = w.deployment, .tag = "v2"}, key("k", "other body"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kConflict);
  EXPECT_TRUE(w.last.empty());
}

TEST(Idempotency, remembers_no_refusal) {
  World w;
  CreateVersion c{.deployment = testing::id<DeploymentId>(1), .tag = "v1"};
  EXPECT_EQ(w.run(c, key("k", "body")).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(w.state->idempotency.empty());
}

TEST(Idempotency, forgets_a_key_after_its_window) {
  World w;
  w.one_target();
  CreateVersion c{.deployment = w.deployment, .tag = "v1"};
  ASSERT_TRUE(w.run(c, key("k", "body")));
  w.pass(kIdempotencyWindow - seconds(1));
  EXPECT_TRUE(w.run(c, key("k", "body"))->replayed);
  w.pass(seconds(1));
  EXPECT_TRUE(w.state->idempotency.empty());
  EXPECT_EQ(w.rows.count<IdempotencyRecord>(), 0u);
  EXPECT_EQ(w.run(c, key("k", "body")).error().code, ErrorCode::kConflict) << "the tag exists by now";
}

// ---- Refusals ------------------------------------------------------------------------------------------

std::string refused_path(World& w, Command command) {
  Reply r = w.run(std::move(command));
  if (r) return "(accepted)";
  EXPECT_EQ(r.error().code, ErrorCode::kInvalid) << r.error().message;
  EXPECT_TRUE(w.last.empty());
  return r.error().details.empty() ? "(names no member)" : r.error().details.front().path;
}

TEST(Validation, names_the_member_that_is_no_storable_text) {
  using namespace std::string_literals;
  World w;
  EXPECT_EQ(refused_path(w, UpsertSystem{.name = "a\0b"s}), "name");
  EXPECT_EQ(refused_path(w, UpsertSystem{.name = "a\xff"}), "name");
  EXPECT_EQ(refused_path(w, UpsertSystem{.name = "\xed\xa0\x80"}), "name") << "a lone surrogate";
  EXPECT_EQ(refused_path(w, UpsertSystem{.name = "s", .description = "\0"s}), "description");
  EXPECT_EQ(refused_path(w, UpsertSystem{.name = ""}), "name");
  EXPECT_EQ(refused_path(w, UpsertSystem{.name = std::string(kMaxName + 1, 'x')}), "name");
  EXPECT_EQ(refused_path(w, UpsertSystem{.name = std::string(kMaxName, 'x')}), "(accepted)");
  UpsertEnvironment e{.name = "e"};
  e.metadata = Metadata{{"key", "\xc3"}};
  EXPECT_EQ(refused_path(w, e), "metadata['key']");
  e.metadata = Metadata{{"key", std::string(kMaxText + 1, 'x')}};
  EXPECT_EQ(refused_path(w, e), "metadata['key']");
  EXPECT_EQ(refused_path(w, UpsertResource{{"id", "name", "", "v1", {}, {}}, {}}), "kind");
  EXPECT_EQ(refused_path(w, UpsertResource{{"id\n\0"s, "name", "k", "v1", {}, {}}, {}}), "identifier");
}

TEST(Validation, of_a_key_that_is_no_text_gives_an_answer_that_is_text) {
  World w;
  UpsertEnvironment e{.name = "e"};
  for (const std::string& key : {std::string("bad\xff"), std::string(kMaxName, 'x') + "\xc3\xa9"}) {
    e.metadata = Metadata{{key, "x"}};
    EXPECT_EQ(refused_path(w, e), "metadata");
    EXPECT_TRUE(is_storable_text(w.run(e).error().message));
  }
}

TEST(Validation, says_where_a_selector_is_wrong) {
  World w;
  auto refusal = [&](std::string selector) {
    Reply r = w.run(UpsertEnvironment{.name = "e", .resource_selector = std::move(selector)});
    if (r) return std::string("(accepted)");
    EXPECT_EQ(r.error().details.front().path, "resourceSelector");
    return r.error().details.front().message;
  };
  EXPECT_TRUE(refusal("resource.nme == 'x'").contains("nme"));
  EXPECT_TRUE(refusal("true &&\n  resorce.name == 'x'").starts_with("2:3: "));
  EXPECT_TRUE(refusal("true &&\n  resorce.name == 'x'").contains("resorce"));
  EXPECT_TRUE(refusal("resource.name == 'x").starts_with("1:"));
  EXPECT_TRUE(refusal("true true").starts_with("1:6: "));
  EXPECT_NE(refusal("truer"), "(accepted)");
  EXPECT_EQ(refusal("true"), "(accepted)");
  Reply agents = w.run(UpsertDeployment{.name = "d", .agent_selector = "resource.name == 'x'"});
  ASSERT_FALSE(agents);
  EXPECT_EQ(agents.error().details.front().path, "jobAgentSelector");
}

TEST(Validation, refuses_a_timeout_no_clock_could_count) {
  World w;
  UpsertDeployment d{.name = "d"};
  d.job_timeout = Duration{0};
  EXPECT_EQ(refused_path(w, d), "jobTimeout");
  d.job_timeout = Duration{INT64_MAX};
  EXPECT_EQ(refused_path(w, d), "jobTimeout");
  d.job_timeout = hours(24);
  EXPECT_EQ(refused_path(w, d), "(accepted)");
}

TEST(Validation, refuses_names_that_are_taken) {
  World w;
  w.one_target();
  EXPECT_EQ(w.run(UpsertEnvironment{.name = "env"}).error().code, ErrorCode::kConflict);
  EXPECT_EQ(w.run(UpsertDeployment{.name = "app"}).error().code, ErrorCode::kConflict);
  EXPECT_EQ(w.run(UpsertAgent{.name = "agent", .type = "http-pull"}).error().code, ErrorCode::kConflict);
  w.publish("v1");
  EXPECT_EQ(w.run(CreateVersion{.deployment = w.deployment, .tag = "v1"}).error().code, ErrorCode::kConflict);
  EXPECT_TRUE(w.run(UpsertEnvironment{.id = w.environment, .name = "env"})) << "its own name is no conflict";
}

}  // namespace
}  // namespace ctrlplane
