#include "app/agent_verb.h"

#include <pthread.h>
#include <signal.h>

#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "base/clock.h"
#include "base/log.h"

namespace ctrlplane::app {
namespace {

constexpr std::string_view kFooter =
    "The command gets the job's context as JSON on standard input and in CTRLPLANE_* variables.\n\n"
    "Example:\n"
    "  ctrlplane agent --workspace acme --name shell -- sh -c 'echo \"$CTRLPLANE_VERSION_TAG\"'";

int run(AgentVerb& verb) {
  log::set_format(verb.log_format == "json" ? log::Format::kJson : log::Format::kText);
  for (const std::string& pair : verb.selector) {
    size_t at = pair.find('=');
    if (at == 0 || at == std::string::npos) {
      fmt::print(stderr, "ctrlplane: --selector wants KEY=VALUE, not '{}'\n", pair);
      return 2;
    }
    verb.options.selector.emplace_back(pair.substr(0, at), pair.substr(at + 1));
  }
  verb.options.keep_on_lost = verb.on_lost == "keep";
  verb.options.poll_every = microseconds(static_cast<int64_t>(verb.poll_seconds * 1e6));
  verb.options.stop_grace = microseconds(static_cast<int64_t>(verb.stop_grace_seconds * 1e6));
  verb.options.tls.verify_tls = !verb.insecure;

  sigset_t stops;
  sigemptyset(&stops);
  for (int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&stops, s);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  signal(SIGPIPE, SIG_IGN);
  SystemClock clock;
  agent::Agent agent(verb.options, clock);
  std::jthread signals([&](std::stop_token ended) {
    timespec moment{.tv_sec = 0, .tv_nsec = 200'000'000};
    while (!ended.stop_requested())
      if (sigtimedwait(&stops, nullptr, &moment) > 0) agent.stop();
  });
  return agent.run();
}

}  // namespace

void add_agent_verb(CLI::App& app, AgentVerb& verb, int& exit_code) {
  CLI::App* a = app.add_subcommand("agent", "Run a pull agent: a command for each job");
  a->footer(std::string(kFooter));
  auto& o = verb.options;
  a->add_option("--url", o.url, "the server")->envname("CTRLPLANE_URL")->default_val("http://127.0.0.1:8080");
  a->add_option("--api-key", o.api_key, "its key")->envname("CTRLPLANE_API_KEY")->required();
  a->add_option("-w,--workspace", o.workspace, "id or slug")->envname("CTRLPLANE_WORKSPACE")->required();
  a->add_option("--name", o.name, "of the job agent; registered if it is not there")
      ->envname("CTRLPLANE_AGENT_NAME")
      ->required();
  a->add_option(
       "--selector", verb.selector,
       "KEY=VALUE: only jobs whose kind, environment, deployment or resource metadata fits; all must")
      ->allow_extra_args(false);
  a->add_option("--concurrency", o.concurrency, "commands at once")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  a->add_option("--poll-seconds", verb.poll_seconds, "between looks for work")
      ->check(CLI::Range(0.05, 3600.0))
      ->capture_default_str();
  a->add_option("--on-lost", verb.on_lost,
                "when the server cannot be reached: stop the command before the lease ends, or keep it")
      ->check(CLI::IsMember({"stop", "keep"}))
      ->capture_default_str();
  a->add_option("--stop-grace-seconds", verb.stop_grace_seconds, "from SIGTERM to SIGKILL")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  a->add_option("--work-dir", o.work_dir, "where commands run; a temporary folder per job if not set");
  a->add_flag("--once", o.once, "end when nothing waits");
  a->add_option("--ca-file", o.tls.ca_file, "certificates to trust")->envname("CTRLPLANE_CA_FILE");
  a->add_flag("--insecure", verb.insecure, "do not check the server's certificate");
  a->add_option("--log-format", verb.log_format, "how to log")->check(CLI::IsMember({"text", "json"}));
  a->add_option("command", o.command, "what to run for each job, behind --")->required();
  a->callback([&verb, &exit_code] { exit_code = run(verb); });
}

}  // namespace ctrlplane::app
