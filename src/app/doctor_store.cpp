#include "app/doctor_store.h"

#include <sys/stat.h>
#include <sys/statfs.h>

#include <filesystem>

#include <fmt/core.h>

#include "store/migrations.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/read_only_store.h"

namespace ctrlplane::app {
namespace {

constexpr int64_t kMegabyte = 1'000'000;
constexpr int64_t kLowDisk = 1000 * kMegabyte;
constexpr int64_t kNoDisk = 200 * kMegabyte;
constexpr int64_t kLongLog = 1000 * kMegabyte;  // it starts over at 16 MB unless a reader is in its way
constexpr int64_t kConnectionsOfAServer = 7;    // at most: commits, beats, output, and a pool of 4

Finding problem(std::string check, const Error& error, std::string advice = {}) {
  return {Health::kProblem, std::move(check), error.message, std::move(advice)};
}

int64_t size_of(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

// ---- SQLite ----------------------------------------------------------------------------------------

// Where a sync is not a sync, or locks do not hold.
Finding judge_file_system(int64_t magic, const std::string& path) {
  struct Kind {
    int64_t magic;
    Health health;
    std::string_view name, why;
  };
  constexpr std::string_view kNetwork = "locks and syncs of network file systems cannot be relied upon";
  constexpr Kind kKinds[] = {
      {0x01021994, Health::kWarning, "tmpfs", "its files are gone at the next boot"},
      {0x858458f6, Health::kWarning, "ramfs", "its files are gone at the next boot"},
      {0x6969, Health::kProblem, "NFS", kNetwork},
      {0xff534d42, Health::kProblem, "CIFS", kNetwork},
      {0xfe534d42, Health::kProblem, "SMB", kNetwork},
      {0x517b, Health::kProblem, "SMB", kNetwork},
      {0x01021997, Health::kWarning, "9P", kNetwork},
      {0x65735546, Health::kWarning, "FUSE", "whether a sync reaches the disk depends on what is behind it"},
  };
  for (const Kind& k : kKinds)
    if (magic == k.magic)
      return {k.health, "durability", fmt::format("{} is on {}: {}", path, k.name, k.why),
              "Move the file to a local disk, or use PostgreSQL."};
  return {Health::kOk, "durability", "local file system; the server syncs every commit"};
}

Finding check_file_system(const std::string& path) {
  struct statfs info{};
  if (::statfs(path.c_str(), &info) != 0)
    return {Health::kWarning, "durability", fmt::format("the file system of {} cannot be asked", path)};
  return judge_file_system(static_cast<int64_t>(static_cast<uint32_t>(info.f_type)), path);
}

Finding check_disk(const std::string& path) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(path, error).parent_path();
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error)
    return {Health::kWarning, "disk",
            fmt::format("the free space of {} cannot be asked: {}", folder.string(), error.message())};
  return judge_disk(static_cast<int64_t>(space.available), size_of(path), size_of(path + "-wal"));
}

Finding check_integrity(store::ReadOnlyDb& db, bool full) {
  auto verdict = db.text(full ? "PRAGMA integrity_check(1)" : "PRAGMA quick_check(1)");
  constexpr std::string_view kAdvice =
      "Stop the server, keep the file, and restore the last backup (docs/operations.md).";
  if (!verdict) return problem("integrity", verdict.error(), std::string(kAdvice));
  if (*verdict != "ok")
    return {Health::kProblem, "integrity", fmt::format("the file is damaged: {}", *verdict),
            std::string(kAdvice)};
  return {Health::kOk, "integrity",
          full ? "every page and index is whole" : "every page is whole (--full compares indexes too)"};
}

// ---- PostgreSQL ------------------------------------------------------------------------------------

Result<PostgresSettings> read_settings(store::PgConnection& c) {
  PostgresSettings s;
  auto r = TRY(
      c.exec("SELECT current_setting('fsync'), current_setting('synchronous_commit'), "
             "current_setting('full_page_writes'), current_setting('server_encoding'), "
             "current_setting('synchronous_standby_names'), current_setting('server_version_num')::bigint, "
             "(pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on')::int::bigint, "
             "current_setting('max_connections')::bigint - (SELECT count(*) FROM pg_stat_activity WHERE "
             "backend_type = 'client backend')"));
  s.fsync = r.text(0, 0);
  s.synchronous_commit = r.text(0, 1);
  s.full_page_writes = r.text(0, 2);
  s.encoding = r.text(0, 3);
  s.standby_names = r.text(0, 4);
  s.server_version = r.integer(0, 5);
  s.read_only = r.integer(0, 6) != 0;
  s.connections_left = r.integer(0, 7);
  auto standbys =
      TRY(c.exec("SELECT count(*), count(*) FILTER (WHERE sync_state IS NULL), "
                 "count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) FROM pg_stat_replication"));
  s.standbys = standbys.integer(0, 0);
  s.hidden = standbys.integer(0, 1);
  s.synchronous = standbys.integer(0, 2);
  return s;
}

Result<store::SchemaInfo> read_schema(store::PgConnection& c) {
  auto there = TRY(c.exec("SELECT (to_regclass('schema_info') IS NOT NULL)::int::bigint"));
  if (there.integer(0, 0) == 0) return store::SchemaInfo{};
  auto r = TRY(c.exec(std::string(store::kReadSchemaInfo)));
  return r.rows() == 0 ? store::SchemaInfo{} : store::SchemaInfo{r.integer(0, 0), r.integer(0, 1)};
}

Finding judge_standby(const PostgresSettings& s) {
  if (s.standby_names.empty())
    return {Health::kWarning, "standby", "no synchronous standby: losing this server's disk loses commits",
            "Set synchronous_standby_names; until then backups are all there is."};
  if (s.synchronous > 0)
    return {Health::kOk, "standby", fmt::format("commits wait for {} standby(s)", s.synchronous)};
  if (s.hidden > 0)
    return {Health::kOk, "standby",
            fmt::format("{} standby(s) connected; their state is hidden from this role", s.standbys),
            "Grant it pg_monitor to see more."};
  return {Health::kProblem, "standby",
          fmt::format("synchronous_standby_names is '{}', but no such standby is connected: commits hang",
                      s.standby_names),
          "Start the standby, or take it off the list."};
}

}  // namespace

