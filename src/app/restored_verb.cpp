#include "app/restored_verb.h"

#include <iostream>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "api/secret.h"
#include "app/doctor.h"
#include "app/settings.h"
#include "base/log.h"
#include "cli/console.h"
#include "cli/table.h"
#include "cli/text.h"
#include "engine/restore.h"
#include "runtime/store_port.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/read_only_db.h"
#include "store/sqlite/sqlite_store.h"

namespace ctrlplane::app {
namespace {

constexpr std::string_view kFooter =
    "Run it once after a backup was put back, with every server stopped, before one starts. Each workspace "
    "is\n"
    "frozen; jobs that had not ended in the backup become actionRequired, because they may have run since; "
    "and\n"
    "nothing that waited to be sent is sent. Repeating it does no harm, nor does an end in the middle: run "
    "it\n"
    "again. It asks first; where there is no terminal it needs --yes.\n"
    "Exit codes: 0 done; 1 failed; 2 wrong use.\n\n"
    "Example:\n"
    "  ctrlplane restored --database sqlite:/var/lib/ctrlplane/ctrlplane.db";

constexpr size_t kRowsPerCommit = 500;
constexpr Duration kBetweenLooks = seconds(3);  // replicas beat every two

struct RestoredVerb {
  std::string database;
  bool yes = false;
};

struct Outcome {
  std::string slug;
  RestorePoint point;
  FreezeId freeze;
  std::optional<Time> expires_at;
  size_t to_decide = 0;
  bool was_frozen = false;  // by an earlier run
};

// ---- One workspace -----------------------------------------------------------------------------------

// Its only writer, as the loop of a server would be: whoever still has it is fenced out.
class Takeover {
 public:
  static Result<Takeover> of(store::Store& store, WorkspaceId workspace) {
    store::Token present;
    for (const store::Owner& o : TRY(store.owners()))
      if (o.workspace == workspace) present = o.token;
    Takeover out(store, store::Token{api::random_uuid()});
    out.loaded_.owner =
        TRY(store.acquire(workspace, store::ReplicaId{api::random_uuid()}, present, out.token_));
    out.loaded_ = TRY(load_state(store, workspace, out.token_));
    out.nonce_ = out.token_.uuid.low() ^ out.token_.uuid.high();
    return out;
  }

  const State& state() const { return *loaded_.state; }
  Time last_commit() const { return loaded_.owner.last_now; }

  // fn(Tx&) as one commit; what it returns. Nothing is committed where it changes nothing.
  template <class Fn>
  auto commit(Time now, Fn&& fn) -> Result<decltype(fn(std::declval<Tx&>()))> {
    store::Commit commit{.workspace = loaded_.owner.workspace, .token = token_, .seq = loaded_.owner.seq + 1};
    Tx tx(*loaded_.state, now, {}, IdSource(now, mix64(nonce_ += 0x632be59bd9b4e019ull)), commit.changes);
    auto out = fn(tx);
    if (commit.changes.empty()) return out;
    commit.now = now;
    commit.next_due_at = loaded_.state->timers.next();
    switch (store_->commit({&commit, 1}).front()) {
      case store::CommitOutcome::kDurable: break;
      case store::CommitOutcome::kFenced:
        return fail(ErrorCode::kConflict, "a server has taken it meanwhile: stop every server");
      case store::CommitOutcome::kInDoubt:
        return fail(ErrorCode::kUnknown, "the database did not say whether a commit was made");
    }
    loaded_.owner.seq = commit.seq;
    return out;
  }

  // The next server need not wait for a lease.
  Status release() { return store_->release(loaded_.owner.workspace, token_); }

 private:
  Takeover(store::Store& store, store::Token token) : store_(&store), token_(token) {}

