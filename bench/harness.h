// What the benchmarks of the spine share: a workspace loop on real threads and a real store, driven by
// blocking calls; child processes, so that memory is measured in a process that has done nothing else;
// and a table for the figures.
//
// Progress goes to stderr, figures to stdout. Times differ from machine to machine: what counts is the
// ratio to the bare work measured beside it in the same run.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/clock.h"
#include "runtime/threaded.h"
#include "runtime/workspace_loop.h"

namespace ctrlplane::bench {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

template <class T>
T must(Result<T> result) {
  CHECK(result, result ? "" : result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// ---- A loop --------------------------------------------------------------------------------------------

// Sizes of the durable commits and the number of new jobs in them, with a way to wait for those.
class CommitCounter final : public FeedListener {
 public:
  void loaded(WorkspaceLoop&) override;
  void committed(WorkspaceId, int64_t seq, Time now, const Changes& changes) override;

  void wait_for_load();
  // Until `jobs` new jobs are durable since the last reset().
  void wait_for_jobs(size_t jobs);
  void reset();
  std::vector<size_t> commit_sizes();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool loaded_ = false;
  size_t jobs_ = 0;
  std::vector<size_t> sizes_;
};

struct Around {
  LoopLimits limits = {};
  const Clock* clock = nullptr;      // null: the machine's
  FeedListener* listener = nullptr;  // beside the counter, after it
};

// One workspace with its own executor and store threads, as a replica would run it.
class Engine {
 public:
  Engine(store::Store& store, WorkspaceId workspace, const Around& around = {});
  ~Engine();

  // Returns when the workspace is in memory.
  void start(store::Token expected);
  // Blocks until the reply is there; the command must succeed.
  Answer call(Command command);
  // Returns at once; `done` runs on the loop's thread.
  void submit(Command command, ReplyFn done);
  // Runs on the loop's thread, later.
  void post(Task task) { executor_.post(std::move(task)); }
  // Until nothing is left to do or to commit.
  void wait_until_idle();
  LoopStats stats();
  // Later stats() count from here.
  void reset_stats();
  // Runs on the loop's thread, between turns.
  template <class Fn>
  auto on_loop(Fn fn) -> decltype(fn(std::declval<WorkspaceLoop&>()));

  CommitCounter counter;

 private:
  SystemClock clock_;
  ThreadExecutor executor_;
  std::unique_ptr<ThreadStorePort> port_;
  std::unique_ptr<WorkspaceLoop> loop_;
};

template <class Fn>
auto Engine::on_loop(Fn fn) -> decltype(fn(std::declval<WorkspaceLoop&>())) {
  std::promise<decltype(fn(std::declval<WorkspaceLoop&>()))> promise;
  auto future = promise.get_future();
  executor_.post([&] {
    if constexpr (std::is_void_v<decltype(fn(*loop_))>) {
      fn(*loop_);
      promise.set_value();
    } else {
      promise.set_value(fn(*loop_));
    }
  });
  return future.get();
}

// ---- The process ---------------------------------------------------------------------------------------

struct Memory {
  int64_t resident = 0;  // bytes
  int64_t peak = 0;
};
Memory memory();

// Runs this program again with `args` and returns the "name value" lines it printed (see `figure`).
using Figures = std::map<std::string, double>;
Figures run_child(std::vector<std::string> args);
void figure(std::string_view name, double value);

struct Options {
  bool quick = false;
  std::string store;               // only this one; empty: both
  std::vector<std::string> child;  // what follows --child
};
Options parse_options(int argc, char** argv);

template <class... Args>
void progress(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(stderr, "  {}\n", fmt::format(format, std::forward<Args>(args)...));
}

// ---- Figures -------------------------------------------------------------------------------------------

class TablePrinter {
 public:
  explicit TablePrinter(std::vector<std::string> headings) { row(std::move(headings)); }
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string count(double n);    // 1,234,567
std::string ms(Duration d);     // 1.23
std::string met(bool reached);  // "met" or "MISSED"

}  // namespace ctrlplane::bench
