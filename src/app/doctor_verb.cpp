#include "app/doctor_verb.h"

#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/core.h>

#include "app/settings.h"
#include "base/log.h"
#include "cli/console.h"
#include "cli/json_text.h"
#include "cli/text.h"

namespace ctrlplane::app {
namespace {

constexpr std::string_view kFooter =
    "Reads only; a server may be running. On PostgreSQL, and where decisions are due, it looks twice, three\n"
    "seconds apart. Exit codes: 0 healthy (there may be warnings); 1 problems found; 2 wrong use.\n\n"
    "Example:\n"
    "  ctrlplane doctor --database sqlite:/var/lib/ctrlplane/ctrlplane.db";

struct DoctorVerb {
  DoctorOptions options;
  std::string output = "text";
};

int run(const DoctorVerb& verb) {
  log::set_level(log::Level::kOff);  // what goes wrong is told as a finding
  SystemClock clock;
  cli::Console console = cli::process_console(clock);
  const Diagnosis diagnosis = diagnose(verb.options, clock, console.pause);
  console.out << (verb.output == "json"
                      ? diagnosis_json(diagnosis, without_password(verb.options.database)) + "\n"
                      : diagnosis_text(diagnosis));
  console.out.flush();
  if (!console.out.good()) {
    console.err << "ctrlplane: the output could not be written\n";
    return 1;
  }
  return diagnosis.healthy() ? 0 : 1;
}

std::string plural(size_t n, std::string_view word) {
  return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

}  // namespace

std::string diagnosis_text(const Diagnosis& diagnosis) {
  size_t width = 0;
  for (const Finding& f : diagnosis.findings) width = std::max(width, cli::columns_of(f.check));
  std::string out;
  for (const Finding& f : diagnosis.findings) {
    const std::string check = cli::printable(f.check);
    out += fmt::format("{:<8} {}{}  {}\n", to_string(f.health), check,
                       std::string(width - std::min(width, cli::columns_of(check)), ' '),
                       cli::printable(f.message));
    if (!f.advice.empty())
      out += fmt::format("{}-> {}\n", std::string(width + 11, ' '), cli::printable(f.advice));
  }
  const size_t problems = diagnosis.count(Health::kProblem), warnings = diagnosis.count(Health::kWarning);
  out += problems > 0 ? "\n" + plural(problems, "problem") : "\nhealthy";
  if (warnings > 0) out += ", " + plural(warnings, "warning");
  return out + "\n";
}

std::string diagnosis_json(const Diagnosis& diagnosis, const std::string& database) {
  boost::json::array checks;
  for (const Finding& f : diagnosis.findings) {
    boost::json::object check = {
        {"status", std::string(to_string(f.health))}, {"check", f.check}, {"message", f.message}};
    if (!f.advice.empty()) check["advice"] = f.advice;
    if (!f.counts.empty()) {
      boost::json::object counts;
      for (const auto& [name, n] : f.counts) counts[name] = n;
      check["counts"] = std::move(counts);
    }
    checks.push_back(std::move(check));
  }
  return cli::pretty_json(boost::json::object{{"healthy", diagnosis.healthy()},
                                              {"database", database},
                                              {"problems", diagnosis.count(Health::kProblem)},
                                              {"warnings", diagnosis.count(Health::kWarning)},
                                              {"checks", std::move(checks)}});
}

void add_doctor_verb(CLI::App& app, int& exit_code) {
  auto verb = std::make_shared<DoctorVerb>();
  CLI::App* a = app.add_subcommand("doctor", "Check a database: settings, disk, integrity, workspaces");
  a->footer(std::string(kFooter));
  a->add_option("--database", verb->options.database, "as for serve: sqlite:FILE, or postgresql://…")
      ->envname("CTRLPLANE_DATABASE")
      ->default_val(ServeSettings{}.database);
  a->add_flag("--full", verb->options.full_integrity, "SQLite: compare indexes with their tables too (slow)");
  a->add_option("-o,--output", verb->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  a->callback([verb, &exit_code] { exit_code = run(*verb); });
}

}  // namespace ctrlplane::app
