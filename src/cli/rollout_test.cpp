#include "cli/rollout.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr Time kCreated{1'000'000'000'000'000};

bj::value target(const char* current, const char* desired, const char* status, Time job_created = kCreated) {
  bj::object state{{"currentVersion", {{"id", current}}}, {"desiredVersion", {{"id", desired}}}};
  if (*status)
    state["latestJob"] = {
        {"id", "j"}, {"status", status}, {"createdAt", format_rfc3339(job_created)}, {"message", "m"}};
  return {{"resource", {{"name", "eu-1"}}}, {"environment", {{"name", "prod"}}}, {"state", state}};
}

TEST(Rollout, counts_what_is_done_running_and_failed) {
  Rollout r = rollout_of({target("new", "new", "successful"), target("old", "new", "inProgress"),
                          target("old", "new", "actionRequired"), target("old", "new", ""),
                          target("old", "new", "failure"), target("old", "old", "successful")},
                         "new", kCreated);
  EXPECT_EQ(progress_text(r), "1/6 done, 2 running (1 wait for a person), 1 failed");
  EXPECT_EQ(r.failed_job, "j");
  EXPECT_EQ(r.failed_where, "eu-1 in prod");
  EXPECT_EQ(r.failed_why, "failure: m");
}

TEST(Rollout, of_a_scoped_version_counts_the_targets_it_is_for) {
  auto narrowed = [](const char* version, size_t done) {
    Rollout r{.total = 50, .done = done};
    narrow_to_scope(r, bj::parse(version));
    return r;
  };
  constexpr const char* kThree =
      R"({"onSelectorError":"include","scope":{"matched":1,"undetermined":2,"total":50}})";
  EXPECT_EQ(narrowed(kThree, 0).total, 3u);
  EXPECT_FALSE(is_complete(narrowed(kThree, 2)));
  EXPECT_TRUE(is_complete(narrowed(kThree, 3)));
  EXPECT_TRUE(is_complete(narrowed(kThree, 4))) << "one that left the scope keeps the version";
  EXPECT_EQ(
      narrowed(R"({"onSelectorError":"exclude","scope":{"matched":1,"undetermined":2,"total":50}})", 0).total,
      1u);
  EXPECT_FALSE(is_complete(narrowed(
      R"({"onSelectorError":"include","scope":{"matched":0,"undetermined":0,"total":50,"counting":true}})",
      0)));
  EXPECT_EQ(narrowed("{}", 0).total, 50u) << "no longer counted";
}

TEST(Rollout, does_not_take_the_failure_of_an_earlier_version_for_its_own) {
  EXPECT_EQ(rollout_of({target("old", "new", "failure", kCreated - seconds(1))}, "new", kCreated).failed, 0u);
  EXPECT_EQ(rollout_of({target("old", "other", "failure")}, "new", kCreated).failed, 0u);
}

TEST(Rollout, counts_a_retry_as_running_and_every_unhappy_end_as_failed) {
  bj::value retried = target("old", "new", "failure");
  retried.at("state").as_object()["activeJob"] = {
      {"id", "k"}, {"status", "pending"}, {"createdAt", format_rfc3339(kCreated)}};
  Rollout r = rollout_of({retried}, "new", kCreated);
  EXPECT_EQ(r.running, 1u);
  EXPECT_EQ(r.failed, 0u);
  for (const char* status :
       {"failure", "cancelled", "skipped", "invalidJobAgent", "invalidIntegration", "externalRunNotFound"})
    EXPECT_EQ(rollout_of({target("old", "new", status)}, "new", kCreated).failed, 1u) << status;
  EXPECT_EQ(rollout_of({target("old", "new", "successful")}, "new", kCreated).failed, 0u);
}

TEST(Rollout, minds_no_answer_that_lacks_members) {
  Rollout r = rollout_of({bj::value(nullptr), bj::object{}, bj::object{{"state", nullptr}}}, "new", kCreated);
  EXPECT_EQ(progress_text(r), "0/3 done");
}

}  // namespace
}  // namespace ctrlplane::cli
