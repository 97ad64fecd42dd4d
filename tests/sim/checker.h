// Looks at what was committed, what agents did and what clients were told, and nothing else: it knows
// none of the engine's code, so it cannot share its mistakes.
//
// Violations are counted by the promise they break (see the product's promises 1 to 7); 0 is for the rules:
// what a policy does not allow does not start, and what runs as a unit runs in order.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/fault_counts.h"
#include "sim/ledger.h"
#include "sim/rulebook.h"
#include "store/sim/sim_store.h"

namespace ctrlplane::sim {

struct Violation {
  int promise;
  std::string what;
};

class Checker {
 public:
  explicit Checker(const store::SimStore& store) : store_(store) {}

  // ---- Committed rows --------------------------------------------------------------------------------
  void committed(const store::Commit& commit, const store::Owner& owner);

  // ---- Agents: what really ran -----------------------------------------------------------------------
  void agent_received(WorkspaceId w, JobId job);
  void agent_started(WorkspaceId w, JobId job, const TargetKey& target, Time at);
  void agent_stopped(WorkspaceId w, JobId job, Time at);
  // An agent's heartbeat for this job was answered; by its own reckoning it holds it until then.
  void agent_holds_until(WorkspaceId w, JobId job, Duration until) { holds_until_[{w, job}] = until; }
  bool is_running(WorkspaceId w, JobId job) const { return running_.contains({w, job}); }
  // A claim of this job was refused because of this freeze.
  void refused_as_frozen(WorkspaceId w, JobId job, const std::string& freeze);

  // ---- Clients: what was told ------------------------------------------------------------------------
  // Asked for something whose row carries this unique name.
  void acknowledged(WorkspaceId w, const std::string& table, const std::string& name);
  void told_not_committed(WorkspaceId w, const std::string& table, const std::string& name);
  void told_exists(WorkspaceId w, const std::string& table, const std::string& name);
  // The answer to a freeze said that agents have these jobs of those it covers.
  void freeze_acknowledged(WorkspaceId w, FreezeId freeze, const std::set<JobId>& in_flight);
  // A read that began after `expected` had been acknowledged saw `seen`.
  void read(WorkspaceId w, const std::set<std::string>& expected, const std::set<std::string>& seen);

  // ---- At rest ---------------------------------------------------------------------------------------
  // After a long calm: nothing acknowledged is missing, nothing due was forgotten.
  void at_rest(WorkspaceId w, Time now);
  // Some time into the calm: whatever every rule has allowed for a while runs, was tried or is under way.
  // `now` is the time the workspace goes by.
  void nothing_is_forgotten(WorkspaceId w, Time now);

  void set_boot(Duration boot) { boot_ = boot; }
  const std::vector<Violation>& violations() const { return violations_; }
  uint64_t commits() const { return commits_; }
  uint64_t digest() const { return digest_; }
  Time last_now(WorkspaceId w) { return last_now_[w]; }
  const Ledger& ledger(WorkspaceId w) { return ledgers_[w]; }
  // What was judged: jobs, and how often each kind of rule had a say.
  const FaultCounts& judged() const { return judged_; }
  // What was looked at while something was frozen.
  const FaultCounts& frozen() const { return frozen_; }
  // What groups and limits did.
  const FaultCounts& bracketed() const { return bracketed_; }

 private:
  struct JobView {
    TargetKey target;
    ReleaseId release;
    VersionId version;
    JobStatus status;
    JobCause cause;
    int64_t created_seq;
    Time created_at;
    std::optional<Time> handed_over_at = {};
    bool fences_itself = false;
    bool stopped = false;  // by a freeze
    bool again = false;    // in the place of one that a freeze stopped, and a person had started
    std::string message = {};
    std::optional<Time> due = {};  // handed over + timeout
    std::optional<GroupId> group = {};
  };
  using JobKey = std::pair<WorkspaceId, JobId>;
  using Place = std::pair<WorkspaceId, TargetKey>;
  // Attempts of one release on a target, counted from the jobs.
  struct Chain {
    ReleaseId release;
    int64_t failures = 0;
    JobStatus last = JobStatus::kPending;
    Time ended;
    Time busy_since;  // and how many jobs were made since then
    int made = 0;
    std::set<VersionId> tried;  // whatever came of it
  };

