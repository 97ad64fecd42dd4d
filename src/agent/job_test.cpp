#include "agent/job.h"

#include <gtest/gtest.h>

namespace ctrlplane::agent {
namespace {

constexpr std::string_view kJob = R"({
  "id": "j1", "createdAt": "2026-01-01T00:00:00Z", "status": "queued",
  "dispatchContext": {
    "deployment": {"id": "d1", "name": "Web Shop", "slug": "web-shop"},
    "environment": {"id": "e1", "name": "prod"},
    "resource": {"id": "r1", "identifier": "c/one", "name": "one", "kind": "Cluster",
                 "metadata": {"region": "eu", "tier": "gold"}},
    "version": {"id": "v1", "tag": "1.2.3", "name": "first"},
    "jobAgentConfig": {"timeout": 1.50},
    "variables": {"log-level": "debug", "replicas": 3, "flags": {"a": [1.0]}, "off": null}
  }})";

PulledJob job_from(std::string_view text) { return job_of(JsonView::parse(text).value()).value(); }

bool has(const std::vector<std::string>& environment, std::string_view entry) {
  return std::ranges::find(environment, entry) != environment.end();
}

TEST(PulledJob, keeps_the_context_as_the_server_wrote_it) {
  PulledJob job = job_from(kJob);
  EXPECT_EQ(job.id, "j1");
  EXPECT_EQ(job.created_at, "2026-01-01T00:00:00Z");
  EXPECT_EQ(job.config, R"({"timeout": 1.50})");
  EXPECT_NE(kJob.find(job.context), std::string_view::npos);
}

TEST(PulledJob, may_lack_everything_but_its_id) {
  PulledJob job = job_from(R"({"id":"j2","jobAgentConfig":{"a":1}})");
  EXPECT_EQ(job.context, "{}");
  EXPECT_EQ(job.config, R"({"a":1})");
  for (std::string_view text :
       {"{}", "[]", R"({"id":""})", R"({"id":7})", R"({"id":"j","dispatchContext":[1]})"})
    EXPECT_FALSE(job_of(JsonView::parse(text).value())) << text;
}

TEST(Selector, compares_metadata_and_names) {
  PulledJob job = job_from(kJob);
  EXPECT_TRUE(matches({}, job));
  EXPECT_TRUE(matches({{"region", "eu"}, {"tier", "gold"}}, job));
  EXPECT_FALSE(matches({{"region", "eu"}, {"tier", "silver"}}, job));
  EXPECT_FALSE(matches({{"absent", ""}}, job));
  EXPECT_TRUE(matches({{"kind", "Cluster"}, {"environment", "prod"}, {"deployment", "web-shop"}}, job));
  EXPECT_TRUE(matches({{"environment", "e1"}, {"deployment", "Web Shop"}}, job));
  EXPECT_FALSE(matches({{"environment", "Prod"}}, job));
  EXPECT_FALSE(matches({{"kind", "Cluster"}}, job_from(R"({"id":"j2"})")));
}

TEST(JobEnvironment, describes_the_job) {
  auto environment = environment_of(job_from(kJob));
  for (std::string_view entry :
       {"CTRLPLANE_JOB_ID=j1", "CTRLPLANE_CONFIG={\"timeout\": 1.50}", "CTRLPLANE_DEPLOYMENT_NAME=Web Shop",
        "CTRLPLANE_DEPLOYMENT_ID=d1", "CTRLPLANE_ENVIRONMENT_NAME=prod", "CTRLPLANE_ENVIRONMENT_ID=e1",
        "CTRLPLANE_RESOURCE_IDENTIFIER=c/one", "CTRLPLANE_RESOURCE_NAME=one",
        "CTRLPLANE_RESOURCE_KIND=Cluster", "CTRLPLANE_RESOURCE_ID=r1", "CTRLPLANE_VERSION_TAG=1.2.3",
        "CTRLPLANE_VERSION_ID=v1", "CTRLPLANE_VERSION_NAME=first", "CTRLPLANE_VARIABLE_LOG_LEVEL=debug",
        "CTRLPLANE_VARIABLE_REPLICAS=3", "CTRLPLANE_VARIABLE_FLAGS={\"a\": [1.0]}",
        "CTRLPLANE_VARIABLE_OFF="})
    EXPECT_TRUE(has(environment, entry)) << entry;
}

TEST(JobEnvironment, leaves_out_what_no_environment_can_hold) {
  std::string huge(200'000, 'x');
  auto environment = environment_of(job_from(R"({"id":"j","dispatchContext":{"variables":{"huge":")" + huge +
                                             R"(","nul":"a\u0000b","ok":"fine"}}})"));
  EXPECT_TRUE(has(environment, "CTRLPLANE_VARIABLE_OK=fine"));
  for (const std::string& entry : environment) {
    EXPECT_FALSE(entry.starts_with("CTRLPLANE_VARIABLE_HUGE")) << entry.size();
    EXPECT_FALSE(entry.starts_with("CTRLPLANE_VARIABLE_NUL"));
  }
}

TEST(JobEnvironment, does_not_pass_on_the_key_whatever_it_is_called) {
  const char* const all[] = {"PATH=/bin", "CTRLPLANE_API_KEY=secret", "TOKEN=Bearer secret", "HOME=x",
                             nullptr};
  EXPECT_EQ(inherited_environment(all, "secret"), (std::vector<std::string>{"PATH=/bin", "HOME=x"}));
  EXPECT_EQ(inherited_environment(all, "").size(), 3u);
  EXPECT_TRUE(inherited_environment(nullptr, "x").empty());
}

}  // namespace
}  // namespace ctrlplane::agent
