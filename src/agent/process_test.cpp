#include "agent/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace ctrlplane::agent {
namespace {

constexpr Duration kPatience = seconds(20);  // a test that would hang fails instead

ProcessSpec shell(std::string script, std::string input = {}) {
  return {.argv = {"sh", "-c", std::move(script)},
          .env = {"PATH=" + std::string(std::getenv("PATH"))},
          .input = std::move(input),
          .folder = "/"};
}

struct Ended {
  std::string output;
  ExitStatus status;
};

void read_until(Process& process, std::string& output, std::string_view mark) {
  while (output.find(mark) == std::string::npos && !process.ended()) {
    process.wait(-1, kPatience);
    process.read_output(output, 1u << 20);
  }
}

Ended run_to_end(Process process) {
  Ended ended;
  while (!process.ended()) {
    process.wait(-1, kPatience);
    process.read_output(ended.output, 1u << 20);
  }
  ended.status = process.collect();
  process.read_output(ended.output, 1u << 20);
  return ended;
}

Ended run(const ProcessSpec& spec) {
  auto process = Process::start(spec);
  EXPECT_TRUE(process) << process.error().message;
  return process ? run_to_end(std::move(*process)) : Ended{};
}

// True once that process is gone, whoever's child it is.
bool ends(pid_t pid) {
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) return errno == ESRCH;
  pollfd on{pidfd.get(), POLLIN, 0};
  return ::poll(&on, 1, 20'000) == 1;
}

TEST(Process, gives_the_command_its_input_environment_and_folder) {
  ProcessSpec spec = shell("cat; echo; echo $NAME; pwd; env | grep -c SECRET", "the input");
  spec.env.push_back("NAME=a value");
  spec.folder = std::filesystem::temp_directory_path();
  ::setenv("SECRET", "x", 1);
  Ended ended = run(spec);
  ::unsetenv("SECRET");
  EXPECT_EQ(ended.output, "the input\na value\n" + spec.folder + "\n0\n");
}

TEST(Process, input_may_be_large_and_stay_unread) {
  std::string large(3u << 20, 'x');
  EXPECT_EQ(run(shell("wc -c", large)).output, "3145728\n");
  EXPECT_TRUE(run(shell("exit 0", large)).status.success());
  EXPECT_EQ(run(shell("wc -c", "")).output, "0\n");
}

TEST(Process, merges_output_and_errors_in_their_order) {
  EXPECT_EQ(run(shell("echo 1; echo 2 >&2; echo 3; echo 4 >&2")).output, "1\n2\n3\n4\n");
}

TEST(Process, passes_on_more_output_than_a_pipe_holds) {
  EXPECT_EQ(run(shell("yes 1234567 | head -c 1000000")).output.size(), 1'000'000u);
}

TEST(Process, says_how_the_command_ended) {
  EXPECT_EQ(run(shell("exit 0")).status.text(), "exit code 0");
  EXPECT_EQ(run(shell("exit 3")).status.text(), "exit code 3");
  EXPECT_FALSE(run(shell("exit 3")).status.success());
  EXPECT_EQ(run(shell("kill -KILL $$")).status.text(), "killed by signal 9 (SIGKILL)");
  EXPECT_FALSE(run(shell("kill -TERM $$")).status.success());
}

TEST(Process, says_why_a_command_cannot_start) {
  ProcessSpec spec = shell("");
  spec.argv = {"no-such-command-anywhere"};
  auto absent = Process::start(spec);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().message, "could not start 'no-such-command-anywhere': No such file or directory");
  spec.argv = {"/etc/passwd"};
  auto forbidden = Process::start(spec);
  ASSERT_FALSE(forbidden);
  EXPECT_EQ(forbidden.error().message, "could not start '/etc/passwd': Permission denied");
  spec = shell("exit 0");
  spec.folder = "/no/such/folder";
  auto nowhere = Process::start(spec);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message, "the folder /no/such/folder: No such file or directory");
  spec.argv = {};
  EXPECT_FALSE(Process::start(spec));
  spec = shell("exit 0");
  spec.env.push_back("LARGE=" + std::string(5u << 20, 'x'));
  EXPECT_FALSE(Process::start(spec));
}

