#include "store/sqlite/read_only_db.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/core.h>
#include <sqlite3.h>

namespace ctrlplane::store {
namespace {

constexpr int kBusyTimeoutMs = 5000;

Status must_be_a_file(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0)
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                fmt::format("{}: {}", path, std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::kInvalid, fmt::format("{}: is not a file", path));
  // SQLite takes an empty file for an empty database.
  if (info.st_size == 0) return fail(ErrorCode::kInvalid, fmt::format("{}: the file is empty", path));
  return {};
}

}  // namespace

Error sqlite_error(sqlite3* db, const std::string& path, std::string_view doing) {
  const int rc = db ? sqlite3_errcode(db) & 0xff : SQLITE_NOMEM;
  const char* message = db ? sqlite3_errmsg(db) : "out of memory";
  switch (rc) {
    case SQLITE_NOTADB: return {ErrorCode::kInternal, fmt::format("{}: is not an SQLite database", path)};
    case SQLITE_CORRUPT:
      return {ErrorCode::kInternal, fmt::format("{}: the file is damaged ({}): {}", path, doing, message)};
    case SQLITE_FULL: return {ErrorCode::kUnavailable, fmt::format("{}: the disk is full ({})", path, doing)};
    // Also a reader has to write beside the file, to say how far in the log it is.
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return {ErrorCode::kUnavailable,
              fmt::format("{}: {} ({}). The user of this command must be able to write in the file's folder; "
                          "take the server's user.",
                          path, message, doing)};
    default:
      return {ErrorCode::kUnavailable, fmt::format("{}: {}: {} (code {})", path, doing, message,
                                                   db ? sqlite3_extended_errcode(db) : rc)};
  }
}

void ReadOnlyDb::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

Result<std::unique_ptr<ReadOnlyDb>> ReadOnlyDb::open(const std::string& path) {
  TRY(must_be_a_file(path));
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int rc = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  std::unique_ptr<ReadOnlyDb> db(new ReadOnlyDb(path, raw));
  if (rc != SQLITE_OK) return std::unexpected(sqlite_error(raw, path, "opening it"));
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  const int64_t known =
      TRY(db->integer("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('schema_info', "
                      "'workspace_owner')"));
  if (known != 2)
    return fail(ErrorCode::kInvalid,
                fmt::format("{}: is an SQLite database, but not one of ctrlplane", path));
  return db;
}

Status ReadOnlyDb::exec(const std::string& script) {
  if (sqlite3_exec(db_.get(), script.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return std::unexpected(sqlite_error(db_.get(), path_, "reading it"));
  return {};
}

Result<Statement*> ReadOnlyDb::prepare(const std::string& sql) {
  auto it = statements_.find(sql);
  if (it != statements_.end()) return &it->second;
  sqlite3_stmt* stmt = nullptr;
  const int rc = sqlite3_prepare_v2(db_.get(), sql.c_str(), static_cast<int>(sql.size()), &stmt, nullptr);
  if (rc != SQLITE_OK) return std::unexpected(sqlite_error(db_.get(), path_, "reading it"));
  return &statements_.emplace(sql, Statement(stmt)).first->second;
}

Result<std::string> ReadOnlyDb::text(const std::string& sql) {
  StatementUse s(*TRY(prepare(sql)));
  if (!TRY(s->step())) return std::string();
  const CellView cell = s->column(0, ColumnType::kText);
  const auto* text = std::get_if<std::string_view>(&cell);
  return std::string(text ? *text : std::string_view());
}

Result<int64_t> ReadOnlyDb::integer(const std::string& sql) {
  StatementUse s(*TRY(prepare(sql)));
  return TRY(s->step()) ? s->integer(0) : 0;
}

bool in_use_by_a_server(const std::string& path) {
  const int fd = ::open((path + ".lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  const bool held = ::fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
  ::close(fd);
  return held;
}

}  // namespace ctrlplane::store
