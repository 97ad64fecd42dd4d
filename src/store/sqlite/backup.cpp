#include "store/sqlite/backup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/core.h>
#include <sqlite3.h>

#include "store/sql.h"
#include "store/sqlite/read_only_db.h"

namespace ctrlplane::store {
namespace {

constexpr int kChecksBetweenCalls = 1'000'000;  // of SQLite's virtual machine: some milliseconds

std::unexpected<Error> system_error(const std::string& path, std::string_view doing) {
  return fail(ErrorCode::kUnavailable, fmt::format("{}: {}: {}", path, doing, std::strerror(errno)));
}

std::unexpected<Error> stopped() { return fail(ErrorCode::kConflict, "the backup was stopped"); }

bool is_there(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

// Writes what is in the file, or which names are in the folder, to the disk.
Status sync(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return system_error(path, "cannot be opened");
  const int rc = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  errno = error;
  if (rc != 0) return system_error(path, "cannot be written to the disk");
  return {};
}

// The file under its temporary name. It goes unless it was moved to its place.
class Partial {
 public:
  static Result<Partial> create(const std::string& to) {
    std::string name = to + ".partial-XXXXXX";
    const int fd = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd < 0) return system_error(to, "cannot be made");
    ::close(fd);
    return Partial(std::move(name));
  }
  Partial(Partial&& o) noexcept : path_(std::exchange(o.path_, {})) {}
  Partial& operator=(Partial&&) = delete;
  ~Partial() {
    if (path_.empty()) return;
    for (const char* end : {"", "-wal", "-shm", "-journal"}) ::unlink((path_ + end).c_str());
  }

  const std::string& path() const { return path_; }

  Status move_to(const std::string& to, bool overwrite) {
    int rc = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, to.c_str(), overwrite ? 0 : RENAME_NOREPLACE);
    // Not every file system can refuse by itself.
    if (rc != 0 && errno == EINVAL && !is_there(to)) rc = ::rename(path_.c_str(), to.c_str());
    if (rc != 0 && errno == EEXIST) return fail(ErrorCode::kConflict, fmt::format("{}: is there now", to));
    if (rc != 0) return system_error(to, "cannot be made");
    path_.clear();
    return {};
  }