  void violate(int promise, std::string what) { violations_.push_back({promise, std::move(what)}); }
  void check_before(const store::Commit& commit, const Entity& entity);
  void check_job(const store::Commit& commit, const Job& job);
  static bool was_given_up(const JobView& job);
  bool has_row(WorkspaceId w, const std::string& table, const std::string& name) const;

  // ---- Freezes (checker_freezes.cpp) -----------------------------------------------------------------
  struct InFlightJobs {
    std::set<JobId> covered;
    std::set<JobId> unclear;  // their targets are gone
  };
  void judge_barrier(WorkspaceId w, const Job& job, Time now, std::string_view what);
  bool is_again(WorkspaceId w, const Job& job) const;
  bool waits_again(WorkspaceId w, const Job& job);
  void judge_start(WorkspaceId w, const Job& job);
  void judge_hand_over(const store::Commit& commit, const Job& job);
  void judge_resumption(const Ledger& ledger, const Job& job, Time now);
  void judge_stop(WorkspaceId w, const Job& job);
  void check_freeze(const store::Commit& commit, const Freeze& row);
  void check_new_selector(const store::Commit& commit, const Freeze& before, const Freeze& row);
  void note_in_flight(WorkspaceId w, const Freeze& row);
  void check_freeze_event(WorkspaceId w, const FreezeEvent& event);
  void check_touched_freezes(WorkspaceId w);
  void note_stop(WorkspaceId w, const Job& job);
  std::set<VersionId> given_up_by_groups(WorkspaceId w, const TargetKey& target);
  void check_attempts(WorkspaceId w, const TargetState& row);
  void freezes_are_in_time(WorkspaceId w, Time now);
  void what_is_free_goes(WorkspaceId w, Time now);
  void nothing_is_held(WorkspaceId w, Time now);
  void goes_on(WorkspaceId w, const JobView& job, JobId id, Time now);

  // ---- Groups (checker_brackets.cpp) -----------------------------------------------------------------
  struct GroupView {
    std::set<DeploymentId> opened_with;  // whom the rows of that moment made its members
    std::set<RuleId> needed;             // slots, when it started
    std::optional<Time> handed_over;     // its first job
    std::map<DeploymentId, std::vector<JobId>> jobs;
  };
  using GroupKey = std::pair<WorkspaceId, GroupId>;
  // That a person did it is in the commit's audit entries.
  struct Deed {
    std::string action, subject, what;
  };
  void check_group(const store::Commit& commit, const BracketGroup& row);
  void check_step(WorkspaceId w, const BracketGroup& before, const BracketGroup& row);
  void check_opening(WorkspaceId w, const BracketGroup& row);
  void check_closing(WorkspaceId w, const BracketGroup& row);
  void check_window(const Ledger& ledger, const BracketGroup& row);
  void check_roles(const Ledger& ledger, const BracketGroup& row);
  void check_starting(WorkspaceId w, const BracketGroup& row);
  void check_ending(WorkspaceId w, const BracketGroup& row);
  void check_member(WorkspaceId w, const BracketMember& row);
  void check_lock(WorkspaceId w, const BracketGroup& group, const BracketMember& row);
  void check_outcome(WorkspaceId w, const BracketGroup& group, const BracketMember* before,
                     const BracketMember& row);
  void check_touched_groups(WorkspaceId w);
  void judge_group_job(WorkspaceId w, const Job& job, const Chain& before);
  void judge_group_cause(WorkspaceId w, const BracketMember& m, const Job& job, const Chain& before);
  const JobView* last_job_of(WorkspaceId w, const BracketMember& m) const;
  bool passes_with_group(WorkspaceId w, const Freeze& f, const Job& job, Time now) const;
  static std::string why_not(const Ledger& ledger, const TargetKey& target, const Version& v, Time now);
  static const Version* newest_lockable(const Ledger& ledger, const TargetKey& target, Time now);
  // In the calm.
  void groups_go_on(WorkspaceId w, Time now);
  void group_goes_on(WorkspaceId w, const BracketGroup& group, Time now);
  std::string why_not_started(WorkspaceId w, const BracketGroup& group, Time now);
  bool waits_in_the_middle(WorkspaceId w, const BracketGroup& group, Time now);
  // Is it a member of a group at work? Then it waits for that, whatever became of the bracket.
  bool is_at_work_for(WorkspaceId w, const TargetKey& target) const;
  void group_is_opened(WorkspaceId w, const TargetKey& target, Time now);

