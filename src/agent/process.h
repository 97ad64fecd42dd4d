// One command in a process group of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "agent/file_descriptor.h"
#include "agent/process_guard.h"
#include "base/result.h"
#include "base/time.h"

namespace ctrlplane::agent {

struct ProcessSpec {
  std::vector<std::string> argv;  // the first is looked up in PATH unless it has a slash
  std::vector<std::string> env;   // NAME=value, all of it
  std::string input;              // standard input, with its end
  std::string folder;             // where it runs
};

struct ExitStatus {
  bool by_signal = false;
  int value = 0;  // exit code or signal

  bool success() const { return !by_signal && value == 0; }
  std::string text() const;  // "exit code 3", "killed by signal 9 (SIGKILL)"
};

// Standard output and error come merged through one pipe. The command inherits no other file, no blocked
// signal and no handler. One thread at a time, except signal(). If this process dies, the group is killed.
class Process {
 public:
  // kInvalid with a reason for people if the command cannot be started.
  static Result<Process> start(const ProcessSpec& spec);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  // Kills what is left of the group.
  ~Process();

  // Returns when there is output, the command has ended, `wake_fd` can be read, or `timeout` has passed.
  void wait(int wake_fd, Duration timeout);
  // Adds what there is now, without waiting; at most `max_bytes`. False if nothing was there.
  bool read_output(std::string& into, size_t max_bytes);
  // Whether the command itself has ended; processes that it started may live on.
  bool ended();
  // To every process of the group.
  void signal(int number);
  // After it ended: kills what it left behind in its group, and says how it ended.
  ExitStatus collect();

  pid_t pid() const { return pid_; }

 private:
  Process(pid_t pid, Fd output, ProcessGuard guard);

  pid_t pid_ = -1;  // of the command and of its group; -1 once collected
  Fd output_, pidfd_;
  ProcessGuard guard_;
};

}  // namespace ctrlplane::agent