TEST(Process, inherits_no_file_and_no_signal_settings) {
  Fd leaky(::open("/dev/null", O_RDONLY));  // without close-on-exec
  int high = ::fcntl(leaky.get(), F_DUPFD, 100);
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  auto old = ::signal(SIGHUP, SIG_IGN);
  Ended files = run(shell("ls /proc/self/fd | wc -l"));
  Ended blocked_before = run(shell("kill -TERM $$; echo survived"));
  Ended ignored_before = run(shell("kill -HUP $$; echo survived"));
  ::signal(SIGHUP, old);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(high);
  EXPECT_EQ(files.output, "4\n");  // 0, 1, 2 and the folder that ls reads
  EXPECT_EQ(blocked_before.output, "");
  EXPECT_EQ(ignored_before.output, "");
}

TEST(Process, a_signal_reaches_the_whole_group) {
  auto process = Process::start(shell("sleep 1000 & echo $!; wait"));
  ASSERT_TRUE(process);
  std::string output;
  read_until(*process, output, "\n");
  process->signal(SIGTERM);
  Ended ended = run_to_end(std::move(*process));
  EXPECT_EQ(ended.status.text(), "killed by signal 15 (SIGTERM)");
  EXPECT_TRUE(ends(std::atoi(output.c_str())));
}

TEST(Process, does_not_wait_for_what_the_command_left_behind_but_ends_it) {
  Ended ended = run(shell("sleep 1000 & echo $!"));
  EXPECT_TRUE(ended.status.success());
  EXPECT_TRUE(ends(std::atoi(ended.output.c_str())));
}

TEST(Process, goes_down_with_its_owner) {
  std::string output;
  {
    auto process = Process::start(shell("trap '' TERM; echo ready; sleep 1000"));
    ASSERT_TRUE(process);
    read_until(*process, output, "ready");
    output = std::to_string(process->pid());
  }
  EXPECT_TRUE(ends(std::atoi(output.c_str())));
}

TEST(Process, a_wake_up_ends_the_wait) {
  int ends_of_pipe[2];
  ASSERT_EQ(::pipe2(ends_of_pipe, O_CLOEXEC), 0);
  Fd in(ends_of_pipe[0]), out(ends_of_pipe[1]);
  auto process = Process::start(shell("sleep 1000"));
  ASSERT_TRUE(process);
  ASSERT_EQ(::write(out.get(), "x", 1), 1);
  process->wait(in.get(), seconds(60));  // returns at once
  EXPECT_FALSE(process->ended());
}

TEST(Process, survives_exit_statuses_being_ignored) {
  auto old = ::signal(SIGCHLD, SIG_IGN);
  Ended ended = run(shell("exit 3"));
  ::signal(SIGCHLD, old);
  EXPECT_EQ(ended.status.text(), "exit code 3");
}

TEST(ProcessGuard, kills_the_group_when_its_starter_is_killed) {
  int ends_of_pipe[2];
  ASSERT_EQ(::pipe2(ends_of_pipe, O_CLOEXEC), 0);
  pid_t starter = ::fork();
  if (starter == 0) {
    auto process = Process::start(shell("trap '' TERM HUP INT; sleep 1000 & echo $!; wait"));
    std::string output;
    read_until(*process, output, "\n");
    pid_t pids[2] = {process->pid(), std::atoi(output.c_str())};
    if (::write(ends_of_pipe[1], pids, sizeof pids) != sizeof pids) ::_exit(1);
    ::raise(SIGKILL);
  }
  pid_t pids[2] = {-1, -1};
  ASSERT_EQ(::read(ends_of_pipe[0], pids, sizeof pids), static_cast<ssize_t>(sizeof pids));
  EXPECT_TRUE(ends(pids[0]));
  EXPECT_TRUE(ends(pids[1]));
  ::waitpid(starter, nullptr, 0);
  ::close(ends_of_pipe[0]);
  ::close(ends_of_pipe[1]);
}

TEST(ProcessGuard, leaves_the_group_alone_once_released) {
  auto process = Process::start(shell("read line; echo got $line; exec sleep 1000", "x\n"));
  ASSERT_TRUE(process);
  {
    ProcessGuard second = ProcessGuard::start();
    second.watch(process->pid());
    pid_t guard = second.pid();
    second.release();
    EXPECT_TRUE(ends(guard));
  }
  EXPECT_FALSE(process->ended());
}

}  // namespace
}  // namespace ctrlplane::agent