  store::Store* store_;
  store::Token token_;
  Loaded loaded_;
  uint64_t nonce_ = 0;
};

Result<Outcome> restore(store::Store& store, WorkspaceId workspace, Time wall) {
  Takeover taken = TRY(Takeover::of(store, workspace));
  Outcome out{.point = restore_point(taken.state(), taken.last_commit(), wall)};
  const RestorePoint& point = out.point;
  out.was_frozen = !point.freeze.is_nil();
  out.freeze = point.freeze;
  if (!out.was_frozen) {
    Result<FreezeId> frozen =
        TRY(taken.commit(point.now, [&](Tx& tx) { return freeze_restored(tx, point); }));
    out.freeze = TRY(std::move(frozen));
  }
  for (bool done = false; !done;) {
    auto step = [&](Tx& tx) { return forget_some_intentions(tx, point, kRowsPerCommit); };
    done = TRY(taken.commit(point.now, step)).done();
  }
  out.expires_at = taken.state().freezes[taken.state().freezes.find(out.freeze)].row.expires_at;
  out.to_decide = jobs_to_decide(taken.state());
  TRY(taken.release());
  return out;
}

// ---- The store -----------------------------------------------------------------------------------------

bool is_sqlite(const std::string& url) { return url.starts_with("sqlite:"); }
bool is_postgres(const std::string& url) {
  return url.starts_with("postgres://") || url.starts_with("postgresql://") ||
         url.find('=') != std::string::npos;
}

Result<std::unique_ptr<store::Store>> open_sqlite(const std::string& path) {
  if (path.empty()) return fail(ErrorCode::kInvalid, "database: sqlite: wants a file name behind it");
  if (store::in_use_by_a_server(path))
    return fail(ErrorCode::kConflict, fmt::format("{}: a server is running on it: stop it first", path));
  TRY(store::ReadOnlyDb::open(path));  // a file that is not there must not be made
  return TRY(store::SqliteStore::open(path));
}

Status nobody_runs(store::Store& store, cli::Console& console) {
  const std::vector<store::Replica> before = TRY(store.replicas());
  if (before.empty() || store.exclusive()) return {};
  console.err << "looking whether a server is running\n";
  console.pause(kBetweenLooks);
  const Servers servers = compare_beats(before, TRY(store.replicas()));
  if (!servers.running) return {};
  std::vector<std::string> where;
  for (const auto& [id, replica] : servers.alive) where.push_back(cli::printable(replica.address));
  return fail(ErrorCode::kConflict,
              fmt::format("servers are running on it: {}: stop them first", fmt::join(where, ", ")));
}

Result<std::unique_ptr<store::Store>> open_alone(const std::string& url, cli::Console& console) {
  if (!is_sqlite(url) && !is_postgres(url))
    return fail(ErrorCode::kInvalid,
                fmt::format("database: '{}' is neither sqlite:FILE nor postgresql://…", url));
  std::unique_ptr<store::Store> store;
  if (is_sqlite(url))
    store = TRY(open_sqlite(url.substr(7)));
  else
    store = TRY(store::PostgresStore::open(url));
  TRY(store->migrate());
  TRY(nobody_runs(*store, console));
  return store;
}

Result<std::map<WorkspaceId, std::string>> workspaces_of(store::Store& store) {
  auto instance = load_state(store, kInstanceWorkspace, std::nullopt);
  if (!instance && instance.error().code == ErrorCode::kNotFound)
    return fail(ErrorCode::kNotFound, "no server has ever run on this database: nothing was restored");
  const Loaded loaded = TRY(std::move(instance));
  std::map<WorkspaceId, std::string> slugs;
  for (const auto& [id, row] : loaded.state->workspaces) slugs.emplace(id, row.slug);
  return slugs;
}

// ---- Words ---------------------------------------------------------------------------------------------

std::string result_text(const std::vector<Outcome>& all) {
  cli::Table table({"WORKSPACE", "BACKUP OF", "JOBS TO DECIDE", "FREEZE", "NOTE"});
  for (const Outcome& o : all) {
    std::string note = o.was_frozen ? "an earlier run had frozen it" : "";
    if (o.expires_at)
      note += fmt::format("{}expires {}, as its settings demand", note.empty() ? "" : "; ",
                          format_rfc3339(*o.expires_at));
    table.add({{cli::printable(o.slug)},
               {o.point.backup_of == Time{} ? "" : format_rfc3339(o.point.backup_of)},
               {std::to_string(o.to_decide)},
               {o.freeze.str()},
               {note}});
  }
  return table.render(0, false);
}

std::string next_steps(const std::vector<Outcome>& all) {
  const std::string slug = cli::printable(all.front().slug), freeze = all.front().freeze.str();
  return fmt::format(
      "\nNothing starts in these workspaces. Next, for each of them:\n"
      "  1. Start a server; leave the agents stopped.\n"
      "  2. See which jobs may have run since the backup, and find out what became of each:\n"
      "       ctrlplane jobs -w {0} --status actionRequired\n"
      "     and say so (or `ctrlplane job cancel JOB` for one that did not run and shall not):\n"
      "       POST /api/v1/workspaces/{0}/jobs/JOB/decide {{\"status\": \"successful\", \"reason\": \"…\"}}\n"
      "     One that nobody decides keeps its release target: nothing else is deployed there.\n"
      "  3. Register again what was published since the backup.\n"
      "  4. Start the agents, and let work go on:\n"
      "       ctrlplane thaw {1} -w {0} --reason \"…\"\n",
      slug, freeze);
}

// ---- The verb ------------------------------------------------------------------------------------------

bool confirmed(const RestoredVerb& verb, size_t workspaces, cli::Console& console) {
  if (verb.yes) return true;
  console.err << fmt::format(
      "{}: freezes {} and leaves all their unfinished jobs to people.\n"
      "Only if a backup was put back there. Go on? [y/N] ",
      cli::printable(without_password(verb.database)),
      workspaces == 1 ? "its workspace" : fmt::format("its {} workspaces", workspaces));
  console.err.flush();
  std::string answer;
  std::getline(console.in, answer);
  answer = cli::lower(answer);
  return answer == "y" || answer == "yes";
}

int failed(cli::Console& console, const Error& error) {
  console.err << "ctrlplane: " << cli::printable(error.message) << "\n";
  return error.code == ErrorCode::kInvalid || error.code == ErrorCode::kNotFound ? 2 : 1;
}

// The rest is tried although one fails: the more is frozen the better.
int restore_all(store::Store& store, const std::map<WorkspaceId, std::string>& slugs, cli::Console& console) {
  std::vector<Outcome> all;
  size_t failures = 0;
  for (const auto& [id, slug] : slugs) {
    auto out = restore(store, id, console.clock.wall());
    if (out) {
      out->slug = slug;
      all.push_back(*std::move(out));
      continue;
    }
    ++failures;
    console.err << fmt::format("ctrlplane: workspace {}: {}\n", cli::printable(slug),
                               cli::printable(out.error().message));
  }
  // So that the next server has the accounts at once, and no other writes to them.
  if (auto instance = Takeover::of(store, kInstanceWorkspace); !instance || !instance->release())
    console.err << "ctrlplane: the accounts could not be taken over; the next server waits for a lease\n";
  if (!all.empty()) console.out << result_text(all);
  if (failures > 0) {
    console.out.flush();
    console.err << fmt::format("ctrlplane: {} of {} workspaces failed; start no server, run it again\n",
                               failures, slugs.size());
    return 1;
  }
  console.out << (all.empty() ? "there are no workspaces: nothing to do\n" : next_steps(all));
  console.out.flush();
  return console.out.good() ? 0 : 1;
}

int run(const RestoredVerb& verb) {
  log::set_level(log::Level::kOff);  // what goes wrong is told below
  SystemClock clock;
  cli::Console console = cli::process_console(clock);
  if (!verb.yes && !console.in_is_terminal)
    return failed(console,
                  {ErrorCode::kInvalid, "it asks first, and there is no terminal to ask on: say --yes"});
  api::init_secrets();
  auto store = open_alone(verb.database, console);
  if (!store) return failed(console, store.error());
  auto slugs = workspaces_of(**store);
  if (!slugs) return failed(console, slugs.error());
  if (!confirmed(verb, slugs->size(), console)) {
    console.err << "nothing was frozen\n";
    return 1;
  }
  return restore_all(**store, *slugs, console);
}

}  // namespace

void add_restored_verb(CLI::App& app, int& exit_code) {
  auto verb = std::make_shared<RestoredVerb>();
  CLI::App* a = app.add_subcommand("restored", "After a backup was put back: freeze, and mark jobs unknown");
  a->footer(std::string(kFooter));
  a->add_option("--database", verb->database, "as for serve: sqlite:FILE, or postgresql://…")
      ->envname("CTRLPLANE_DATABASE")
      ->default_val(ServeSettings{}.database);
  a->add_flag("--yes", verb->yes, "do not ask");
  a->callback([verb, &exit_code] { exit_code = run(*verb); });
}

}  // namespace ctrlplane::app
