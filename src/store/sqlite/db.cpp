#include "store/sqlite/db.h"

#include <cstring>

#include <fmt/core.h>
#include <sqlite3.h>

namespace ctrlplane::store {
namespace {

Error error_of(sqlite3* db, std::string_view doing) {
  const int rc = db ? sqlite3_errcode(db) & 0xff : SQLITE_NOMEM;
  const char* file = db ? sqlite3_db_filename(db, "main") : nullptr;
  const char* name = file && *file ? file : "database";
  const char* message = db ? sqlite3_errmsg(db) : "out of memory";
  switch (rc) {
    case SQLITE_NOTADB: return {ErrorCode::kInternal, fmt::format("{}: is not an SQLite database", name)};
    case SQLITE_CORRUPT:
      return {ErrorCode::kInternal, fmt::format("{}: the file is damaged ({}): {}", name, doing, message)};
    case SQLITE_FULL: return {ErrorCode::kUnavailable, fmt::format("{}: the disk is full ({})", name, doing)};
    case SQLITE_READONLY:
      return {ErrorCode::kUnavailable, fmt::format("{}: the file is read-only ({})", name, doing)};
    default:
      return {ErrorCode::kUnavailable, fmt::format("{}: {}: {} (code {})", name, doing, message,
                                                   db ? sqlite3_extended_errcode(db) : rc)};
  }
}

}  // namespace

// ---- Statement -------------------------------------------------------------------------------------

void Statement::Finalize::operator()(sqlite3_stmt* stmt) const { sqlite3_finalize(stmt); }

void Statement::bind(int at, const CellView& cell, ColumnType type) {
  if (const auto* i = std::get_if<int64_t>(&cell)) return bind(at, *i);
  if (const auto* u = std::get_if<Uuid>(&cell)) return bind(at, *u);
  const auto* text = std::get_if<std::string_view>(&cell);
  if (!text) return bind_null(at);
  const char* data = text->data() ? text->data() : "";  // a null pointer would bind NULL
  int rc = type == ColumnType::kText
               ? sqlite3_bind_text64(stmt_.get(), at, data, text->size(), SQLITE_STATIC, SQLITE_UTF8)
               : sqlite3_bind_blob64(stmt_.get(), at, data, text->size(), SQLITE_STATIC);
  if (rc != SQLITE_OK) bind_rc_ = rc;
}

void Statement::bind(int at, const Uuid& uuid) {
  int rc = sqlite3_bind_blob(stmt_.get(), at, uuid.bytes.data(), 16, SQLITE_STATIC);
  if (rc != SQLITE_OK) bind_rc_ = rc;
}

void Statement::bind(int at, int64_t value) {
  int rc = sqlite3_bind_int64(stmt_.get(), at, value);
  if (rc != SQLITE_OK) bind_rc_ = rc;
}

void Statement::bind_null(int at) {
  int rc = sqlite3_bind_null(stmt_.get(), at);
  if (rc != SQLITE_OK) bind_rc_ = rc;
}

Result<bool> Statement::step() {
  if (bind_rc_ != SQLITE_OK)
    return fail(ErrorCode::kUnavailable, fmt::format("cannot bind a value: {}", sqlite3_errstr(bind_rc_)));
  int rc = sqlite3_step(stmt_.get());
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) return false;
  return std::unexpected(error_of(sqlite3_db_handle(stmt_.get()), "running a statement"));
}

Status Statement::run() {
  StatementUse use(*this);
  auto stepped = step();
  if (!stepped) return std::unexpected(std::move(stepped).error());
  return {};
}

void Statement::reset() {
  bind_rc_ = SQLITE_OK;
  sqlite3_reset(stmt_.get());
}

CellView Statement::column(int at, ColumnType type) const {
  sqlite3_stmt* s = stmt_.get();
  switch (sqlite3_column_type(s, at)) {
    case SQLITE_NULL: return Null{};
    case SQLITE_INTEGER: return int64_t{sqlite3_column_int64(s, at)};
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(s, at));
      return std::string_view(text ? text : "", static_cast<size_t>(sqlite3_column_bytes(s, at)));
    }
    default: {
      const void* data = sqlite3_column_blob(s, at);
      const auto size = static_cast<size_t>(sqlite3_column_bytes(s, at));
      if (type == ColumnType::kUuid && size == 16) {
        Uuid u;
        std::memcpy(u.bytes.data(), data, 16);
        return u;
      }
      return std::string_view(data ? static_cast<const char*>(data) : "", size);
    }
  }
}

int64_t Statement::integer(int at) const { return sqlite3_column_int64(stmt_.get(), at); }

// ---- Db --------------------------------------------------------------------------------------------

void Db::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

Result<std::unique_ptr<Db>> Db::open(const std::string& path, const std::string& vfs, int busy_timeout_ms) {
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int rc = sqlite3_open_v2(path.c_str(), &raw, flags, vfs.empty() ? nullptr : vfs.c_str());
  std::unique_ptr<Db> db(new Db(raw));
  if (rc != SQLITE_OK)
    return fail(ErrorCode::kUnavailable,
                fmt::format("{}: cannot be opened: {}", path, raw ? sqlite3_errmsg(raw) : "out of memory"));
  if (db->read_only()) return fail(ErrorCode::kUnavailable, fmt::format("{}: the file is read-only", path));
  sqlite3_busy_timeout(raw, busy_timeout_ms);
  // secure_delete is on in Debian's build and would overwrite every freed page. A larger WAL than the
  // default writes a page that changes often once per checkpoint instead of many times.
  TRY(
      db->exec("PRAGMA journal_mode = WAL;"
               "PRAGMA synchronous = FULL;"
               "PRAGMA secure_delete = OFF;"
               "PRAGMA wal_autocheckpoint = 4000;"
               "PRAGMA temp_store = MEMORY;"
               "PRAGMA cache_size = -32768;"));
  return db;
}

Status Db::exec(const std::string& script) {
  if (sqlite3_exec(db_.get(), script.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return std::unexpected(error_of(db_.get(), "running a script"));
  return {};
}

Result<Statement*> Db::prepare(const std::string& sql) {
  auto it = statements_.find(sql);
  if (it != statements_.end()) return &it->second;
  sqlite3_stmt* stmt = nullptr;
  int rc = sqlite3_prepare_v3(db_.get(), sql.c_str(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                              &stmt, nullptr);
  if (rc != SQLITE_OK) return std::unexpected(error_of(db_.get(), "preparing a statement"));
  return &statements_.emplace(sql, Statement(stmt)).first->second;
}

void Db::watch_log() {
  auto note = [](void* self, sqlite3*, const char*, int pages) {
    static_cast<Db*>(self)->log_pages_ = pages;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(db_.get(), note, this);
}

int64_t Db::changes() const { return sqlite3_changes64(db_.get()); }
bool Db::in_transaction() const { return sqlite3_get_autocommit(db_.get()) == 0; }
bool Db::read_only() const { return sqlite3_db_readonly(db_.get(), "main") == 1; }

}  // namespace ctrlplane::store