std::string bytes_text(int64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 999.5 && unit < 4; ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

Finding judge_schema(int64_t version, int64_t min_binary, int64_t known) {
  Finding f{Health::kOk, "schema", fmt::format("version {}, as this program", version)};
  f.counts = {{"version", version}, {"minBinary", min_binary}, {"known", known}};
  if (min_binary > known) {
    f.health = Health::kProblem;
    f.message = fmt::format("version {}, for programs that know {} or later; this one knows {}", version,
                            min_binary, known);
    f.advice = "Install the newer program: this one refuses to start.";
  } else if (version > known) {
    f.message =
        fmt::format("version {}, newer than this program's {}, which still runs on it", version, known);
  } else if (version == 0) {
    f.health = Health::kProblem;
    f.message = "no schema: no server has started on this database yet";
    f.advice = "Check the name of the database.";
  } else if (version < known) {
    f.health = Health::kWarning;
    f.message = fmt::format("version {}, older than this program's {}", version, known);
    f.advice = "The next start of this program brings it up to date. Make a backup first.";
  }
  return f;
}

Finding judge_disk(int64_t free_bytes, int64_t database_bytes, int64_t log_bytes) {
  Finding f{Health::kOk, "disk",
            fmt::format("{} free; the database has {}", bytes_text(free_bytes), bytes_text(database_bytes))};
  f.counts = {{"freeBytes", free_bytes}, {"databaseBytes", database_bytes}, {"logBytes", log_bytes}};
  if (free_bytes < kNoDisk) {
    f.health = Health::kProblem;
    f.advice = "Make room: on a full disk every write is answered 503.";
  } else if (free_bytes < kLowDisk || free_bytes < database_bytes) {
    f.health = Health::kWarning;
    f.advice = "Make room: a copy beside it must fit, and history grows until its age limit.";
  } else if (log_bytes > kLongLog) {
    f.health = Health::kWarning;
    f.message += fmt::format(", its log {}", bytes_text(log_bytes));
    f.advice = "Something reads the file for a long time (a backup, a shell): end it, and the log shrinks.";
  }
  return f;
}

std::vector<Finding> judge_settings(const PostgresSettings& s) {
  std::vector<Finding> out;
  Finding f{Health::kOk, "durability",
            fmt::format("fsync={}, synchronous_commit={}, full_page_writes={}", s.fsync, s.synchronous_commit,
                        s.full_page_writes)};
  if (s.fsync != "on" || s.synchronous_commit == "off" || s.synchronous_commit == "local") {
    f.health = Health::kProblem;
    f.advice =
        "A crash loses commits that were acknowledged; the server refuses to start. Set fsync=on and "
        "synchronous_commit to on, remote_write or remote_apply.";
  } else if (s.full_page_writes != "on") {
    f.health = Health::kProblem;
    f.advice = "A power cut can leave torn pages. Set full_page_writes=on.";
  } else if (s.encoding != "UTF8") {
    f.health = Health::kProblem;
    f.message = fmt::format("the database has encoding {}", s.encoding);
    f.advice = "Make it with encoding UTF8: the server refuses to start.";
  } else if (s.read_only) {
    f.health = Health::kProblem;
    f.message = "this PostgreSQL is a standby, or read-only by default: nothing can be committed";
    f.advice = "Name the primary; with several hosts add target_session_attrs=read-write.";
  }
  out.push_back(std::move(f));
  out.push_back(judge_standby(s));
  if (s.connections_left < kConnectionsOfAServer)
    out.push_back({Health::kWarning, "connections",
                   fmt::format("{} left; a server takes up to {}", s.connections_left, kConnectionsOfAServer),
                   "Raise max_connections."});
  return out;
}

std::unique_ptr<store::Store> check_sqlite(const std::string& path, bool full_integrity, Diagnosis& out) {
  auto db = store::ReadOnlyDb::open(path);
  if (!db) {
    out.add(problem("database", db.error()));
    return nullptr;
  }
  auto version = (*db)->integer("SELECT version FROM schema_info");
  auto min_binary = (*db)->integer("SELECT min_binary FROM schema_info");
  Finding schema = version && min_binary
                       ? judge_schema(*version, *min_binary, store::migrations().back().number)
                       : problem("schema", version ? min_binary.error() : version.error());
  const bool readable = schema.health == Health::kOk;
  out.add(std::move(schema));
  out.add(check_file_system(path));
  out.add(check_disk(path));
  out.add(check_integrity(**db, full_integrity));
  if (!readable || out.findings.back().health == Health::kProblem) return nullptr;
  return std::make_unique<store::ReadOnlySqliteStore>(*std::move(db));
}

std::unique_ptr<store::Store> check_postgres(const std::string& conninfo, Diagnosis& out) {
  auto c = store::PgConnection::connect(conninfo, {});
  if (!c) {
    out.add(problem("database", c.error()));
    return nullptr;
  }
  auto info = read_schema(**c);
  Finding schema = info ? judge_schema(info->version, info->min_binary, store::migrations().back().number)
                        : problem("schema", info.error());
  const bool readable = schema.health == Health::kOk;
  out.add(std::move(schema));
  if (auto settings = read_settings(**c); !settings)
    out.add(problem("durability", settings.error()));
  else
    for (Finding& f : judge_settings(*settings)) out.add(std::move(f));
  c->reset();
  if (!readable) return nullptr;
  auto store = store::PostgresStore::open(conninfo);
  if (store) return *std::move(store);
  // What it refuses for stands among the findings already.
  if (out.healthy()) out.add(problem("database", store.error()));
  return nullptr;
}

}  // namespace ctrlplane::app
