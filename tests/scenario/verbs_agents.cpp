#include "describe.h"
#include "verbs.h"

namespace ctrlplane::scenario {
namespace {

constexpr int kMostRuns = 1000;

std::string name_of(World& world, const Job& job) {
  return fmt::format("{} {}\n", world.names.of(job.target), world.names.tag(job.version));
}

// The agent's own book: what it has been given, until its last report was accepted.
void note_report(World& world, const ReportJob& c) {
  if (is_terminal(c.status)) world.held[c.instance].erase(c.job);
}

// Claims the job, or any if none is said, and ends it; empty: there was none.
Output run_one(Call& call, AgentId agent, std::optional<JobId> job, JobStatus status) {
  Answer claimed = TRY(call.send(ClaimJob{.agent = agent, .job = job, .instance = "run"}));
  if (!claimed.job) return "";
  const JobId id = claimed.job->id;
  TRY(call.send(ReportJob{.job = id, .instance = "run", .status = JobStatus::kInProgress}));
  TRY(call.send(ReportJob{.job = id, .instance = "run", .status = status}));
  return name_of(call.world, *claimed.job);
}

}  // namespace

// `claim runner as i1 [fencing] [job <job>]`: prints the job, or `nothing`.
Output claim_job(Call& call) {
  ClaimJob c{.agent = call.world.names.id<AgentId>(TRY(call.words.next("an agent")))};
  if (call.words.take("as")) c.instance = TRY(call.words.next("an instance"));
  c.fences_itself = call.words.take("fencing");
  if (call.words.take("job")) c.job = TRY(read_job(call)).id;
  Answer answer = TRY(call.send(c));
  if (!answer.job) return "nothing\n";
  call.world.held[c.instance].insert(answer.job->id);
  return name_of(call.world, *answer.job);
}

// `report <job> successful [by i1] [saying "text"]`
Output report_job(Call& call) {
  ReportJob c{.job = TRY(read_job(call)).id};
  c.status = TRY(read_word<JobStatus>(call, "job status"));
  if (call.words.take("by")) c.instance = TRY(call.words.next("an instance"));
  if (call.words.take("saying")) c.message = TRY(call.words.next("a message"));
  TRY(call.send(c));
  note_report(call.world, c);
  return "accepted\n";
}

// `heartbeat i1 [with <job>]`: prints what the instance must stop.
Output beat_heart(Call& call) {
  Heartbeat c{.instance = TRY(call.words.next("an instance"))};
  for (JobId id : call.world.held[c.instance]) c.jobs.push_back(id);
  if (call.words.take("with")) c.jobs.push_back(TRY(read_job(call)).id);
  Answer answer = TRY(call.send(c));
  std::vector<std::string> lines;
  for (const Job& job : call.world.jobs())
    if (std::erase(answer.jobs, job.id) > 0) lines.push_back("stop " + call.world.names.of(job.target));
  lines.insert(lines.end(), answer.jobs.size(), "stop what is unknown");
  return lines.empty() ? "go on\n" : lines_or_nothing(lines);
}

// `run runner [failure] [only <job>]`: claims and ends all there is for the agent, what that sets off
// included; or that job alone.
Output run_all(Call& call) {
  AgentId agent = call.world.names.id<AgentId>(TRY(call.words.next("an agent")));
  JobStatus status = JobStatus::kSuccessful;
  bool only = call.words.take("only");
  if (!only && !call.words.done()) {
    status = TRY(read_word<JobStatus>(call, "job status"));
    only = call.words.take("only");
  }
  if (only) return run_one(call, agent, TRY(read_job(call)).id, status);
  std::string output;
  for (int i = 0; i < kMostRuns; ++i) {
    const std::string one = TRY(run_one(call, agent, std::nullopt, status));
    if (one.empty()) return output.empty() ? "nothing\n" : output;
    output += one;
  }
  return fail(ErrorCode::kInternal, "there is always another job");
}

// `cancel job <job>`
Output cancel_job(Call& call) {
  TRY(call.words.must("job"));
  TRY(call.send(CancelJob{TRY(read_job(call)).id}));
  return "accepted\n";
}

// `decide <job> failure ["why"]`
Output decide(Call& call) {
  DecideJob c{.job = TRY(read_job(call)).id};
  c.status = TRY(read_word<JobStatus>(call, "job status"));
  c.reason = call.words.rest();
  TRY(call.send(std::move(c)));
  return "accepted\n";
}

// `redeploy api on prod/node-1`
Output redeploy(Call& call) {
  Answer answer = TRY(call.send(RedeployTarget{TRY(read_target(call))}));
  return fmt::format("{} started\n", answer.jobs.size());
}

// `receiver webhook accepts [slowly]|rejects|refuses connection|loses the answer|loses the message`
Output set_receiver(Call& call) {
  using Mood = ScriptedReceiver::Mood;
  static constexpr std::pair<std::string_view, Mood> kMoods[] = {
      {"accepts", Mood::kAccepts},
      {"accepts slowly", Mood::kAcceptsSlowly},
      {"rejects", Mood::kRejects},
      {"refuses connection", Mood::kRefusesConnection},
      {"loses the answer", Mood::kLosesTheAnswer},
      {"loses the message", Mood::kLosesTheMessage},
  };
  std::string channel = TRY(call.words.next("a channel"));
  if (!call.world.receivers().contains(channel))
    return mistake(fmt::format("there is no receiver '{}'", channel));
  std::string word = call.words.rest();
  for (const auto& [name, mood] : kMoods)
    if (name == word) {
      call.world.receiver(channel).mood = mood;
      return "";
    }
  return mistake(fmt::format("a receiver does not know how to '{}'", word));
}

}  // namespace ctrlplane::scenario
