#include "receiver.h"

namespace ctrlplane::scenario {

void ScriptedReceiver::deliver(const SendPermit& permit,
                               std::move_only_function<void(SendOutcome, std::string)> done) {
  auto answer = [&](Duration after, SendOutcome outcome, std::string error = {}) {
    executor_.post_after(after, [done = std::move(done), outcome, error = std::move(error)]() mutable {
      done(outcome, std::move(error));
    });
  };
  if (mood == Mood::kRefusesConnection) return answer({0}, SendOutcome::kNotSent, "connection refused");
  if (mood == Mood::kLosesTheMessage) return answer(kPatience, SendOutcome::kInDoubt, "no answer");

  heard_.push_back({permit.item.kind, permit.mode, permit.item.job, permit.item.payload});
  if (mood == Mood::kRejects) return answer({0}, SendOutcome::kRejected, "not for us");
  std::optional<JobId> job = permit.item.job;
  bool has_it = job && taken_.contains(*job);
  if (job && permit.mode == SendMode::kSend && permit.item.kind == OutboxKind::kStart) taken_.insert(*job);
  if (mood == Mood::kLosesTheAnswer) return answer(kPatience, SendOutcome::kInDoubt, "no answer");
  Duration after = mood == Mood::kAcceptsSlowly ? kSlow : Duration{0};
  if (permit.mode == SendMode::kAsk && !has_it) return answer(after, SendOutcome::kNotSent, "not there");
  answer(after, SendOutcome::kAccepted);
}

}  // namespace ctrlplane::scenario
