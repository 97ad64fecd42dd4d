// What does it cost to decide? 100,000 release targets under 20 policies, 8 rules for each target, 50
// versions of history, all in memory: the functions the loop calls (execute, work, run_due_timers), without a
// loop, a clock or a store around them. Time goes on by a microsecond with each of them.
//
// Beside it, in the same run, the same decisions from scratch: nothing remembered of which policies match,
// of places in a roll-out or of anything else but compiled expressions. Both must say the same.
//
// Times are those of the processor, since the question is what one core does; beside them the wall's, which
// on a busy machine also has what others did meanwhile.
//
// Aims: 500,000 targets a second on one core; the end of a job costs what it concerns, under 50 us.
#include <algorithm>
#include <numeric>

#include "bench/core.h"
#include "bench/estate.h"

namespace ctrlplane::bench {
namespace {

constexpr size_t kPasses = 5;

// ---- Targets -------------------------------------------------------------------------------------------

// For all targets, as units of work.
Spent look_at_all(Core& core) {
  std::vector<Spent> spent;
  for (size_t i = 0; i < kPasses; ++i) {
    core.state.mark_all_dirty();
    const Meter meter;
    const size_t units = core.rest();
    spent.push_back(meter.spent());
    CHECK(units == core.state.target_count() && core.changes.empty(), "the estate was not at rest");
  }
  return median(spent);
}

// For a plan of each of them.
Spent plan_each(Core& core, const std::vector<TargetIx>& targets) {
  std::vector<Spent> spent;
  for (size_t i = 0; i < kPasses; ++i) {
    const Meter meter;
    for (TargetIx t : targets) {
      core.now = core.now + microseconds(1);
      CHECK(plan(core.state, core.now, t).empty(), "the estate was not at rest");
    }
    spent.push_back(meter.spent());
  }
  return median(spent);
}

void forget_decisions(const State& state, TargetIx t) {
  state.policy_memo.reset();
  state.at(t).policy_epoch = 0;
}

// For a plan of each of them from scratch.
Spent plan_each_from_scratch(Core& core, const std::vector<TargetIx>& targets) {
  std::vector<Plan> remembered;
  for (TargetIx t : targets) remembered.push_back(plan(core.state, core.now, t));
  Spent spent;
  for (size_t i = 0; i < targets.size(); ++i) {
    const Meter meter;
    forget_decisions(core.state, targets[i]);
    const Plan fresh = plan(core.state, core.now, targets[i]);
    spent += meter.spent();
    const Plan& p = remembered[i];
    CHECK(fresh.version == p.version && fresh.look_again == p.look_again && fresh.start == p.start &&
              fresh.waiting_for == p.waiting_for,
          "from scratch it is decided otherwise");
  }
  // Numbers of rule sets that targets have are of a memory that is gone.
  for (uint32_t n = 0; n < core.state.target_bound(); ++n) core.state.at({n}).policy_epoch = 0;
  core.state.mark_all_dirty();
  core.rest();
  return spent;
}

void measure_targets(Core& core, const Estate& estate) {
  TablePrinter table({"targets", "number", "us each", "per second", "wall us"});
  auto row = [&](std::string what, size_t number, const Spent& spent) {
    const auto n = static_cast<double>(number);
    table.row({std::move(what), count(n), fmt::format("{:.2f}", spent.cpu / n * 1e6), count(n / spent.cpu),
               fmt::format("{:.2f}", spent.wall / n * 1e6)});
  };
  const size_t all = core.state.target_count();
  core.state.mark_all_dirty();
  const Meter meter;
  core.rest();
  const Spent first = meter.spent();
  CHECK(core.changes.empty(), "the estate was not at rest");
  progress("all {} targets", all);
  const Spent again = look_at_all(core);
  row("all of them", all, again);
  constexpr std::string_view names[kStandings] = {
      "  on the newest version", "  pending at the first rule", "  held back by 12 versions",
      "  under way, behind 12 versions", "  nothing allowed of 50 versions"};
  for (size_t i = 0; i < kStandings; ++i)
    row(std::string(names[i]), estate.targets[i].size(), plan_each(core, estate.targets[i]));
  row("all, after a load", all, first);

  progress("from scratch");
  std::vector<TargetIx> sample;
  for (const auto& list : estate.targets)
    for (size_t i = 0; i < list.size(); i += 20) sample.push_back(list[i]);
  const Spent scratch = plan_each_from_scratch(core, sample);
  const Spent remembered = plan_each(core, sample);
  row("a sample of the same mix", sample.size(), remembered);
  row("the sample, from scratch", sample.size(), scratch);
  fmt::print("\nA target looked at again, at rest ({} policies, {} rules each, {} versions)\n\n", kPolicies,
             kRules, kVersions);
  table.print();
  fmt::print("from scratch takes {:.1f} times as long\n", scratch.cpu / remembered.cpu);
  const double speed = static_cast<double>(all) / again.cpu;
  fmt::print("aim, 500,000 targets a second: {} ({})\n", met(speed >= 500'000), count(speed));
}

// ---- Events --------------------------------------------------------------------------------------------

// What the command itself took, then what it woke.
struct Event {
  std::vector<double> command_us, total_us, wall_us;
  size_t looked_at = 0, most = 0;

  void measure(Core& core, Command command, std::string actor = "system") {
    const Meter meter;
    core.run(std::move(command), std::move(actor));
    command_us.push_back(meter.spent().cpu * 1e6);
    const size_t units = core.rest();
    const Spent spent = meter.spent();
    total_us.push_back(spent.cpu * 1e6);
    wall_us.push_back(spent.wall * 1e6);
    looked_at += units;
    most = std::max(most, units);
    core.forget();
  }
  double quantile(double q) const {
    std::vector<double> sorted = total_us;
    std::ranges::sort(sorted);
    return sorted[std::min(sorted.size() - 1, static_cast<size_t>(q * static_cast<double>(sorted.size())))];
  }
  double mean() const {
    return std::accumulate(total_us.begin(), total_us.end(), 0.0) / static_cast<double>(total_us.size());
  }
};

class EventTable {
 public:
  void row(std::string what, const Event& e) {
    const auto n = static_cast<double>(e.total_us.size()), looked = static_cast<double>(e.looked_at);
    table_.row({std::move(what), count(n), fmt::format("{:.1f}", looked / n),
                count(static_cast<double>(e.most)), fmt::format("{:.1f}", median(e.command_us)),
                fmt::format("{:.1f}", e.quantile(0.5)), fmt::format("{:.1f}", e.quantile(0.99)),
                fmt::format("{:.1f}", e.quantile(1)),
                fmt::format("{:.2f}", e.mean() * n / std::max(looked, 1.0)),
                fmt::format("{:.1f}", median(e.wall_us))});
  }
  void print() const { table_.print(); }

 private:
  TablePrinter table_{{"event", "number", "looks at", "most", "command us", "in all us", "p99 us", "max us",
                       "us/target", "wall us"}};
};

// The live jobs of the deployment in the environment, in an order that follows from their ids.
std::vector<Job> jobs_in(const State& state, DeploymentId d, EnvironmentId e) {
  std::vector<Job> jobs;
  state.jobs.each([&](JobIx, const JobSlot& slot) {
    if (slot.row.target.deployment == d && slot.row.target.environment == e) jobs.push_back(slot.row);
  });
  std::ranges::sort(jobs, {}, &Job::id);
  return jobs;
}

void end(Core& core, const Job& job, Event& event) {
  event.measure(core, ReportJob{job.id, job.holder, JobStatus::kSuccessful, "", ""});
}

// Nobody waits for these: they run in the last environments.
Event end_last_jobs(Core& core, const Estate& estate) {
  Event event;
  for (size_t d = 0; d < kDeployments; ++d)
    for (size_t e = 0; e < kEnvironments; ++e)
      if (standing_of(d, e) == Standing::kUnderWay)
        for (const Job& job : jobs_in(core.state, estate.deployments[d], estate.environments[e]))
          end(core, job, event);
  return event;
}

// A new version in the first environment while the second waits for every target of it. The last of them
// lets the others go on.
std::pair<Event, Event> end_first_jobs(Core& core, const Estate& estate) {
  CreateVersion next{.deployment = estate.deployments[0], .tag = "v2.0.0"};
  next.metadata = {{"channel", "stable"}};
  const VersionId version{core.run(next).id};
  for (const char* actor : {"ann", "bob"})
    core.run(SetApproval{.version = version, .environments = {estate.environments[1]}}, actor);
  core.rest();
  core.pass(hours(2));  // all have had their turn in the roll-out
  core.forget();
  std::pair<Event, Event> events;
  std::vector<Job> jobs = jobs_in(core.state, estate.deployments[0], estate.environments[0]);
  const size_t expected = core.state.targets_in(core.state.deployments.find(estate.deployments[0]),
                                                core.state.environments.find(estate.environments[0]));
  CHECK(jobs.size() == expected, "not every target has got its job");
  for (Job& job : jobs) {
    job.holder = "runner-" + job.id.str();
    core.run(ClaimJob{estate.agent, job.id, job.holder});
  }
  core.rest();
  core.forget();
  for (size_t i = 0; i < jobs.size(); ++i)
    end(core, jobs[i], i + 1 < jobs.size() ? events.first : events.second);
  return events;
}

// The second of two approvals lets the first of a roll-out start.
std::pair<Event, Event> approve(Core& core, const Estate& estate) {
  std::pair<Event, Event> events;
  for (size_t d = 0; d < kDeployments; ++d)
    for (size_t e = 0; e < kEnvironments; ++e) {
      if (standing_of(d, e) != Standing::kAwaiting) continue;
      SetApproval c{.version = estate.versions[d][0], .environments = {estate.environments[e]}};
      c.status = ApprovalStatus::kRejected;
      events.first.measure(core, c, "eve");
      c.status = ApprovalStatus::kApproved;
      events.second.measure(core, c, "eve");
    }
  return events;
}

Event edit_policy(Core& core, const Estate& estate) {
  Event event;
  const Policy& p = estate.window_policy;
  for (size_t i = 0; i < kPasses; ++i) {
    UpsertPolicy c{.id = p.id, .name = p.name, .selector = p.selector};
    for (const PolicyRule& rule : p.rules) c.rules.push_back({rule.id, rule.type, rule.body, ""});
    c.rules.back().body = Json::trusted(
        fmt::format(R"({{"rrule":"FREQ=DAILY;BYHOUR=8;BYMINUTE=0","durationMinutes":{}}})", 590 - i));
    event.measure(core, std::move(c));
  }
  return event;
}

int run(const Options& options) {
  progress("the workspace");
  Estate estate = make_estate(options.quick ? 50 : 1'000);
  Core core(*estate.state, estate.now);
  measure_targets(core, estate);
  EventTable table;
  progress("a policy is edited");
  const Event edited = edit_policy(core, estate);
  progress("jobs end");
  const Event last = end_last_jobs(core, estate);
  const auto [first, opening] = end_first_jobs(core, estate);
  progress("versions are approved");
  const auto [rejected, approved] = approve(core, estate);
  table.row("a job ends, nobody waits for it", last);
  table.row("a job ends, others wait for all of them", first);
  table.row("a job ends, the last they waited for", opening);
  table.row("a rejection, nothing changes", rejected);
  table.row("an approval, the roll-out starts", approved);
  table.row("a policy is edited", edited);
  fmt::print("\nAn event, with all that it wakes\n\n");
  table.print();
  fmt::print("a policy edited: {:.0f} ms, {:.2f} us a target\n", edited.quantile(0.5) / 1000,
             edited.quantile(0.5) / static_cast<double>(core.state.target_count()));
  const double worst = std::max(last.mean(), first.mean());
  fmt::print("aim, under 50 us for the end of a job: {} (mean {:.1f})\n", met(worst < 50), worst);
  return 0;
}

}  // namespace
}  // namespace ctrlplane::bench

int main(int argc, char** argv) { return ctrlplane::bench::run(ctrlplane::bench::parse_options(argc, argv)); }
