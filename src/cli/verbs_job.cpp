// jobs, and one job: what it is, what it printed, ending it.
#include <ostream>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/duration.h"
#include "cli/json_text.h"
#include "cli/lists.h"
#include "cli/names.h"
#include "cli/rollout.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verb.h"
#include "cli/watch.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr size_t kLastLines = 20;

struct JobsArguments {
  std::string status, deployment, agent;
  ListOptions list;
};

Outcome<void> jobs(Session& s, const JobsArguments& a) {
  Query query;
  if (!a.status.empty()) query.emplace_back("status", a.status);
  if (!a.deployment.empty())
    query.emplace_back("deploymentId", TRY(id_of(s.client, kind("deployment"), a.deployment)));
  if (!a.agent.empty()) query.emplace_back("jobAgentId", TRY(id_of(s.client, kind("agent"), a.agent)));
  const Kind& k = kind("job");
  return show_list(s, k, TRY(list_path(s.client, k)), query, a.list);
}

// W/jobs/{id}
Outcome<std::string> job_path(Session& s, std::string reference) {
  if (reference.starts_with("job/")) reference.erase(0, 4);  // as -o name writes it
  std::string id = TRY(id_of(s.client, kind("job"), reference));
  return fmt::format("{}/jobs/{}", TRY(s.client.workspace_path()), segment(id));
}

Outcome<std::string> job_status(Session& s, const std::string& path) {
  bj::value job = TRY(s.client.get(path));
  return text_at(job, member_at(job, "job") ? "job.status" : "status");
}

// Prints a job's output from where it left off.
class OutputPrinter {
 public:
  OutputPrinter(Session& session, std::string job_path) : session_(session), path_(std::move(job_path)) {}

  Outcome<std::string> next() {
    bj::value answer = TRY(session_.client.get(path_ + query_text({{"offset", std::to_string(position_)}})));
    std::string text;
    const bj::value* chunks = member_at(answer, "chunks");
    if (!chunks || !chunks->is_array()) return text;
    for (const bj::value& chunk : chunks->get_array()) {
      const bj::value* at = member_at(chunk, "offset");
      int64_t offset = at && at->is_int64() ? at->get_int64() : position_;
      std::string piece = text_at(chunk, "text");
      if (offset > position_) text += fmt::format("\n[{} bytes left out]\n", offset - position_);
      // A piece may begin before what has been printed already.
      size_t seen = offset < position_ ? static_cast<size_t>(position_ - offset) : 0;
      if (seen < piece.size()) text += piece.substr(seen);
      position_ = std::max(position_, offset + static_cast<int64_t>(piece.size()));
    }
    return text;
  }

 private:
  Session& session_;
  std::string path_;
  int64_t position_ = 0;
};

Outcome<void> logs(Session& s, const std::string& reference, bool follow) {
  std::string path = TRY(job_path(s, reference));
  OutputPrinter printer(s, path + "/output");
  while (true) {
    // Asked first: whatever was printed before the end is then in what is read next.
    bool ended = !follow || has_ended(TRY(job_status(s, path)));
    s.console.out << TRY(printer.next());
    s.console.out.flush();
    if (ended || !s.console.out.good()) return {};
    s.console.pause(seconds(1));
  }
}

std::string last_lines(std::string_view text, size_t lines) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  size_t at = text.size();
  for (; lines > 0 && at != std::string_view::npos && at > 0; --lines) at = text.rfind('\n', at - 1);
  if (lines == 0 && at != std::string_view::npos) text.remove_prefix(at + 1);
  return std::string(text);
}

std::string job_text(const Console& console, const bj::value& found) {
  std::string text;
  auto line = [&](std::string_view title, std::string_view path, bool is_status = false) {
    std::string value = printable(text_at(found, path));
    if (value.empty()) return;
    text += fmt::format("{:<12} {}\n", title,
                        coloured(value, is_status ? tone_of(value) : Tone::kPlain, console.colour));
  };
  line("job", "job.id");
  line("status", "job.status", true);
  line("message", "job.message");
  line("deployment", "deployment.name");
  line("environment", "environment.name");
  line("resource", "resource.name");
  line("version", "release.version.tag");
  line("agent", "job.jobAgentId");
  line("external id", "job.externalId");
  line("created", "job.createdAt");
  line("started", "job.startedAt");
  line("ended", "job.completedAt");
  return text;
}

