#include "bench/harness.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>

#include "base/log.h"

namespace ctrlplane::bench {

// ---- A loop --------------------------------------------------------------------------------------------

void CommitCounter::loaded(WorkspaceLoop&) {
  std::lock_guard lock(mutex_);
  loaded_ = true;
  changed_.notify_all();
}

void CommitCounter::committed(WorkspaceId, int64_t, Time, const Changes& changes) {
  size_t jobs = 0;
  for (const Change& c : changes) {
    const auto* job = std::get_if<Job>(&c.entity);
    jobs += job && job->status == JobStatus::kPending;
  }
  std::lock_guard lock(mutex_);
  jobs_ += jobs;
  sizes_.push_back(changes.size());
  changed_.notify_all();
}

void CommitCounter::wait_for_load() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return loaded_; });
}

void CommitCounter::wait_for_jobs(size_t jobs) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_ >= jobs; });
}

void CommitCounter::reset() {
  std::lock_guard lock(mutex_);
  jobs_ = 0;
  sizes_.clear();
}

std::vector<size_t> CommitCounter::commit_sizes() {
  std::lock_guard lock(mutex_);
  return sizes_;
}

Engine::Engine(store::Store& store, WorkspaceId workspace, const Around& around)
    : executor_(around.clock ? *around.clock : clock_),
      port_(std::make_unique<ThreadStorePort>(store, executor_)) {
  const auto salt = static_cast<uint64_t>(clock_.wall().us);
  WorkspaceLoop::Host host{
      .executor = executor_,
      .store = *port_,
      .replica = {Uuid::from_halves(salt, 1)},
      .may_answer_reads = [] { return true; },
      .new_token = [salt, n = 0ull]() mutable { return store::Token{Uuid::from_halves(salt, mix64(++n))}; },
      .lost = [] { CHECK(false, "the benchmark lost its workspace"); },
      .listeners = {&counter},
      .limits = around.limits};
  if (around.listener) host.listeners.push_back(around.listener);
  loop_ = std::make_unique<WorkspaceLoop>(std::move(host), workspace);
}

Engine::~Engine() {
  on_loop([&](WorkspaceLoop&) { loop_.reset(); });
  port_.reset();
}

void Engine::start(store::Token expected) {
  on_loop([&](WorkspaceLoop& loop) { loop.start(expected); });
  counter.wait_for_load();
}

void Engine::submit(Command command, ReplyFn done) {
  executor_.post([this, request = Request{std::move(command)}, done = std::move(done)]() mutable {
    loop_->submit(std::move(request), std::move(done));
  });
}

Answer Engine::call(Command command) {
  std::promise<Reply> promise;
  submit(std::move(command), [&](Reply reply) { promise.set_value(std::move(reply)); });
  return must(promise.get_future().get());
}

void Engine::wait_until_idle() {
  while (!on_loop([](WorkspaceLoop& loop) { return loop.idle(); }))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

LoopStats Engine::stats() {
  return on_loop([](WorkspaceLoop& loop) { return loop.stats(); });
}

// The loop itself never needs to forget; only a benchmark wants figures of one part of its life.
void Engine::reset_stats() {
  on_loop([](WorkspaceLoop& loop) { const_cast<LoopStats&>(loop.stats()) = {}; });
}

// ---- The process ---------------------------------------------------------------------------------------

Memory memory() {
  Memory m;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) m.resident = std::stoll(line.substr(6)) * 1024;
    if (line.starts_with("VmHWM:")) m.peak = std::stoll(line.substr(6)) * 1024;
  }
  return m;
}

Figures run_child(std::vector<std::string> args) {
  int ends[2];
  CHECK(::pipe2(ends, O_CLOEXEC) == 0, "pipe");
  args.insert(args.begin(), {"bench", "--child"});
  std::vector<char*> argv;
  for (std::string& a : args) argv.push_back(a.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  CHECK(child >= 0, "fork");
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execv("/proc/self/exe", argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  Figures figures;
  FILE* in = ::fdopen(ends[0], "r");
  char name[64];
  for (double value; std::fscanf(in, "%63s %lf", name, &value) == 2;) figures[name] = value;
  std::fclose(in);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child of the benchmark failed");
  return figures;
}

void figure(std::string_view name, double value) {
  fmt::print("{} {:.9g}\n", name, value);
  std::fflush(stdout);
}

Options parse_options(int argc, char** argv) {
  log::set_level(log::Level::kError);
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--child") {
      options.child.assign(argv + i + 1, argv + argc);
      return options;
    }
    if (arg == "--quick") {
      options.quick = true;
    } else if (arg == "--store" && i + 1 < argc) {
      options.store = argv[++i];
    } else {
      fmt::print(stderr,
                 "usage: [--quick] [--store SQLite|PostgreSQL]\n"
                 "  --quick  small sizes, for a look at whether it works\n");
      std::exit(2);
    }
  }
  return options;
}

// ---- Figures -------------------------------------------------------------------------------------------

void TablePrinter::print() const {
  std::vector<size_t> width(rows_.front().size());
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i == 0)
        fmt::print("{:<{}}", row[i], width[i]);
      else
        fmt::print("  {:>{}}", row[i], width[i]);
    }
    fmt::print("\n");
  }
  fmt::print("\n");
  std::fflush(stdout);
}

std::string count(double n) {
  std::string digits = fmt::format("{:.0f}", n), out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i && digits[i - 1] != '-' && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string ms(Duration d) { return fmt::format("{:.2f}", static_cast<double>(d.us) / 1000); }
std::string met(bool reached) { return reached ? "met" : "MISSED"; }

}  // namespace ctrlplane::bench