  // ---- Slots (checker_slots.cpp) ---------------------------------------------------------------------
  void check_slot_taken(WorkspaceId w, const ConcurrencySlot& row);
  void check_slot_freed(WorkspaceId w, const ConcurrencySlot& row);
  void note_slots(WorkspaceId w, const Job& job);
  void judge_slots(WorkspaceId w, const Job& job);
  void check_touched_slots(WorkspaceId w);
  static bool all_limits_are_free(const Ledger& ledger);
  std::map<WorkspaceId, Time> limits_changed_;  // or may have: when last

  // ---- Rules (checker_rules.cpp) ---------------------------------------------------------------------
  void judge(WorkspaceId w, const Job& job);
  void judge_cause(const Ledger& ledger, const RuleBook& book, const Job& job, const Chain& before);
  // Of the version of a job that was not forced, were it to start now.
  static std::optional<No> refusal_of(const Ledger& ledger, const Job& job, Time now);
  static bool must_be_left(const Ledger& ledger, const RuleBook& book, const TargetState& row);
  void note_end(WorkspaceId w, const Job& job);
  // The version that every rule has allowed there for a while; null: none, or it is hard to say.
  static const Version* due_on(const Ledger& ledger, const TargetKey& target, Time now);

  const store::SimStore& store_;
  std::map<WorkspaceId, int64_t> last_seq_;
  std::map<WorkspaceId, Time> last_now_;
  std::map<WorkspaceId, int64_t> last_epoch_;
  std::map<JobKey, JobView> jobs_;
  std::map<WorkspaceId, Ledger> ledgers_;
  std::map<Place, Chain> chains_;
  std::map<Place, Time> forgotten_;  // when the target's row went
  FaultCounts judged_, frozen_, bracketed_;
  std::map<GroupKey, GroupView> groups_;
  std::map<WorkspaceId, std::set<GroupId>> open_groups_;
  std::map<std::tuple<WorkspaceId, RuleId, ResourceId>, std::vector<Time>> opened_at_;
  std::set<GroupId> touched_groups_;  // by the commit, as are these
  std::vector<Deed> deeds_;
  std::set<std::pair<std::string, std::string>> audited_;
  std::set<std::pair<RuleId, ResourceId>> touched_slots_;
  std::map<std::tuple<WorkspaceId, RuleId, ResourceId>, std::set<JobId>> live_with_slot_;
  Time commit_since_;  // the time of the commit before
  std::map<std::pair<WorkspaceId, FreezeId>, InFlightJobs> in_flight_;
  std::map<std::pair<WorkspaceId, FreezeId>, std::map<FreezeAction, int>> events_;
  std::set<FreezeId> touched_;        // by the commit
  std::map<Place, int64_t> stopped_;  // attempts before a freeze stopped the last one
  std::map<Place, JobId> last_jobs_;
  std::map<Place, std::set<JobId>> active_;
  std::map<Place, std::set<JobId>> running_on_;
  std::set<JobKey> running_;
  std::map<JobKey, int> starts_;
  std::map<JobKey, Duration> holds_until_;
  std::set<std::tuple<WorkspaceId, std::string, std::string>> acknowledged_, denied_;
  std::vector<Violation> violations_;
  Duration boot_;
  uint64_t commits_ = 0;
  uint64_t digest_ = 0;
};

}  // namespace ctrlplane::sim
