// What stands at the other end of a push channel, played by the scenario. It lives outside the owner: a
// restart changes nothing here.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "runtime/outbox_pump.h"

namespace ctrlplane::scenario {

class ScriptedReceiver final : public Receiver {
 public:
  enum class Mood : uint8_t {
    kAccepts,
    kAcceptsSlowly,      // takes it at once, answers after kSlow
    kRejects,            // hears it and will never take it
    kRefusesConnection,  // certainly hears nothing
    kLosesTheAnswer,     // takes it, but the sender never hears of that
    kLosesTheMessage,    // does not hear of it, and neither does the sender
  };

  // How long the sender waits for an answer.
  static constexpr Duration kPatience = seconds(30);
  static constexpr Duration kSlow = seconds(10);

  ScriptedReceiver(Executor& executor, std::string channel)
      : executor_(executor), channel_(std::move(channel)) {}

  Mood mood = Mood::kAccepts;

  struct Message {
    OutboxKind kind;
    SendMode mode;
    std::optional<JobId> job;
    std::string payload;
  };
  // Everything that arrived, oldest first.
  const std::vector<Message>& heard() const { return heard_; }
  const std::string& channel() const { return channel_; }

  void deliver(const SendPermit& permit,
               std::move_only_function<void(SendOutcome, std::string)> done) override;

 private:
  Executor& executor_;
  std::string channel_;
  std::vector<Message> heard_;
  std::set<JobId> taken_;
};

}  // namespace ctrlplane::scenario
