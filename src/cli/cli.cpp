#include "cli/cli.h"

#include <CLI/CLI.hpp>

#include "cli/verb.h"

namespace ctrlplane::cli {
namespace {

constexpr std::string_view kFooter =
    "Exit codes: 0 done; 1 the server refused or something failed; 2 wrong use; 3 server not reachable;\n"
    "            4 --wait: a job failed; 5 --wait: time ran out;\n"
    "            6 freeze check: frozen; 7 freeze check: partly frozen.\n"
    "Settings of the client verbs: flag, then CTRLPLANE_URL, CTRLPLANE_API_KEY, CTRLPLANE_WORKSPACE,\n"
    "            then ctrlplane/config.yaml in $XDG_CONFIG_HOME or ~/.config (url, apiKey, workspace).\n";

// The process's own frame, with the clock that its console reads.
struct ProcessFrame {
  SystemClock clock;
  Frame frame;
  explicit ProcessFrame(int& exit_code) : frame{process_console(clock), exit_code} {}
};

void finish(Frame& frame, Outcome<int> result) {
  frame.console.out.flush();
  if (result && !frame.console.out.good()) result = failed("the output could not be written");
  frame.exit_code = result ? *result : result.error().exit_code;
  if (!result) print(frame.console.err, result.error());
}

Outcome<int> run_verb(Frame& frame, const Flags& flags, const Run& run) {
  Output output = TRY(parse_output(flags.output));
  Settings settings = TRY(read_settings(flags, frame.console));
  Client client(std::move(settings), frame.console);
  Session session{frame.console, client, output};
  try {
    TRY(run(session));
    return session.exit_code;
  } catch (const std::exception& e) {  // out of memory, and what a library may still throw
    return failed(e.what());
  }
}

}  // namespace

std::string not_empty(const std::string& text) { return text.empty() ? "is empty" : ""; }

CLI::App* add_verb(CLI::App& parent, const FramePtr& frame, const std::string& name, const std::string& about,
                   const std::string& example, Run run) {
  CLI::App* verb = parent.add_subcommand(name, about);
  verb->footer("Example:\n" + example);
  auto flags = std::make_shared<Flags>();
  constexpr const char* kGroup = "Common";
  verb->add_option("--url", flags->url, "where the server is [CTRLPLANE_URL]")->group(kGroup);
  verb->add_option("--api-key", flags->api_key, "who asks [CTRLPLANE_API_KEY]")->group(kGroup);
  verb->add_option("-w,--workspace", flags->workspace, "id or slug [CTRLPLANE_WORKSPACE]")->group(kGroup);
  verb->add_option("--ca-file", flags->ca_file, "certificates to trust, PEM [CTRLPLANE_CA_FILE]")
      ->group(kGroup);
  verb->add_flag("--insecure", flags->insecure, "take any certificate")->group(kGroup);
  verb->add_option("-o,--output", flags->output, "table, wide, json, yaml or name")->group(kGroup);
  verb->callback([frame, flags, run = std::move(run)] { finish(*frame, run_verb(*frame, *flags, run)); });
  return verb;
}

void add_verbs(CLI::App& app, const FramePtr& frame) {
  add_apply(app, frame);
  add_get(app, frame);
  add_delete(app, frame);
  add_version(app, frame);
  add_targets(app, frame);
  add_why(app, frame);
  add_replicas(app, frame);
  add_jobs(app, frame);
  add_freeze(app, frame);
  add_brackets(app, frame);
  add_watch(app, frame);
  add_completion(app, frame);
  // As a function, because a text would be passed on to every verb that is added later.
  app.footer([] { return std::string(kFooter); });
}

void add_client_verbs(CLI::App& app, int& exit_code) {
  auto process = std::make_shared<ProcessFrame>(exit_code);
  add_verbs(app, FramePtr(process, &process->frame));
}

}  // namespace ctrlplane::cli
