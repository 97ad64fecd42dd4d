// The state machine of bracket groups as a table: every state, every event.
#include "engine/brackets.h"

#include <gtest/gtest.h>

#include <fmt/core.h>

#include "engine/testing.h"

namespace ctrlplane {
namespace {

using testing::World;

// One node with drain, kubelet and uncordon, all of which run v1; a bracket with a window of a minute; a
// limit.
class Node : public World {
 public:
  Node() {
    one_target();
    drain_ = deployment;
    kubelet = declare("kubelet");
    uncordon = declare("uncordon");
    must(UpsertDeployment{
        .id = drain_, .name = "drain", .resource_selector = "true", .agent_selector = "true"});
    for (DeploymentId d : {drain_, kubelet, uncordon}) v1[d] = make(d, "v1");
    finish_all(JobStatus::kSuccessful);
    set_bracket();
    set_limit(1);
  }

  VersionId make(DeploymentId d, const std::string& tag) {
    now = now + seconds(1);
    VersionId v{must(CreateVersion{.deployment = d, .tag = tag})};
    drain();
    return v;
  }
  void set_limit(int n) {
    UpsertPolicy c{.id = limit_, .name = "limit", .selector = "true"};
    c.rules = {rule("resourceConcurrency",
                    fmt::format(R"({{"groupSelector":"true","limitType":"count","limitValue":{}}})", n))};
    limit_ = PolicyId{must(c)};
    drain();
  }
  void remove_bracket() {
    must(DeletePolicy{*bracket_});
    drain();
  }
  void finish_all(JobStatus status) {
    for (Reply r = claim(); r && r->job; r = claim()) (void)report(r->job->id, status);
  }
  Reply act(GroupAction a, std::optional<DeploymentId> d = {}, bool post = false) {
    Reply r = run(ActOnGroup{.group = group, .action = a, .deployment = d, .run_post_hooks = post});
    drain();
    return r;
  }
  // As the rows say, also of a group that has left memory.
  BracketGroup stored(GroupId id) const {
    BracketGroup found;
    rows.each<BracketGroup>([&](const BracketGroup& g) {
      if (g.id == id) found = g;
    });
    return found;
  }
  GroupId newest() const {
    BracketGroup found;
    rows.each<BracketGroup>([&](const BracketGroup& g) {
      if (std::pair(g.created_at, g.id) > std::pair(found.created_at, found.id)) found = g;
    });
    return found.id;
  }

  GroupId group;
  DeploymentId drain_, kubelet, uncordon;
  std::map<DeploymentId, VersionId> v1;
  VersionId wanted;

