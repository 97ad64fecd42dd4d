#include "agent/agent.h"

#include <sys/random.h>
#include <unistd.h>

#include <filesystem>
#include <list>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "agent/heartbeat.h"
#include "agent/job_runner.h"
#include "base/check.h"
#include "base/log.h"
#include "base/uuid.h"

namespace ctrlplane::agent {
namespace {

constexpr int kMaxConcurrency = 1000;

uint64_t random_bits() {
  uint64_t bits = 0;
  CHECK(::getrandom(&bits, sizeof bits, 0) == sizeof bits, "no randomness");
  return bits;
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] ? name : "unknown-host";
}

Status check_options(const AgentOptions& options) {
  if (options.url.empty()) return invalid("url", "must be given");
  if (options.api_key.empty()) return invalid("api key", "must be given");
  if (options.workspace.empty()) return invalid("workspace", "must be given");
  if (options.name.empty()) return invalid("name", "must be given");
  if (options.command.empty() || options.command[0].empty()) return invalid("command", "must be given");
  if (options.concurrency < 1 || options.concurrency > kMaxConcurrency)
    return invalid("concurrency", fmt::format("must be from 1 to {}", kMaxConcurrency));
  std::error_code error;
  if (!options.work_dir.empty() && !std::filesystem::is_directory(options.work_dir, error))
    return invalid("work folder", options.work_dir + " is not a folder");
  return {};
}

// Commands run elsewhere: what is relative to here must not become relative to there.
void make_absolute(AgentOptions& options) {
  auto absolute = [](std::string& path) {
    std::error_code error;
    auto whole = std::filesystem::absolute(path, error);
    if (!error) path = whole.string();
  };
  if (options.command[0].find('/') != std::string::npos) absolute(options.command[0]);
  if (!options.work_dir.empty()) absolute(options.work_dir);
}

}  // namespace

double chance() { return static_cast<double>(random_bits() >> 11) * 0x1.0p-53; }

struct Agent::Impl {
  // A job's thread and how far it is.
  struct Running {
    std::atomic<bool> decided = false;  // the server will not hand out the same job again
    std::atomic<bool> ended = false;
    std::jthread thread = {};
  };
  enum class Claimed { kNothing, kOne };

  Impl(AgentOptions options, const Clock& clock, Duration tick) : setup(std::move(options), clock, tick) {}

  int run();
  Status connect();
  Result<std::string> register_agent();
  void work();
  void wait_after(const Result<Claimed>& claimed);
  Result<Claimed> claim();
  Result<Claimed> claim_matching();
  Claimed start(PulledJob job, Duration claimed_at);
  void run_job(JobRunner& runner, const std::string& id, Running& entry);
  void note(const Error& error);

  void join_ended() {
    running.remove_if([](const Running& r) { return r.ended.load(); });
  }
  size_t busy() const {
    return static_cast<size_t>(std::ranges::count_if(running, [](const Running& r) { return !r.ended; }));
  }
  bool has_room() const { return busy() < static_cast<size_t>(setup.options.concurrency); }
  Api::Claimant claimant() const { return {setup.agent_id, setup.instance, !setup.options.keep_on_lost}; }

  Setup setup;
  std::optional<Api> api;
  std::list<Running> running;  // added to and removed from by run()'s thread alone
  Backoff backoff{seconds(1), seconds(15)};
  std::string last_error;  // the trouble that was told last; empty: none
  std::atomic<bool> refused = false, report_missing = false;
};

int Agent::Impl::run() {
  if (Status usable = check_options(setup.options); !usable) {
    log::error("the agent cannot start", {{"reason", usable.error().message}});
    return 2;
  }
  make_absolute(setup.options);
  setup.inherited = inherited_environment(environ, setup.options.api_key);
  setup.instance = host_name() + "-" + IdSource(setup.clock.wall(), random_bits()).next().str();
  api.emplace(setup.api());
  if (Status connected = connect(); !connected) {
    log::error("the agent cannot start", {{"reason", connected.error().message}});
    return 2;
  }
  if (!setup.stopping()) work();
  log::info("the agent ends", {{"agent", setup.options.name}});
  return report_missing ? 1 : 0;
}

// Waits for the server as long as it takes. An error if waiting will not help.
Status Agent::Impl::connect() {
  while (!setup.stopping()) {
    auto id = register_agent();
    if (id) {
      setup.agent_id = *id;
      log::info("the agent is ready",
                {{"agent", setup.options.name}, {"id", *id}, {"instance", setup.instance}});
      break;
    }
    if (!is_transient(id.error())) return std::unexpected(id.error());
    note(id.error());
    setup.bell.wait_for(backoff.next(chance()), [&] { return setup.stopping(); });
  }
  backoff.reset();
  last_error.clear();
  return {};
}

