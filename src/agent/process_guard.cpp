#include "agent/process_guard.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>

namespace ctrlplane::agent {
namespace {

constexpr pid_t kReleased = 0;  // in place of a group

ssize_t receive(int line, pid_t& word) {
  ssize_t n;
  while ((n = ::recv(line, &word, sizeof word, 0)) < 0 && errno == EINTR) {
  }
  return n;
}

// Runs in the forked process: only what is safe after a fork in a process with threads.
[[noreturn]] void stand_guard(int line) {
  ::setpgid(0, 0);  // a Ctrl-C for the agent is not for its guard
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_IGN);
  ::dup2(line, 0);
  ::closefrom(1);  // the agent's end of the line too: else its end would never show
  pid_t group = -1, word = 0;
  ::send(0, &word, sizeof word, MSG_NOSIGNAL);  // ready
  while (receive(0, word) == sizeof word) {
    if (word == kReleased) ::_exit(0);
    group = word;
  }
  if (group > 1) ::kill(-group, SIGKILL);
  ::_exit(0);
}

}  // namespace

ProcessGuard ProcessGuard::start() {
  ProcessGuard guard;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return guard;
  guard.line_.reset(ends[0]);
  Fd other(ends[1]);
  guard.pid_ = ::fork();
  if (guard.pid_ == 0) stand_guard(other.get());
  other.reset();
  pid_t ready;
  if (guard.pid_ > 0) receive(guard.line_.get(), ready);
  return guard;
}

ProcessGuard::ProcessGuard(ProcessGuard&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), line_(std::move(other.line_)) {}

void ProcessGuard::tell(pid_t group) {
  if (pid_ > 0) ::send(line_.get(), &group, sizeof group, MSG_NOSIGNAL);
}

void ProcessGuard::release() {
  if (pid_ < 0) return;
  tell(kReleased);
  line_.reset();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace ctrlplane::agent
