#include "verbs.h"

#include "base/digest.h"

namespace ctrlplane::scenario {
namespace {

using Verb = Output (*)(Call&);

// `with key K: <command>`: the same request sent again is answered as it was.
Output with_key(Call& call) {
  TRY(call.words.must("key"));
  std::string key = TRY(call.words.label("key"));
  std::string command = call.words.rest();
  Call inner{call.world, Words(command), call.actor, Idempotency{digest_of(key), digest_of(command)}};
  return run(inner);
}

// `as alice: <command>`
Output as_actor(Call& call) {
  call.actor = TRY(call.words.label("name"));
  return run(call);
}

// `refused 409 [frozen] "part of the message" : <command>`; with the code the part may be left out.
Output refused(Call& call) {
  int64_t status = TRY(call.words.number("a status"));
  const bool frozen = call.words.take("frozen");
  std::string part;
  if (!frozen || !call.words.take(":")) {
    part = TRY(call.words.next("part of the message"));
    TRY(call.words.must(":"));
  }
  Output output = run(call);
  if (output) return fail(ErrorCode::kInternal, fmt::format("was not refused, but answered: {}", *output));
  const Error& e = output.error();
  const bool as_said = http_status(e.code) == status && (!frozen || e.code == ErrorCode::kFrozen);
  if (as_said && e.message.find(part) != std::string::npos) return "";
  return fail(ErrorCode::kInternal,
              fmt::format("refused otherwise: {} {}: {}", http_status(e.code), to_string(e.code), e.message));
}

constexpr std::pair<std::string_view, Verb> kVerbs[] = {
    {"system", declare_system},
    {"environment", declare_environment},
    {"deployment", declare_deployment},
    {"agent", declare_agent},
    {"resource", declare_resource},
    {"provider", declare_provider},
    {"channel", declare_channel},
    {"set", set_provider},
    {"link", link},
    {"unlink", unlink},
    {"delete", remove},
    {"publish", publish},
    {"version", set_status},
    {"claim", claim_job},
    {"report", report_job},
    {"heartbeat", beat_heart},
    {"run", run_all},
    {"cancel", cancel_job},
    {"decide", decide},
    {"redeploy", redeploy},
    {"receiver", set_receiver},
    {"policy", declare_policy},
    {"approve", approve},
    {"reject", reject},
    {"skip", skip_rule},
    {"end", end_skip},
    {"depend", depend},
    {"undepend", undepend},
    {"force", force},
    {"clear", clear},
    {"freeze", freeze},
    {"thaw", thaw},
    {"extend", change_freeze},
    {"change", change_freeze},
    {"retry", retry_group},
    {"abort", abort_group},
    {"finish", finish_group},
    {"close", close_group},
    {"at", at_instant},
    {"after", after},
    {"clock", step_clock},
    {"restart", restart},
    {"lose", lose},
    {"delay", delay},
    {"land", land},
    {"with", with_key},
    {"as", as_actor},
    {"refused", refused},
    {"show", show},
    {"expect", expect},
};

}  // namespace

Reply Call::send(Command command) { return world.send({std::move(command), actor, key}); }

Output run(Call& call) {
  std::string word = TRY(call.words.next("a verb"));
  for (const auto& [name, verb] : kVerbs)
    if (name == word) return verb(call);
  return mistake(fmt::format("there is no verb '{}'", word));
}

Output run_step(World& world, const std::string& text) {
  Call call{world, Words(text)};
  std::string output = TRY(run(call));
  TRY(call.words.end());
  return output;
}

std::string outcome(const Answer& answer) {
  return answer.replayed ? "replayed\n" : answer.created ? "created\n" : "updated\n";
}

Result<TargetKey> read_target(Call& call) {
  std::string deployment = TRY(call.words.next("a deployment"));
  TRY(call.words.must("on"));
  std::string place = TRY(call.words.next("environment/resource"));
  size_t slash = place.find('/');
  if (slash == std::string::npos) return mistake(fmt::format("'{}' is not environment/resource", place));
  return call.world.names.target(deployment, place.substr(0, slash), place.substr(slash + 1));
}

Result<Job> read_job(Call& call) {
  if (call.words.take("unknown")) return Job{.id = call.world.names.id<JobId>("unknown")};
  TargetKey key = TRY(read_target(call));
  const std::string target = call.world.names.of(key);
  std::string version, agent;
  if (call.words.take("of")) version = TRY(call.words.next("a version"));
  if (call.words.take("via")) agent = TRY(call.words.next("an agent"));
  std::vector<Job> jobs = call.world.jobs();
  // By name: a target whose resource was made anew has another key and the same name.
  std::erase_if(jobs, [&](const Job& j) {
    return call.world.names.of(j.target) != target ||
           (!version.empty() && call.world.names.tag(j.version) != version) ||
           (!agent.empty() && call.world.names.of(j.agent) != agent);
  });
  if (jobs.empty()) return mistake(fmt::format("there is no job {}", target));
  std::vector<Job> live;
  std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(live),
               [](const Job& j) { return !is_terminal(j.status); });
  if (live.size() > 1)
    return mistake(fmt::format("{} jobs {} are active: say 'of' or 'via'", live.size(), target));
  return live.empty() ? jobs.back() : live.front();
}

Result<Json> read_json(const std::string& text) {
  auto json = Json::parse_object(text);
  if (!json) return mistake(json.error().message);
  return *json;
}

}  // namespace ctrlplane::scenario