Result<std::string> Agent::Impl::register_agent() {
  const std::string& name = setup.options.name;
  auto known = api->find_agent(name);
  if (!known && known.error().code == ErrorCode::kNotFound)
    return fail(ErrorCode::kNotFound,
                fmt::format("there is no workspace '{}' for this key", setup.options.workspace));
  if (!known) return std::unexpected(known.error());
  if (*known) return **known;
  auto id = api->create_agent(IdSource(setup.clock.wall(), random_bits()).next().str(), name);
  if (id) log::info("registered a new job agent", {{"agent", name}, {"id", *id}});
  if (!id && id.error().code == ErrorCode::kForbidden)
    return fail(ErrorCode::kForbidden,
                fmt::format("there is no job agent '{}', and this key may not register one: {}", name,
                            id.error().message));
  return id;
}

void Agent::Impl::work() {
  Heartbeat heartbeat(setup);
  while (true) {
    setup.bell.wait([&] { return setup.stopping() || has_room(); });
    join_ended();
    if (setup.stopping()) break;
    auto claimed = claim();
    if (claimed && *claimed == Claimed::kNothing && setup.options.once && running.empty()) break;
    wait_after(claimed);
  }
  if (busy() > 0) log::info("waiting for running jobs", {{"jobs", std::to_string(busy())}});
  setup.bell.wait([&] { return busy() == 0; });
  join_ended();
}

void Agent::Impl::wait_after(const Result<Claimed>& claimed) {
  auto stopping = [&] { return setup.stopping(); };
  if (!claimed) {
    note(claimed.error());
    setup.bell.wait_for(backoff.next(chance()), stopping);
    return;
  }
  if (!last_error.empty()) log::info("the server answers again");
  last_error.clear();
  backoff.reset();
  size_t before = busy();
  if (*claimed == Claimed::kNothing) {
    setup.bell.wait_for(setup.options.poll_every, [&] { return stopping() || busy() < before; });
  } else {
    // Until then the server would hand out the same job again, and one that is refused it may offer again.
    setup.bell.wait([&] { return stopping() || running.back().decided; });
    if (refused.exchange(false)) setup.bell.wait_for(setup.options.poll_every, stopping);
  }
}

// Each trouble once, not at every try.
void Agent::Impl::note(const Error& error) {
  if (error.message != last_error)
    log::warn("no jobs can be claimed; trying again", {{"reason", error.message}});
  last_error = error.message;
}

Result<Agent::Impl::Claimed> Agent::Impl::claim() {
  if (!setup.options.selector.empty()) return claim_matching();
  Duration sent = setup.clock.boot();
  auto job = TRY(api->claim(claimant()));
  return job ? start(std::move(*job), sent) : Claimed::kNothing;
}

Result<Agent::Impl::Claimed> Agent::Impl::claim_matching() {
  for (const PulledJob& waiting : TRY(api->waiting(setup.agent_id))) {
    if (!matches(setup.options.selector, waiting)) continue;
    Duration sent = setup.clock.boot();
    auto job = api->claim(claimant(), waiting.id);
    if (job) return start(std::move(*job), sent);
    bool somebody_was_faster =
        job.error().code == ErrorCode::kConflict || job.error().code == ErrorCode::kNotFound;
    if (!somebody_was_faster) return std::unexpected(job.error());
  }
  return Claimed::kNothing;
}

Agent::Impl::Claimed Agent::Impl::start(PulledJob job, Duration claimed_at) {
  std::string id = job.id;
  auto control = setup.held.add(id, claimed_at);
  if (!control) return Claimed::kNothing;  // held already: an answer that came late
  if (setup.stops >= 2) control->request_stop(StopReason::kAgent);
  log::info("job claimed", {{"job", id}});
  Running& entry = running.emplace_back();
  try {
    auto runner = std::make_unique<JobRunner>(setup, std::move(job), std::move(control));
    entry.thread =
        std::jthread([this, id, &entry, runner = std::move(runner)] { run_job(*runner, id, entry); });
  } catch (const std::system_error& error) {  // no more threads: the job is offered again
    log::error("cannot run the job now", {{"job", id}, {"reason", error.what()}});
    running.pop_back();
    setup.held.remove(id);
    return Claimed::kNothing;
  }
  return Claimed::kOne;
}

void Agent::Impl::run_job(JobRunner& runner, const std::string& id, Running& entry) {
  bool delivered = runner.run([&](bool accepted) {
    if (!accepted) refused = true;
    entry.decided = true;
    setup.bell.ring();
  });
  if (!delivered) report_missing = true;
  setup.held.remove(id);
  entry.ended = true;
  setup.bell.ring();
}

Agent::Agent(AgentOptions options, const Clock& clock, Duration tick)
    : impl_(std::make_unique<Impl>(std::move(options), clock, tick)) {}
Agent::~Agent() = default;

int Agent::run() { return impl_->run(); }

void Agent::stop() {
  Setup& setup = impl_->setup;
  int times = ++setup.stops;
  if (times == 1) log::info("stopping: no more jobs are claimed");
  if (times == 2) log::info("stopping the running commands");
  for (const auto& control : setup.held.list()) {
    if (times >= 2) control->request_stop(StopReason::kAgent);
    control->wake();
  }
  setup.bell.ring();
}

}  // namespace ctrlplane::agent
