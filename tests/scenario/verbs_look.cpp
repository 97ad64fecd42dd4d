#include "describe.h"
#include "verbs.h"

namespace ctrlplane::scenario {
namespace {

Result<std::string> of_deployment(Call& call) {
  if (!call.words.take("of")) return std::string();
  return call.words.next("a deployment");
}

// Are the next words those of one bracket group?
bool speaks_of_group(const Call& call) {
  for (std::string_view words : {"group", "first group", "second group", "third group", "last group"})
    if (Words ahead = call.words; ahead.take(words)) return true;
  return false;
}

Output check(std::string_view what, const std::string& is, const std::string& expected) {
  if (is == expected) return "";
  return fail(ErrorCode::kInternal, fmt::format("{} is {}, not {}", what, is, expected));
}

// `expect job <job> is pending [saying "text"]`
Output expect_job(Call& call) {
  Job job = TRY(read_job(call));
  TRY(call.words.must("is"));
  std::string status = TRY(call.words.next("a status"));
  std::string name = "job " + call.world.names.of(job.target);
  TRY(check(name, std::string(to_string(job.status)), status));
  if (!call.words.take("saying")) return "";
  std::string part = TRY(call.words.next("part of the message"));
  if (job.message.find(part) != std::string::npos) return "";
  return fail(ErrorCode::kInternal, fmt::format("{} says: {}", name, job.message));
}

// `expect current api on prod/node-1 is v1`, `expect desired ... is nothing`
Output expect_version(Call& call, bool current) {
  TargetKey key = TRY(read_target(call));
  TRY(call.words.must("is"));
  std::string expected = TRY(call.words.next("a tag"));
  const State& state = call.world.state();
  std::string is = "nothing";
  if (TargetIx t = state.target(key))
    if (VersionIx v = current ? state.at(t).current_version : state.at(t).desired_version)
      is = state.versions[v].row.tag;
  return check(fmt::format("{} version of {}", current ? "current" : "desired", call.world.names.of(key)), is,
               expected);
}

Output expect_nothing_pending(Call& call) {
  for (const Job& job : call.world.jobs())
    if (job.status == JobStatus::kPending)
      return fail(ErrorCode::kInternal, fmt::format("{} is pending", call.world.names.of(job.target)));
  return "";
}

// `expect 3 targets`, `expect 2 [failure] jobs [of api]`, `expect 2 [stuck] groups [on node-1]`, `expect 2
// resources at work at most`
Output expect_count(Call& call) {
  int64_t expected = TRY(call.words.number("job, current, desired, nothing or a number"));
  if (call.words.take("targets"))
    return check("number of targets", std::to_string(call.world.state().target_count()),
                 std::to_string(expected));
  if (call.words.take("resources")) return expect_at_work(call, expected);
  if (call.words.take("groups")) return expect_groups(call, expected, std::nullopt);
  std::optional<JobStatus> status;
  if (!call.words.take("jobs")) {
    const std::string word = TRY(call.words.next("a status"));
    status = parse_enum<JobStatus>(word);
    if (!status || !call.words.take("jobs")) {
      const auto of_groups = parse_enum<GroupStatus>(word);
      if (!of_groups) return mistake(fmt::format("'{}' is no status", word));
      TRY(call.words.must("groups"));
      return expect_groups(call, expected, of_groups);
    }
  }
  std::string deployment = TRY(of_deployment(call));
  int64_t is = 0;
  for (const Job& job : call.world.jobs())
    is += (deployment.empty() || call.world.names.of(job.target.deployment) == deployment) &&
          (!status || job.status == *status);
  return check("number of jobs", std::to_string(is), std::to_string(expected));
}

// `show scope api v2`
Output show_scope(Call& call) {
  const State& state = call.world.state();
  const DeploymentIx d = state.deployment_named(TRY(call.words.next("a deployment")));
  if (!d) return mistake("there is no such deployment");
  return describe_scope(call.world, state.version_tagged(d, TRY(call.words.next("a tag"))));
}

}  // namespace

Output show(Call& call) {
  World& world = call.world;
  if (speaks_of_group(call)) return show_group(call);
  std::string what = TRY(call.words.next("what to show"));
  if (what == "context") {
    TRY(call.words.must("of"));
    return describe_context(world, TRY(read_job(call)));
  }
  if (what == "scope") return show_scope(call);
  if (what == "why") return describe_why(world, TRY(read_target(call)));
  if (what == "freezes") return show_freezes(call);
  if (what == "history") return show_history(call);
  if (what == "impact") return show_impact(call);
  if (what == "groups") return show_groups(call);
  if (what == "policies") return describe_policies(world);
  if (what == "outbox") return describe_outbox(world);
  if (what == "deliveries") return describe_deliveries(world);
  if (what == "audit") return describe_audit(world);
  std::string deployment = TRY(of_deployment(call));
  if (what == "targets") return describe_targets(world, world.state(), deployment);
  if (what == "jobs") return describe_jobs(world, deployment);
  if (what == "versions") return describe_versions(world, deployment);
  return mistake(fmt::format("'{}' cannot be shown", what));
}

Output expect(Call& call) {
  if (call.words.take("job")) return expect_job(call);
  if (call.words.take("current")) return expect_version(call, true);
  if (call.words.take("desired")) return expect_version(call, false);
  if (call.words.take("nothing pending")) return expect_nothing_pending(call);
  if (call.words.take("frozen")) return expect_frozen(call, true);
  if (call.words.take("not frozen")) return expect_frozen(call, false);
  if (call.words.take("freeze")) return expect_freeze(call);
  if (call.words.take("event")) return expect_event(call);
  if (call.words.take("member")) return expect_member(call);
  if (call.words.take("no group")) return expect_no_group(call);
  if (call.words.take("slots:") || call.words.take("slots")) return expect_slots(call);
  if (call.words.take("waiting:") || call.words.take("waiting")) return expect_waiting(call);
  if (speaks_of_group(call)) return expect_group(call);
  return expect_count(call);
}

}  // namespace ctrlplane::scenario