Outcome<void> show(Session& s, const std::string& reference) {
  std::string path = TRY(job_path(s, reference));
  bj::value found = TRY(s.client.get(path + "/with-release"));
  if (s.output == Output::kJson || s.output == Output::kYaml || s.output == Output::kName) {
    s.console.out << item_text(s.console, s.output, kind("job"), found);
    return {};
  }
  s.console.out << job_text(s.console, found);
  // A server without output for this job has said enough above.
  if (auto output = OutputPrinter(s, path + "/output").next(); output && !output->empty())
    s.console.out << "\nlast lines of its output:\n" << last_lines(*output, kLastLines) << '\n';
  return {};
}

struct CancelArguments {
  std::string job, timeout = "30m";
  bool wait = false;
};

Outcome<void> cancel(Session& s, const CancelArguments& a) {
  auto timeout = parse_duration(a.timeout);
  if (!timeout) return wrong_use(fmt::format("--timeout takes a duration like 30m, not '{}'", a.timeout));
  std::string path = TRY(job_path(s, a.job));
  std::string name = printable(path.substr(path.rfind('/') + 1));
  TRY(s.client.send("POST", path + "/cancel"));
  s.console.out << "job/" << name << " is asked to stop\n";
  s.console.out.flush();
  if (!a.wait) return {};
  Waiting waiting(s, TRY(s.client.workspace_path()), *timeout);
  while (true) {
    waiting.look();
    std::string status = TRY(job_status(s, path));
    if (has_ended(status)) {
      s.console.out << "job/" << name << " is " << printable(status) << '\n';
      return {};
    }
    if (!waiting.again())
      return std::unexpected(
          Failure{.exit_code = kTimedOut, .message = fmt::format("time ran out: the job is {}", status)});
  }
}

}  // namespace

void add_jobs(CLI::App& app, const FramePtr& frame) {
  auto a = std::make_shared<JobsArguments>();
  CLI::App* list = add_verb(app, frame, "jobs", "Show jobs, newest first",
                            "  ctrlplane jobs --deployment api --status failure --limit 20",
                            [a](Session& s) { return jobs(s, *a); });
  list->add_option("--status", a->status, "only in this status");
  list->add_option("--deployment", a->deployment, "only of this deployment");
  list->add_option("--agent", a->agent, "only of this job agent");
  add_list_options(*list, a->list);

  CLI::App* group = app.add_subcommand("job", "Show a job, read its output, or cancel it");
  group->require_subcommand(1);
  group->footer("Example:\n  ctrlplane job logs 0190b3c1-52 -f");
  constexpr const char* kWhich = "its id or the beginning of it";

  auto shown = std::make_shared<std::string>();
  add_verb(*group, frame, "show", "Show a job and the last lines of its output",
           "  ctrlplane job show 0190b3c1-52", [shown](Session& s) { return show(s, *shown); })
      ->add_option("job", *shown, kWhich)
      ->required();

  struct LogArguments {
    std::string job;
    bool follow = false;
  };
  auto l = std::make_shared<LogArguments>();
  CLI::App* log =
      add_verb(*group, frame, "logs", "Print what a job printed", "  ctrlplane job logs 0190b3c1-52 -f",
               [l](Session& s) { return logs(s, l->job, l->follow); });
  log->add_option("job", l->job, kWhich)->required();
  log->add_flag("-f,--follow", l->follow, "go on until the job has ended");

  auto c = std::make_shared<CancelArguments>();
  CLI::App* stop =
      add_verb(*group, frame, "cancel", "Cancel a job", "  ctrlplane job cancel 0190b3c1-52 --wait",
               [c](Session& s) { return cancel(s, *c); });
  stop->add_option("job", c->job, kWhich)->required();
  stop->add_flag("--wait", c->wait, "until it has ended");
  stop->add_option("--timeout", c->timeout, "how long to wait; 30m unless given");
}

}  // namespace ctrlplane::cli