 private:
  DeploymentId declare(const std::string& name) {
    UpsertDeployment c{.name = name, .resource_selector = "true", .agent_selector = "true"};
    DeploymentId d{must(c)};
    must(LinkDeployment{system, d});
    drain();
    return d;
  }
  static UpsertPolicy::RuleInput rule(std::string type, const std::string& body) {
    return {{}, std::move(type), *Json::parse_object(body), ""};
  }
  void set_bracket() {
    UpsertPolicy c{.name = "bracket", .selector = "true"};
    c.rules = {rule("deploymentBracket",
                    R"({"deploymentSelector":"true","readinessWindowSeconds":60,"stuckTimeoutSeconds":3600,)"
                    R"("preHookSelector":"deployment.name == 'drain'",)"
                    R"("postHookSelector":"deployment.name == 'uncordon'"})")};
    bracket_ = PolicyId{must(c)};
    drain();
  }
  std::optional<PolicyId> bracket_, limit_;
};

using Do = std::function<bool(Node&)>;  // false: it was refused

bool done(const Reply& r) { return r.has_value(); }

const std::vector<std::pair<std::string, Do>> kStates = {
    {"collecting",
     [](Node& n) {
       n.wanted = n.make(n.kubelet, "v2");
       n.group = n.newest();
       return true;
     }},
    {"ready",
     [](Node& n) {
       n.set_limit(0);
       n.wanted = n.make(n.kubelet, "v2");
       n.group = n.newest();
       n.pass(minutes(1));
       return true;
     }},
    {"queued",
     [](Node& n) {
       n.make(n.kubelet, "v2");
       n.pass(minutes(1));
       n.wanted = n.make(n.kubelet, "v3");
       n.group = n.newest();
       n.pass(minutes(1));
       return true;
     }},
    {"executing",
     [](Node& n) {
       n.wanted = n.make(n.kubelet, "v2");
       n.group = n.newest();
       n.pass(minutes(1));
       return true;
     }},
    {"stuck",
     [](Node& n) {
       n.wanted = n.make(n.kubelet, "v2");
       n.group = n.newest();
       n.pass(minutes(1));
       (void)n.finish(JobStatus::kFailure);
       return true;
     }},
    {"completed",
     [](Node& n) {
       n.wanted = n.make(n.kubelet, "v2");
       n.group = n.newest();
       n.pass(minutes(1));
       n.finish_all(JobStatus::kSuccessful);
       return true;
     }},
    {"failed",
     [](Node& n) {
       n.wanted = n.make(n.kubelet, "v2");
       n.group = n.newest();
       n.pass(minutes(1));
       return done(n.act(GroupAction::kAbort));
     }},
    {"cancelled",
     [](Node& n) {
       n.wanted = n.make(n.kubelet, "v2");
       n.group = n.newest();
       n.set_status(n.wanted, VersionStatus::kRejected);
       return true;
     }},
};

const std::vector<std::pair<std::string, Do>> kEvents = {
    {"close now", [](Node& n) { return done(n.act(GroupAction::kCloseNow)); }},
    {"retry", [](Node& n) { return done(n.act(GroupAction::kRetry)); }},
    {"skip the work", [](Node& n) { return done(n.act(GroupAction::kSkipMember, n.kubelet)); }},
    {"finish", [](Node& n) { return done(n.act(GroupAction::kFinish)); }},
    {"abort", [](Node& n) { return done(n.act(GroupAction::kAbort)); }},
    {"abort and close", [](Node& n) { return done(n.act(GroupAction::kAbort, {}, true)); }},
    {"clear", [](Node& n) { return done(n.act(GroupAction::kClearQuarantine)); }},
    {"a minute", [](Node& n) { return n.pass(minutes(1)), true; }},
    {"an hour", [](Node& n) { return n.pass(hours(1)), true; }},
    {"a slot", [](Node& n) { return n.set_limit(2), true; }},
    {"one job succeeds", [](Node& n) { return n.finish(JobStatus::kSuccessful), true; }},
    {"one job fails", [](Node& n) { return n.finish(JobStatus::kFailure), true; }},
    {"all jobs succeed", [](Node& n) { return n.finish_all(JobStatus::kSuccessful), true; }},
    {"the version is rejected",
     [](Node& n) { return n.set_status(n.wanted, VersionStatus::kRejected), true; }},
    {"the rule goes", [](Node& n) { return n.remove_bracket(), true; }},
    {"the resource goes", [](Node& n) { return n.must(DeleteResource{"host"}), n.drain(), true; }},
};

// By state: what each event of kEvents makes of it. `-`: refused; empty: it cannot happen.
const std::map<std::string, std::vector<std::string>> kTable = {
    {"collecting",
     {"executing", "-", "-", "-", "-", "-", "-", "executing", "executing", "collecting", "", "", "collecting",
      "cancelled", "cancelled", "cancelled"}},
    {"ready",
     {"-", "-", "cancelled", "-", "cancelled", "cancelled", "-", "ready", "ready", "executing", "", "",
      "ready", "cancelled", "cancelled", "cancelled"}},
    {"queued",
     {"-", "-", "cancelled", "-", "cancelled", "cancelled", "-", "queued", "queued", "queued", "queued",
      "queued", "completed", "cancelled", "cancelled", "cancelled"}},
    {"executing",
     {"-", "-", "executing", "executing", "failed", "executing", "-", "executing", "executing", "executing",
      "executing", "stuck", "completed", "stuck", "executing", "cancelled"}},
    {"stuck",
     {"-", "executing", "stuck", "stuck", "failed", "executing", "-", "stuck", "failed", "stuck", "", "",
      "stuck", "stuck", "stuck", "cancelled"}},
    {"completed",
     {"-", "-", "-", "-", "-", "-", "-", "completed", "completed", "completed", "", "", "completed",
      "completed", "completed", "completed"}},
    {"failed",
     {"-", "-", "-", "-", "-", "-", "failed", "failed", "failed", "failed", "", "", "failed", "failed",
      "failed", "failed"}},
    {"cancelled",
     {"-", "-", "-", "-", "-", "-", "-", "cancelled", "cancelled", "cancelled", "", "", "cancelled",
      "cancelled", "cancelled", "cancelled"}},
};

TEST(BracketGroups, go_from_state_to_state_as_the_table_says) {
  for (const auto& [state, reach] : kStates)
    for (size_t i = 0; i < kEvents.size(); ++i) {
      const std::string& expected = kTable.at(state).at(i);
      if (expected.empty()) continue;
      Node node;
      ASSERT_TRUE(reach(node));
      ASSERT_EQ(to_string(node.stored(node.group).status), state);
      const bool accepted = kEvents[i].second(node);
      const auto now = to_string(node.stored(node.group).status);
      EXPECT_EQ(accepted ? now : "-", expected) << state << ", " << kEvents[i].first;
      EXPECT_TRUE(accepted || now == state) << "refused, but changed: " << kEvents[i].first;
    }
}

// A workspace that is loaded again goes on where it was, from any state.
TEST(BracketGroups, survive_a_reload_in_every_state) {
  for (const auto& [state, reach] : kStates) {
    Node node;
    ASSERT_TRUE(reach(node));
    const BracketGroup before = node.stored(node.group);
    node.reload();
    node.drain();
    EXPECT_EQ(node.stored(node.group), before) << state;
  }
}

}  // namespace
}  // namespace ctrlplane
