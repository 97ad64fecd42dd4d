#include "agent/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace ctrlplane::agent {
namespace {

// Where the kernel cannot wake us at a command's end, it is looked for this often.
constexpr int kLookMs = 50;

std::unexpected<Error> system_error(std::string_view what, int error) {
  return fail(ErrorCode::kInvalid, fmt::format("{}: {}", what, std::strerror(error)));
}

// Away from 0, 1 and 2, which the command's own are put on; an agent may run without them.
Fd above_stdio(Fd fd) {
  if (!fd || fd.get() > 2) return fd;
  return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
}

// A file in memory: the command may read all, some or nothing of it without anybody waiting.
Result<Fd> input_file(std::string_view text) {
  Fd fd = above_stdio(Fd(::memfd_create("input", MFD_CLOEXEC)));
  if (!fd) return system_error("no file for standard input", errno);
  while (!text.empty()) {
    ssize_t n = ::write(fd.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return system_error("standard input", errno);
    text.remove_prefix(static_cast<size_t>(n));
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

// posix_spawn's two records, destroyed with their owner.
struct SpawnPlan {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  SpawnPlan() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;

  void use_files(int input, int output, const std::string& folder) {
    posix_spawn_file_actions_adddup2(&files, input, 0);
    posix_spawn_file_actions_adddup2(&files, output, 1);
    posix_spawn_file_actions_adddup2(&files, output, 2);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    posix_spawn_file_actions_addchdir_np(&files, folder.c_str());
  }
  void use_fresh_group_and_signals() {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
};

// A process may have been started with SIGCHLD ignored; then the kernel throws exit statuses away.
void keep_exit_statuses() {
  struct sigaction now;
  if (::sigaction(SIGCHLD, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) ::signal(SIGCHLD, SIG_DFL);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

std::string ExitStatus::text() const {
  if (!by_signal) return fmt::format("exit code {}", value);
  const char* name = ::sigabbrev_np(value);
  return name ? fmt::format("killed by signal {} (SIG{})", value, name)
              : fmt::format("killed by signal {}", value);
}

Process::Process(pid_t pid, Fd output, ProcessGuard guard)
    : pid_(pid),
      output_(std::move(output)),
      pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),  // sets close-on-exec
      guard_(std::move(guard)) {
  guard_.watch(pid);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::move(other.output_)),
      pidfd_(std::move(other.pidfd_)),
      guard_(std::move(other.guard_)) {}

Result<Process> Process::start(const ProcessSpec& spec) {
  if (spec.argv.empty() || spec.argv[0].empty())
    return fail(ErrorCode::kInvalid, "there is no command to start");
  struct stat info;
  if (::stat(spec.folder.c_str(), &info) != 0) return system_error("the folder " + spec.folder, errno);
  Fd input = TRY(input_file(spec.input));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("no pipe", errno);
  Fd output(ends[0]), command_end = above_stdio(Fd(ends[1]));
  ::fcntl(output.get(), F_SETFL, O_NONBLOCK);

  keep_exit_statuses();
  ProcessGuard guard = ProcessGuard::start();
  SpawnPlan plan;
  plan.use_files(input.get(), command_end.get(), spec.folder);
  plan.use_fresh_group_and_signals();
  pid_t pid = -1;
  int error = ::posix_spawnp(&pid, spec.argv[0].c_str(), &plan.files, &plan.attributes,
                             pointers(spec.argv).data(), pointers(spec.env).data());
  if (error != 0) return system_error("could not start '" + spec.argv[0] + "'", error);
  return Process(pid, std::move(output), std::move(guard));
}

Process::~Process() {
  if (pid_ < 0) return;
  signal(SIGKILL);
  siginfo_t info;
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  collect();
}

void Process::wait(int wake_fd, Duration timeout) {
  // poll skips a negative descriptor; output that has ended would wake it for ever.
  pollfd on[] = {{output_.get(), POLLIN, 0}, {pidfd_.get(), POLLIN, 0}, {wake_fd, POLLIN, 0}};
  auto ms = static_cast<int>(std::clamp<int64_t>(timeout.us / 1000 + 1, 1, 60'000));
  ::poll(on, 3, pidfd_ ? ms : std::min(ms, kLookMs));
}

bool Process::read_output(std::string& into, size_t max_bytes) {
  char bytes[16 * 1024];
  size_t total = 0;
  while (output_ && total < max_bytes) {
    ssize_t n = ::read(output_.get(), bytes, std::min(sizeof bytes, max_bytes - total));
    if (n > 0) {
      into.append(bytes, static_cast<size_t>(n));
      total += static_cast<size_t>(n);
    } else if (n == 0) {
      output_.reset();
    } else if (errno != EINTR) {
      break;
    }
  }
  return total > 0;
}

bool Process::ended() {
  siginfo_t info{};
  int flags = WEXITED | WNOWAIT | WNOHANG;
  int result = ::waitid(P_PID, static_cast<id_t>(pid_), &info, flags);
  return result == 0 ? info.si_pid == pid_ : errno == ECHILD;
}

// The group's number cannot be given away while its leader is not collected.
void Process::signal(int number) { ::kill(-pid_, number); }

ExitStatus Process::collect() {
  signal(SIGKILL);
  guard_.release();
  int status = 0;
  pid_t result;
  while ((result = ::waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (result < 0) return {false, -1};  // somebody else took the status: not a success
  if (WIFSIGNALED(status)) return {true, WTERMSIG(status)};
  return {false, WEXITSTATUS(status)};
}

}  // namespace ctrlplane::agent
