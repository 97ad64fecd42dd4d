// Kills a process group when this process dies, however it dies. An agent that fences itself promises that
// its commands end before its lease; a crash must not break that.
#pragma once

#include <sys/types.h>

#include "agent/file_descriptor.h"

namespace ctrlplane::agent {

class ProcessGuard {
 public:
  // A small process of its own, made before there is a group to watch: it holds nothing of this process's
  // open. Where none can be made there is no guard.
  static ProcessGuard start();
  ProcessGuard(ProcessGuard&& other) noexcept;
  ProcessGuard& operator=(ProcessGuard&&) = delete;
  ~ProcessGuard() { release(); }

  // From now on.
  void watch(pid_t group) { tell(group); }
  // Ends the watch; the group is left as it is.
  void release();
  pid_t pid() const { return pid_; }

 private:
  ProcessGuard() = default;
  void tell(pid_t group);

  pid_t pid_ = -1;
  Fd line_;  // its other end is the guard's: when it closes, this process is gone
};

}  // namespace ctrlplane::agent
