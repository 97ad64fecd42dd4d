// Nodes of a cluster and the five deployments that upgrade them: drain, then os-patch, then kubelet and
// containerd side by side, then uncordon; so many nodes at a time and no more. Agents on virtual time do the
// jobs, each for as long as chance has it, and keep count of what they were asked for.
#pragma once

#include <array>
#include <queue>
#include <set>
#include <string_view>
#include <vector>

#include "bench/harness.h"

namespace ctrlplane::bench {

enum class Member : uint8_t { kDrain, kOsPatch, kKubelet, kContainerd, kUncordon };
inline constexpr size_t kMembers = 5;

enum class Stage : uint8_t {
  kDeclare,  // nodes, deployments, an agent
  kFirst,    // the first version of each member, without any rule: what the same jobs cost bare
  kPolicy,   // bracket, order and limit are declared
  kCollect,  // three of the five have a new version: a group opens on each node
  kLock,     // the windows close, the first groups start
  kUpgrade,  // agents do the rest
};
inline constexpr size_t kStages = 6;
std::string_view name_of(Stage s);

// One thing an agent does.
struct Act {
  enum class Kind : uint8_t { kClaim, kBegin, kEnd };
  Time at;
  uint64_t order = 0;
  Kind kind = Kind::kClaim;
  size_t worker = 0;
  JobId job = {};
  Member member = {};
  ResourceId node = {};
  bool operator<(const Act& o) const { return std::tie(at, order) > std::tie(o.at, o.order); }
};
inline constexpr size_t kActs = 3;

struct Tally {
  std::array<size_t, kActs> acts{};  // that were answered, by kind
  size_t jobs = 0, drains = 0;       // that ended
  size_t most_holders = 0;           // of slots at a time, by the rows
  size_t most_out = 0;               // nodes between the begin of a drain and the end of an uncordon
  size_t events() const { return acts[0] + acts[1] + acts[2]; }
};

class Crew {
 public:
  void serve(AgentId agent, const std::array<DeploymentId, kMembers>& members);

  // Rows that were changed, in order: a new job has somebody ask for one soon.
  void look(const Changes& changes, Time now);
  const Act* next() const { return acts_.empty() ? nullptr : &acts_.top(); }
  Act take();
  Command command_for(const Act& act) const;
  void answered(const Act& act, const Reply& reply, Time now);

  // Counts from here.
  void count_anew();
  Tally tally;

 private:
  void plan(Time at, Act act);
  Duration some(Duration least, Duration most);
  Member member_of(const Job& job) const;

  AgentId agent_;
  std::array<DeploymentId, kMembers> members_;
  std::priority_queue<Act> acts_;
  std::vector<size_t> free_;  // workers
  size_t workers_ = 0;
  uint64_t order_ = 0, chance_ = 0;
  std::set<std::pair<RuleId, ResourceId>> holders_;
  std::set<ResourceId> out_;
};

// Who runs commands: the engine alone, or a loop with a store behind it.
class Runner {
 public:
  struct Spent {
    double wall = 0, cpu = 0;  // seconds; cpu of the calling thread
    int64_t resident = 0;      // bytes of the process at the end of it
  };
  virtual ~Runner() = default;

  Crew crew;
  std::array<Spent, kStages> spent{};
  const Spent& of(Stage s) const { return spent[static_cast<size_t>(s)]; }

  // Returns when the command is done.
  virtual Answer call(Command command) = 0;
  // Time goes on; returns when nothing is left to do.
  virtual void pass(Duration d) = 0;
  // Until no agent has anything to do.
  virtual void work() = 0;
  virtual void begins(Stage) {}
};

struct Sizes {
  size_t nodes = 0;
  int64_t percent = 0;
  size_t slots() const { return (nodes * static_cast<size_t>(percent) + 99) / 100; }
};
// All stages; what it took is with the runner then.
void upgrade(Runner& runner, const Sizes& sizes);

}  // namespace ctrlplane::bench
