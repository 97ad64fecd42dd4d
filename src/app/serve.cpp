#include "app/serve.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include <fmt/core.h>

#include "api/secret.h"
#include "app/server.h"
#include "base/log.h"

namespace ctrlplane::app {
namespace {

log::Level level_of(const std::string& word) {
  if (word == "debug") return log::Level::kDebug;
  if (word == "warning") return log::Level::kWarning;
  if (word == "error") return log::Level::kError;
  if (word == "off") return log::Level::kOff;
  return log::Level::kInfo;
}

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void greet(const Server& server) {
  say("ctrlplane is serving on " + server.url());
  if (!server.first_key().empty()) {
    say("This is the first start. The administrator's API key, shown only now:");
    say("  " + server.first_key());
  }
  if (!server.first_password().empty()) say("Its password: " + server.first_password());
}

}  // namespace

int serve(const ServeSettings& settings) {
  if (settings.print_config) {
    std::fputs(describe(settings).c_str(), stdout);
    return 0;
  }
  log::set_level(level_of(settings.log_level));
  log::set_format(settings.log_format == "json" ? log::Format::kJson : log::Format::kText);
  api::init_secrets();

  // Signals are waited for here and nowhere else: every thread started from now on has them blocked.
  sigset_t stops;
  sigemptyset(&stops);
  for (int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&stops, s);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error to be answered, not an end

  auto server = Server::start(settings);
  if (!server) {
    fmt::print(stderr, "ctrlplane: cannot start: {}\n", server.error().message);
    return 1;
  }
  greet(**server);
  log::info("serving", {{"url", (*server)->url()}, {"database", without_password(settings.database)}});

  int received = 0;
  sigwait(&stops, &received);
  log::info("stopping", {{"signal", std::to_string(received)}});
  // A second signal does not wait any longer.
  std::thread impatience([stops] {
    int second = 0;
    sigwait(&stops, &second);
    _exit(130);
  });
  impatience.detach();
  bool clean = (*server)->stop(seconds(settings.shutdown_seconds));
  server->reset();
  log::info("stopped", {{"clean", clean ? "yes" : "no"}});
  return clean ? 0 : 1;
}

}  // namespace ctrlplane::app
