// The words a scenario is written in. A verb is one function and one line in the table of verbs.cpp: it
// reads the rest of its line, acts on the world, and returns what there is to print.
//
// An Error is the product's refusal, passed on as it is (so that `refused 409 ...:` can look at it), or
// kInternal: a mistake in the file, or an expectation that does not hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "words.h"
#include "world.h"

namespace ctrlplane::scenario {

struct Call {
  World& world;
  Words words;
  std::string actor = "system";
  std::optional<Idempotency> key = {};

  // Sends the command as this call's actor, with its key.
  Reply send(Command command);
};

using Output = Result<std::string>;

// Runs one step: finds its verb and calls it. Nothing of the line may be left over.
Output run_step(World& world, const std::string& text);
Output run(Call& call);

// `created`, `updated` or `replayed`.
std::string outcome(const Answer& answer);

// `api on prod/node-1`
Result<TargetKey> read_target(Call& call);
// `api on prod/node-1 [of v1] [via runner]`: the live one, else the one made last. `unknown` is a job
// that never was.
Result<Job> read_job(Call& call);
template <class E>
Result<E> read_word(Call& call, std::string_view what) {
  std::string word = TRY(call.words.next(what));
  if (auto value = parse_enum<E>(word)) return *value;
  return mistake(fmt::format("'{}' is no {}", word, what));
}
Result<Json> read_json(const std::string& text);

// verbs_declare.cpp: what people and CI declare
Output declare_system(Call& call);
Output declare_environment(Call& call);
Output declare_deployment(Call& call);
Output declare_agent(Call& call);
Output declare_resource(Call& call);
Output declare_provider(Call& call);
Output declare_channel(Call& call);
Output set_provider(Call& call);
Output link(Call& call);
Output unlink(Call& call);
Output remove(Call& call);
Output publish(Call& call);
Output set_status(Call& call);

// verbs_agents.cpp: what agents and the people beside them do
Output claim_job(Call& call);
Output report_job(Call& call);
Output beat_heart(Call& call);
Output run_all(Call& call);
Output cancel_job(Call& call);
Output decide(Call& call);
Output redeploy(Call& call);
Output set_receiver(Call& call);

// verbs_policy.cpp: policies, and what people say about versions under them
Output declare_policy(Call& call);
Output approve(Call& call);
Output reject(Call& call);
Output skip_rule(Call& call);
Output end_skip(Call& call);
Output depend(Call& call);
Output undepend(Call& call);
Output force(Call& call);
Output clear(Call& call);

// verbs_freeze.cpp: freezes
Output freeze(Call& call);
Output thaw(Call& call);
Output change_freeze(Call& call);
// What `publish` says about freezes.
Status read_bypass(Call& call, CreateVersion& c);
Output show_freezes(Call& call);
Output show_history(Call& call);
Output show_impact(Call& call);
Output expect_frozen(Call& call, bool frozen);
Output expect_freeze(Call& call);
Output expect_event(Call& call);

// verbs_brackets.cpp: bracket groups and slots
Output retry_group(Call& call);
Output skip_member(Call& call);
Output abort_group(Call& call);
Output finish_group(Call& call);
Output close_group(Call& call);
Output clear_quarantine(Call& call);
Output show_group(Call& call);
Output show_groups(Call& call);
Output expect_group(Call& call);
Output expect_member(Call& call);
Output expect_no_group(Call& call);
Output expect_groups(Call& call, int64_t expected, std::optional<GroupStatus> status);
Output expect_slots(Call& call);
Output expect_waiting(Call& call);
Output expect_at_work(Call& call, int64_t expected);
// What `policy .. ranking node-3 at 1` asks for.
Result<RuleId> rule_id_that_ranks(const World& world, const std::string& resource, int64_t position);

// verbs_time.cpp: time and trouble
Output at_instant(Call& call);
Output after(Call& call);
Output step_clock(Call& call);
Output restart(Call& call);
Output lose(Call& call);
Output delay(Call& call);
Output land(Call& call);

// verbs_look.cpp
Output show(Call& call);
Output expect(Call& call);

}  // namespace ctrlplane::scenario
