#include "agent/job_runner.h"

#include <signal.h>

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/log.h"

namespace ctrlplane::agent {
namespace {

constexpr Duration kFlush = seconds(5);

// The folder a command runs in: the given one, or a new one that goes with this object.
class WorkFolder {
 public:
  static Result<WorkFolder> open(const std::string& given) {
    if (!given.empty()) return WorkFolder(given, false);
    std::error_code error;
    std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string name = (parent / "ctrlplane-job-XXXXXX").string();
    if (error || !::mkdtemp(name.data()))
      return fail(ErrorCode::kInvalid, fmt::format("no temporary folder in {}: {}", parent.string(),
                                                   error ? error.message() : std::strerror(errno)));
    return WorkFolder(name, true);
  }
  WorkFolder(WorkFolder&& other) noexcept
      : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, false)) {}
  ~WorkFolder() {
    std::error_code ignored;
    if (temporary_) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  WorkFolder(std::string path, bool temporary) : path_(std::move(path)), temporary_(temporary) {}
  std::string path_;
  bool temporary_;
};

ProcessSpec process_spec(const Setup& setup, const PulledJob& job, const std::string& folder) {
  ProcessSpec spec{
      .argv = setup.options.command, .env = setup.inherited, .input = job.context, .folder = folder};
  for (std::string& entry : environment_of(job)) spec.env.push_back(std::move(entry));
  spec.env.push_back("CTRLPLANE_URL=" + public_url(setup.options.url));
  spec.env.push_back("CTRLPLANE_WORKSPACE=" + setup.options.workspace);
  return spec;
}

std::string seconds_text(Duration d) { return fmt::format("{:.1f}", static_cast<double>(d.us) / 1e6); }

bool is_refusal(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
    case ErrorCode::kConflict:
    case ErrorCode::kFrozen:
    case ErrorCode::kInvalid:
    case ErrorCode::kTooLarge:
    case ErrorCode::kUnsupported: return true;
    default: return false;
  }
}

}  // namespace

JobRunner::JobRunner(Setup& setup, PulledJob job, std::shared_ptr<JobControl> control)
    : setup_(setup),
      job_(std::move(job)),
      control_(std::move(control)),
      api_(setup.api()),
      output_(setup.api(), job_.id, setup.clock, setup.tick) {}

bool JobRunner::run(const std::function<void(bool accepted)>& on_decided) {
  Delivery first = deliver("inProgress", "", [&] { return is_unwanted(); });
  on_decided(first == Delivery::kAccepted);
  if (first == Delivery::kRefused) return true;
  Duration began = setup_.clock.boot();
  Ending ending = first == Delivery::kAccepted ? execute() : ending_of(control_->stop_requested(), {});
  log::info("job ended", {{"job", job_.id},
                          {"status", ending.status},
                          {"seconds", seconds_text(setup_.clock.boot() - began)},
                          {"reason", ending.reason}});
  output_.flush(kFlush);
  std::string message = ending.last_line.empty() ? ending.reason : ending.reason + ": " + ending.last_line;
  Delivery last = deliver(ending.status, message, [&] { return setup_.giving_up(); });
  if (last == Delivery::kAccepted) output_.flush(kFlush);  // what could not be sent while the server was away
  return last != Delivery::kAbandoned;
}

// Tries until there is an answer that counts.
JobRunner::Delivery JobRunner::deliver(const std::string& status, const std::string& message,
                                       const std::function<bool()>& abandon) {
  Backoff backoff(seconds(1), seconds(15));
  std::string last_error;
  while (!abandon()) {
    Duration sent = setup_.clock.boot();
    Status answer = api_.report(job_.id, setup_.instance, status, message);
    if (answer) {
      if (!last_error.empty()) log::info("report delivered", {{"job", job_.id}, {"status", status}});
      control_->renew(sent);
      return Delivery::kAccepted;
    }
    const Error& error = answer.error();
    if (is_refusal(error.code)) {
      log::warn("report refused", {{"job", job_.id}, {"status", status}, {"reason", error.message}});
      return Delivery::kRefused;
    }
    if (error.message != last_error)
      log::warn("report not delivered yet",
                {{"job", job_.id}, {"status", status}, {"reason", error.message}});
    last_error = error.message;
    setup_.bell.wait_for(backoff.next(chance()), abandon);
  }
  log::warn("report given up", {{"job", job_.id}, {"status", status}});
  return Delivery::kAbandoned;
}

JobRunner::Ending JobRunner::execute() {
  if (is_unwanted()) return ending_of(control_->stop_requested(), {});
  if (!setup_.options.keep_on_lost && setup_.clock.boot() >= lease().term_at)
    return {"failure", "not started: the server's answer came too late"};
  auto folder = WorkFolder::open(setup_.options.work_dir);
  if (!folder) return {"failure", folder.error().message};
  auto process = Process::start(process_spec(setup_, job_, folder->path()));
  if (!process) return {"failure", process.error().message};
  log::info("job started", {{"job", job_.id}, {"pid", std::to_string(process->pid())}});
  return supervise(*process);
}

JobRunner::Ending JobRunner::supervise(Process& process) {
  constexpr size_t kReadBytes = 256 * 1024;
  StopPlan plan(setup_.options.stop_grace, !setup_.options.keep_on_lost);
  std::string bytes;
  while (!process.ended()) {
    act(plan, process);
    Duration quiet = std::min(plan.quiet_for(setup_.clock.boot(), lease()), setup_.tick);
    process.wait(control_->wake_fd(), quiet);
    control_->clear_wake();
    bytes.clear();
    if (process.read_output(bytes, kReadBytes)) output_.append(bytes);
  }
  ExitStatus status = process.collect();
  bytes.clear();
  if (process.read_output(bytes, kReadBytes)) output_.append(bytes);
  output_.finish();
  return ending_of(plan.reason(), status);
}

void JobRunner::act(StopPlan& plan, Process& process) {
  Duration now = setup_.clock.boot();
  if (setup_.giving_up()) return process.signal(SIGKILL);
  StopReason before = plan.reason();
  StopPlan::Act act = plan.next(now, control_->stop_requested(), lease());
  if (before == StopReason::kNone && plan.reason() == StopReason::kLost)
    unreached_ = now - control_->renewed_at();
  if (act == StopPlan::Act::kNothing) return;
  bool kill = act == StopPlan::Act::kKill;
  log::info(kill ? "killing the command" : "stopping the command", {{"job", job_.id}});
  process.signal(kill ? SIGKILL : SIGTERM);
}

JobRunner::Ending JobRunner::ending_of(StopReason reason, ExitStatus status) const {
  switch (reason) {
    case StopReason::kServer: return {"cancelled", "stopped: the server asked for it"};
    case StopReason::kAgent: return {"cancelled", "the agent was stopped"};
    case StopReason::kLost:
      return {"failure",
              fmt::format("stopped: the server could not be reached for {} s", unreached_.us / 1'000'000)};
    case StopReason::kNone: break;
  }
  if (setup_.giving_up()) return {"cancelled", "the agent was stopped"};
  if (status.success()) return {"successful"};
  return {"failure", status.text(), output_.last_line()};
}

LeaseEnd JobRunner::lease() const {
  return lease_end(control_->renewed_at(), setup_.lease(), setup_.options.stop_grace);
}

}  // namespace ctrlplane::agent
