// One workspace on virtual time: a store, the loop that owns it, the outbox pump and the receivers it
// sends to. Commands go the way the API's will: into the loop, answered when durable.
//
// No replica and so no beats: the loop's ownership is never in question here; that is the simulator's
// field. A restart throws everything of the owner away, opens the store again and acquires.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../store/stores_under_test.h"
#include "names.h"
#include "receiver.h"
#include "runtime/inline_store_port.h"
#include "runtime/outbox_pump.h"
#include "runtime/virtual_time.h"
#include "runtime/workspace_loop.h"
#include "store/sim/faulty_store.h"

namespace ctrlplane::scenario {

class World {
 public:
  // "sim", "sqlite" or "postgres".
  explicit World(const std::string& store_kind);
  ~World();

  // Submits, lets everything run that is due at this instant, and returns the reply. A command then
  // takes a millisecond, so that what is written later is later. kInternal if no answer came.
  Reply send(Request request);
  // Lets time pass; everything due on the way happens at its time.
  void pass(Duration d);
  Duration since_start() const { return time_.now(); }
  void step_clock(Duration by) { executor_->step_wall(by); }
  Time now() const { return executor_->clock().wall(); }
  // `day 2 09:30:00`, to the second below.
  static std::string day_of(Time t);
  Time wall_at(Duration since_start) const { return kDayOne + since_start; }

  void restart();
  // The next commit meets this fate, and only that one.
  void fail_next_commit(store::Fault fault);
  // The commit that was held back reaches the store now.
  store::CommitOutcome land_late_commit();

  Names names;
  // What each agent instance believes to hold: claimed and not yet reported on to the end.
  std::map<std::string, std::set<JobId>> held;

  const State& state() const;
  WorkspaceLoop& loop() { return *loop_; }
  ScriptedReceiver& receiver(const std::string& channel);
  const std::map<std::string, std::unique_ptr<ScriptedReceiver>>& receivers() const { return receivers_; }

  // Committed rows of a table, all of them, hot and cold.
  template <class E>
  std::vector<E> rows() {
    std::vector<E> out;
    for (Entity& e : read(store::table_for<E>())) out.push_back(std::get<E>(std::move(e)));
    return out;
  }
  // All jobs ever, in the order they were made; those of one instant by name.
  std::vector<Job> jobs();
  // A second state folded from what the store holds, beside the owner's.
  std::unique_ptr<State> state_from_store();

 private:
  static constexpr Time kDayOne{1704067200ll * 1000000};  // 2024-01-01T00:00:00Z, a Monday
  static constexpr WorkspaceId kWorkspace{{{0x5c}}};

  void open();
  void close();
  void settle();
  std::vector<Entity> read(const store::Table& table);
  Uuid fresh_uuid() { return random_.uuid(); }

  VirtualTime time_;
  std::unique_ptr<VirtualExecutor> executor_;
  std::unique_ptr<store::test::StoreUnderTest> place_;
  store::test::Random random_{1};
  std::map<std::string, std::unique_ptr<ScriptedReceiver>> receivers_;
  std::optional<store::Fault> next_fault_;

  // The owner: gone at a restart.
  std::unique_ptr<store::FaultyStore> store_;
  std::unique_ptr<InlineStorePort> port_;
  std::unique_ptr<OutboxPump> pump_;
  std::unique_ptr<WorkspaceLoop> loop_;
};

}  // namespace ctrlplane::scenario
