#include "app/backup_verb.h"

#include <pthread.h>
#include <signal.h>

#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "app/doctor_store.h"
#include "app/settings.h"
#include "cli/console.h"
#include "cli/table.h"
#include "store/sqlite/backup.h"

namespace ctrlplane::app {
namespace {

constexpr std::string_view kFooter =
    "The copy is one moment of the database, checked, and appears under its name only when it is whole.\n"
    "Exit codes: 0 done; 1 failed; 2 wrong use. PostgreSQL has pg_dump: its command is printed instead.\n\n"
    "Example:\n"
    "  ctrlplane backup --database sqlite:/var/lib/ctrlplane/ctrlplane.db --to /backup/ctrlplane.db";

struct BackupVerb {
  std::string database, to;
  bool force = false;
};

// Signals that end the backup, taken between its steps: so nothing half-written is left.
class Stops {
 public:
  Stops() {
    sigemptyset(&set_);
    for (int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set_, s);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error to be told
  }
  bool any() const {
    const timespec at_once{};
    return sigtimedwait(&set_, nullptr, &at_once) > 0;
  }

 private:
  sigset_t set_;
};

std::string report_text(const store::BackupReport& report, const std::string& to) {
  std::string out = fmt::format("{}: {}, schema {}, checked\n", to, bytes_text(report.bytes), report.schema);
  cli::Table table({"WORKSPACE", "SEQ", "ID"});
  for (const store::Owner& o : report.owners) {
    auto slug = report.slugs.find(o.workspace);
    std::string name = slug != report.slugs.end() ? slug->second : "(deleted)";
    if (o.workspace == kInstanceWorkspace) name = "(instance)";
    table.add({{name}, {std::to_string(o.seq)}, {o.workspace.str()}});
  }
  return out + table.render(0, false);
}

int run_sqlite(const BackupVerb& verb, cli::Console& console) {
  Stops stops;
  cli::ProgressLine line(console);
  store::BackupOptions options{.overwrite = verb.force};
  options.progress = [&](int64_t done, int64_t pages) {
    if (console.err_is_terminal)
      line.show(done < pages ? fmt::format("copying, {} %", pages ? done * 100 / pages : 0)
                             : "checking the copy");
    return !stops.any();
  };
  auto report = store::backup_sqlite(verb.database.substr(7), verb.to, options);
  line.clear();
  if (report) {
    console.out << report_text(*report, verb.to);
    console.out.flush();
    return 0;
  }
  const ErrorCode code = report.error().code;
  console.err << "ctrlplane: " << report.error().message << "\n";
  if (code == ErrorCode::kConflict && report.error().message.ends_with("is there already"))
    console.err << "  --force replaces it\n";
  return code == ErrorCode::kInvalid || code == ErrorCode::kNotFound ? 2 : 1;
}

// Nothing was copied: a script must not take this for a backup.
int run_postgres(const BackupVerb& verb, cli::Console& console) {
  console.err << "ctrlplane: nothing was copied. PostgreSQL makes its own backups; a consistent one, while "
                 "servers run:\n";
  console.out << pg_dump_command(verb.database, verb.to) << "\n";
  console.out.flush();
  console.err << "  pg_restore brings it back; give a password by PGPASSWORD or ~/.pgpass. For large "
                 "databases: pg_basebackup and WAL archiving.\n";
  return 2;
}

int run(const BackupVerb& verb) {
  SystemClock clock;
  cli::Console console = cli::process_console(clock);
  if (verb.database.starts_with("sqlite:")) return run_sqlite(verb, console);
  if (verb.database.starts_with("postgres://") || verb.database.starts_with("postgresql://") ||
      verb.database.find('=') != std::string::npos)
    return run_postgres(verb, console);
  console.err << fmt::format("ctrlplane: database: '{}' is neither sqlite:FILE nor postgresql://…\n",
                             verb.database);
  return 2;
}

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

void drop(std::string& text, std::string_view part, std::string_view instead) {
  if (size_t at = text.find(part); at != std::string::npos) text.replace(at, part.size(), instead);
}

}  // namespace

std::string pg_dump_command(const std::string& conninfo, const std::string& to) {
  std::string shown = without_password(conninfo);
  drop(shown, ":***@", "@");
  drop(shown, "password=***", "");
  return fmt::format("pg_dump --format=custom --file={} --dbname={}", shell_quoted(to), shell_quoted(shown));
}

void add_backup_verb(CLI::App& app, int& exit_code) {
  auto verb = std::make_shared<BackupVerb>();
  CLI::App* a = app.add_subcommand("backup", "Copy an SQLite database while its server runs");
  a->footer(std::string(kFooter));
  a->add_option("--database", verb->database, "as for serve: sqlite:FILE")
      ->envname("CTRLPLANE_DATABASE")
      ->default_val(ServeSettings{}.database);
  a->add_option("--to", verb->to, "the copy's name")->required();
  a->add_flag("--force", verb->force, "replace a file that is there");
  a->callback([verb, &exit_code] { exit_code = run(*verb); });
}

}  // namespace ctrlplane::app
