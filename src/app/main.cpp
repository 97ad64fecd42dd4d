#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <thread>

#include <CLI/CLI.hpp>

#include "agent/agent.h"
#include "app/agent_verb.h"
#include "app/backup_verb.h"
#include "app/doctor_verb.h"
#include "app/restored_verb.h"
#include "app/serve.h"
#include "cli/cli.h"

int main(int argc, char** argv) {
  using namespace ctrlplane;
  CLI::App app("ctrlplane decides which targets get which version, when, and under which gates.",
               "ctrlplane");
  app.set_version_flag("--version", "ctrlplane " CTRLPLANE_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;

  app::ServeSettings settings;
  CLI::App* serve = app.add_subcommand("serve", "Run the server");
  serve->footer("Example:\n  ctrlplane serve --listen 127.0.0.1:8080 --database sqlite:ctrlplane.db");
  app::add_serve_options(*serve, settings);
  serve->callback([&] { exit_code = app::serve(settings); });

  app::AgentVerb agent;
  app::add_agent_verb(app, agent, exit_code);
  app::add_backup_verb(app, exit_code);
  app::add_doctor_verb(app, exit_code);
  app::add_restored_verb(app, exit_code);
  cli::add_client_verbs(app, exit_code);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;  // 0: help and version
  }
  return exit_code;
}