 private:
  explicit Partial(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// A name that a database in use has is never taken: its log would be replayed over the copy.
Status may_take(const std::string& from, const std::string& to, bool overwrite) {
  if (to.empty()) return fail(ErrorCode::kInvalid, "the name of the copy is empty");
  for (const char* end : {"-wal", "-journal"})
    if (is_there(to + end))
      return fail(ErrorCode::kConflict,
                  fmt::format("{0}: {0}{1} is there, so this is a database that is in use or was not closed; "
                              "choose another name",
                              to, end));
  if (in_use_by_a_server(to)) return fail(ErrorCode::kConflict, fmt::format("{}: a server is using it", to));
  if (!is_there(to)) return {};
  std::error_code error;
  if (std::filesystem::is_directory(to, error))
    return fail(ErrorCode::kInvalid, fmt::format("{}: is a folder; name a file", to));
  if (std::filesystem::equivalent(from, to, error))
    return fail(ErrorCode::kInvalid, fmt::format("{}: is the database itself", to));
  if (!overwrite) return fail(ErrorCode::kConflict, fmt::format("{}: is there already", to));
  return {};
}

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
using Connection = std::unique_ptr<sqlite3, Close>;

Result<Connection> open_copy(const std::string& path) {
  sqlite3* raw = nullptr;
  const int rc = sqlite3_open_v2(
      path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  Connection db(raw);
  if (rc != SQLITE_OK) return std::unexpected(sqlite_error(raw, path, "opening the copy"));
  return db;
}

Status run(sqlite3* db, const std::string& path, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return std::unexpected(sqlite_error(db, path, "writing the copy"));
  return {};
}

// Every page as it is at the first step.
Status copy_pages(ReadOnlyDb& source, const std::string& to, const BackupOptions& options) {
  TRY(source.exec("BEGIN"));
  TRY(source.integer("SELECT count(*) FROM schema_info"));  // from here on the snapshot stands
  Connection copy = TRY(open_copy(to));
  // A copy that is cut off is thrown away: it needs no journal, and is synced as a whole at the end.
  TRY(run(copy.get(), to, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF"));
  sqlite3_backup* backup = sqlite3_backup_init(copy.get(), "main", source.raw(), "main");
  if (!backup) return std::unexpected(sqlite_error(copy.get(), to, "writing the copy"));
  int rc = SQLITE_OK;
  bool go_on = true;
  while (rc == SQLITE_OK && go_on) {
    rc = sqlite3_backup_step(backup, options.pages_per_step);
    const int64_t pages = sqlite3_backup_pagecount(backup), left = sqlite3_backup_remaining(backup);
    if (options.progress && (rc == SQLITE_OK || rc == SQLITE_DONE))
      go_on = options.progress(pages - left, pages);
  }
  const int finished = sqlite3_backup_finish(backup);
  if (!go_on) return stopped();
  if (rc == SQLITE_DONE && finished == SQLITE_OK) return {};
  // An error of either file is kept with the copy's connection.
  return std::unexpected(sqlite_error(copy.get(), to, "copying"));
}

// Out of write-ahead mode, which the copy has from its source: then it is one file that can be read from
// anywhere. The server turns it on again.
Status make_one_file(const std::string& path) {
  Connection copy = TRY(open_copy(path));
  return run(copy.get(), path, "PRAGMA journal_mode = DELETE");
}

Status check_integrity(ReadOnlyDb& db, const BackupOptions& options, int64_t pages) {
  struct Watch {
    const BackupOptions& options;
    int64_t pages;
    bool stopped = false;
  } watch{options, pages};
  auto look = [](void* data) {
    auto* w = static_cast<Watch*>(data);
    w->stopped = w->options.progress && !w->options.progress(w->pages, w->pages);
    return w->stopped ? 1 : 0;
  };
  sqlite3_progress_handler(db.raw(), kChecksBetweenCalls, look, &watch);
  auto verdict = db.text("PRAGMA integrity_check(1)");
  sqlite3_progress_handler(db.raw(), 0, nullptr, nullptr);
  if (watch.stopped) return stopped();
  if (!verdict) return std::unexpected(std::move(verdict).error());
  if (*verdict != "ok")
    return fail(ErrorCode::kInternal,
                fmt::format("the database is damaged, and so would be its copy: {}", *verdict));
  return {};
}

Uuid uuid_at(const Statement& s, int at) {
  const CellView cell = s.column(at, ColumnType::kUuid);
  const auto* u = std::get_if<Uuid>(&cell);
  return u ? *u : Uuid{};
}

Result<BackupReport> check_copy(const std::string& path, const BackupOptions& options) {
  auto db = TRY(ReadOnlyDb::open(path));
  const int64_t pages = TRY(db->integer("PRAGMA page_count"));
  TRY(check_integrity(*db, options, pages));
  BackupReport report;
  report.bytes = pages * TRY(db->integer("PRAGMA page_size"));
  report.schema = TRY(db->integer("SELECT version FROM schema_info"));
  StatementUse owners(*TRY(db->prepare(all_owners_sql())));
  while (TRY(owners->step()))
    report.owners.push_back({.workspace = {uuid_at(*owners.operator->(), 0)},
                             .epoch = owners->integer(3),
                             .seq = owners->integer(4),
                             .last_now = {owners->integer(5)}});
  StatementUse slugs(*TRY(db->prepare("SELECT id, slug FROM workspace")));
  while (TRY(slugs->step())) {
    const CellView slug = slugs->column(1, ColumnType::kText);
    const auto* text = std::get_if<std::string_view>(&slug);
    report.slugs[{uuid_at(*slugs.operator->(), 0)}] = text ? *text : "";
  }
  return report;
}

}  // namespace

Result<BackupReport> backup_sqlite(const std::string& from, const std::string& to,
                                   const BackupOptions& options) {
  auto source = TRY(ReadOnlyDb::open(from));
  TRY(may_take(from, to, options.overwrite));
  Partial partial = TRY(Partial::create(to));
  TRY(copy_pages(*source, partial.path(), options));
  source.reset();  // the server's log can start over
  TRY(make_one_file(partial.path()));
  BackupReport report = TRY(check_copy(partial.path(), options));
  TRY(sync(partial.path(), O_RDWR));
  TRY(partial.move_to(to, options.overwrite));
  const std::string folder = std::filesystem::path(to).parent_path().string();
  TRY(sync(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY));
  return report;
}

}  // namespace ctrlplane::store
