#include "policy/registry.h"

#include <gtest/gtest.h>

#include <fmt/core.h>

#include "policy/compiled.h"

namespace ctrlplane::policy {
namespace {

// What validation says of it; empty if it is good.
std::string complaint(std::string_view type, std::string_view body) {
  Status s = validate_rule("rules[3]", type, Json::parse_object(body).value());
  if (s) return "";
  return s.error().details.at(0).path + ": " + s.error().details.at(0).message;
}

TEST(ValidateRule, names_the_member_below_the_path) {
  EXPECT_EQ(complaint("anyApproval", "{}"), "rules[3].anyApproval.minApprovals: is required");
  EXPECT_EQ(complaint("anyApproval", R"({"minApprovals":"2"})"),
            "rules[3].anyApproval.minApprovals: must be an integer");
  EXPECT_EQ(complaint("anyApproval", R"({"minApprovals":1.5})"),
            "rules[3].anyApproval.minApprovals: must be an integer");
  EXPECT_EQ(complaint("anyApproval", R"({"minApprovals":1,"approverRoles":["king"]})"),
            "rules[3].anyApproval.approverRoles: 'king' is no role");
  EXPECT_EQ(complaint("anyApproval", R"({"minApprovals":1,"approverRoles":[]})"),
            "rules[3].anyApproval.approverRoles: must name a role");
  EXPECT_EQ(complaint("anyApproval", R"({"minApprovals":1,"noSelfApproval":"yes"})"),
            "rules[3].anyApproval.noSelfApproval: must be true or false");
  EXPECT_EQ(complaint("retry", R"({"maxRetries":1,"retryOnStatuses":"failure"})"),
            "rules[3].retry.retryOnStatuses: must be an array of strings");
  EXPECT_EQ(complaint("retry", R"({"maxRetries":1,"retryOnStatuses":[]})"),
            "rules[3].retry.retryOnStatuses: must name a status");
  EXPECT_EQ(complaint("retry", R"({"maxRetries":1001})"), "rules[3].retry.maxRetries: must be at most 1000");
  EXPECT_EQ(complaint("retry", R"({"maxRetries":18446744073709551615})"),
            "rules[3].retry.maxRetries: must be an integer");
  EXPECT_EQ(complaint("gradualRollout", R"({"timeScaleInterval":1})"),
            "rules[3].gradualRollout.rolloutType: is required");
  EXPECT_NE(complaint("versionSelector", R"({"selector":""})").find("versionSelector.selector: "),
            std::string::npos);
}

TEST(ValidateRule, the_first_complaint_stays) {
  EXPECT_EQ(complaint("versionCooldown", R"({"intervalSeconds":-1})"),
            "rules[3].versionCooldown.intervalSeconds: must be at least 0");
  EXPECT_EQ(complaint("deploymentWindow", "{}"), "rules[3].deploymentWindow.rrule: is required");
}

TEST(ValidateRule, takes_null_for_absent_and_both_spellings_of_a_status) {
  EXPECT_EQ(complaint("retry", R"({"maxRetries":1,"backoffSeconds":null})"), "");
  EXPECT_EQ(
      complaint("retry", R"({"maxRetries":1,"retryOnStatuses":["invalidJobAgent","invalid_integration"]})"),
      "");
  auto progression = [](std::string_view statuses) {
    return complaint(
        "environmentProgression",
        fmt::format(R"({{"dependsOnEnvironmentSelector":"true","successStatuses":{}}})", statuses));
  };
  EXPECT_EQ(progression(R"(["skipped","externalRunNotFound","skipped"])"), "");
  EXPECT_EQ(progression("null"), "");
  EXPECT_EQ(progression("[]"), "rules[3].environmentProgression.successStatuses: must name a status");
  EXPECT_EQ(
      progression(R"(["inProgress"])"),
      "rules[3].environmentProgression.successStatuses: 'inProgress' is not a status in which a job ends");
}

TEST(ValidateRule, refuses_what_would_be_ignored) {
  EXPECT_EQ(complaint("verification", "{}"),
            "rules[3]: verification rules are not enforced yet, so they are not accepted");
  EXPECT_EQ(complaint("sing", "{}"), "rules[3]: 'sing' is no kind of rule");
  EXPECT_EQ(complaint("rollback", R"({"onVerificationFailure":true})").substr(0, 39),
            "rules[3].rollback.onVerificationFailure");
}

TEST(CompileRule, what_cannot_be_read_is_no_rule) {
  PolicyRule row{.type = "tomorrow", .body = Json::parse_object("{}").value()};
  EXPECT_FALSE(compile_rule(row).rule);
  row.type = "anyApproval";
  EXPECT_FALSE(compile_rule(row).rule);
  row.body = Json::parse_object(R"({"minApprovals":1})").value();
  EXPECT_TRUE(compile_rule(row).rule);
}

TEST(CompileRule, cheap_rules_are_asked_first) {
  auto cost = [](std::string type, std::string_view body) {
    return compile_rule({.type = std::move(type), .body = Json::parse_object(body).value()}).cost;
  };
  EXPECT_LT(cost("anyApproval", R"({"minApprovals":1})"),
            cost("versionCooldown", R"({"intervalSeconds":1})"));
  EXPECT_LT(cost("versionCooldown", R"({"intervalSeconds":1})"),
            cost("gradualRollout", R"({"rolloutType":"linear","timeScaleInterval":1})"));
}

}  // namespace
}  // namespace ctrlplane::policy
