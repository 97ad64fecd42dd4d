// Whom an event wakes: all who wait for it, and as far as possible nobody else.
#include "engine/reconcile.h"

#include <gtest/gtest.h>

#include "engine/testing.h"

namespace ctrlplane {
namespace {

using testing::World;

// One resource with three deployments. `base` has a job under way; `site` runs its only version.
class Waking : public ::testing::Test, public World {
 protected:
  Waking() {
    one_target();
    base_ = add_deployment("base");
    const DeploymentId site = add_deployment("site");
    publish_to(site, "v1");
    finish(JobStatus::kSuccessful);
    publish_to(base_, "v1");
    job_ = claim()->job->id;
  }

  DeploymentId add_deployment(std::string name) {
    UpsertDeployment d{.name = std::move(name), .resource_selector = "true", .agent_selector = "true"};
    DeploymentId id{must(d)};
    must(LinkDeployment{system, id});
    drain();
    return id;
  }
  void publish_to(DeploymentId d, std::string tag, std::string needs_of_base = "") {
    CreateVersion c{.deployment = d, .tag = std::move(tag)};
    if (!needs_of_base.empty()) c.dependencies.push_back({base_, needs_of_base});
    must(c);
    drain();
  }
  // How many targets are to be looked at again once the job has succeeded.
  size_t woken_by_success() {
    EXPECT_TRUE(run(ReportJob{job_, "one", JobStatus::kSuccessful, "", ""}));
    return state->dirty_count();
  }
  bool app_has_a_job() {
    drain();
    return static_cast<bool>(state->at(state->target(key())).first_job);
  }

  DeploymentId base_;
  JobId job_;
};

TEST_F(Waking, a_success_wakes_its_own_target_alone_if_nobody_waits) {
  publish_to(deployment, "v1");
  EXPECT_EQ(woken_by_success(), 1u);
}

TEST_F(Waking, a_success_wakes_the_version_that_depends_on_it) {
  publish_to(deployment, "v1", "version.tag == 'v1'");
  EXPECT_FALSE(app_has_a_job());
  EXPECT_EQ(woken_by_success(), 2u);
  EXPECT_TRUE(app_has_a_job());
}

TEST_F(Waking, a_success_wakes_those_whose_rules_depend_on_it) {
  UpsertPolicy p{.name = "order", .selector = "deployment.name == 'app'"};
  p.rules.push_back({.type = "deploymentDependency",
                     .body = Json::parse_object(R"({"dependsOn":"deployment.name == 'base'"})").value()});
  must(p);
  publish_to(deployment, "v1");
  EXPECT_FALSE(app_has_a_job());
  EXPECT_EQ(woken_by_success(), 2u);
  EXPECT_TRUE(app_has_a_job());
}

TEST_F(Waking, who_was_woken_for_the_wrong_version_waits_on) {
  publish_to(deployment, "v1", "version.tag == 'v2'");
  EXPECT_EQ(woken_by_success(), 2u);
  EXPECT_FALSE(app_has_a_job());
  publish_to(base_, "v2");
  job_ = claim()->job->id;
  EXPECT_EQ(woken_by_success(), 2u);
  EXPECT_TRUE(app_has_a_job());
}

TEST_F(Waking, an_edit_elsewhere_does_not_forget_who_waits) {
  publish_to(deployment, "v1", "version.tag == 'v1'");
  must(
      UpsertEnvironment{.id = environment, .name = "env", .description = "new", .resource_selector = "true"});
  drain();
  EXPECT_EQ(woken_by_success(), 2u);
  EXPECT_TRUE(app_has_a_job());
}

TEST_F(Waking, who_waits_is_known_after_a_reload) {
  publish_to(deployment, "v1", "version.tag == 'v1'");
  reload();
  drain();
  EXPECT_EQ(woken_by_success(), 2u);
  EXPECT_TRUE(app_has_a_job());
}

}  // namespace
}  // namespace ctrlplane
