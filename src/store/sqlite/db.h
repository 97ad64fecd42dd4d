// SQLite's C interface with owners: connections and statements that close themselves, errors as
// values. Nothing here is safe to use from two threads at once; the store above sees to that.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "store/row.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ctrlplane::store {

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* stmt) : stmt_(stmt) {}

  // Parameters count from 1. Nothing is copied: the cell must live until the next reset().
  void bind(int at, const CellView& cell, ColumnType type);
  void bind(int at, const Uuid& uuid);
  void bind(int at, int64_t value);
  void bind_null(int at);

  // True: a row is there. False: finished. A failed bind surfaces here.
  Result<bool> step();
  // Steps once and resets: for statements without result.
  Status run();
  // Makes it ready for the next use and, for a read, lets go of its snapshot.
  void reset();

  // Columns count from 0. A value of another type than the column's comes as what it is, so that
  // read_row can name it. Valid until the next step.
  CellView column(int at, ColumnType type) const;
  int64_t integer(int at) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* stmt) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> stmt_;
  int bind_rc_ = 0;
};

// Resets on every path out of a scope.
class StatementUse {
 public:
  explicit StatementUse(Statement& s) : s_(s) {}
  ~StatementUse() { s_.reset(); }
  StatementUse(const StatementUse&) = delete;
  Statement* operator->() { return &s_; }

 private:
  Statement& s_;
};

class Db {
 public:
  // Opens or creates the file and sets what every connection needs. `vfs` empty: the default one.
  // Errors name the file: kInternal if it is damaged or no database, else kUnavailable.
  static Result<std::unique_ptr<Db>> open(const std::string& path, const std::string& vfs,
                                          int busy_timeout_ms);

  // Several statements without parameters or results.
  Status exec(const std::string& script);
  // Prepared once per text and kept.
  Result<Statement*> prepare(const std::string& sql);
  // Rows the last INSERT, UPDATE or DELETE touched.
  int64_t changes() const;
  // False once SQLite has ended the transaction by itself, as it does on some errors.
  bool in_transaction() const;
  bool read_only() const;
  // From now on commits do not checkpoint; log_pages() is the length of the log after the last of them.
  void watch_log();
  int log_pages() const { return log_pages_; }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  explicit Db(sqlite3* db) : db_(db) {}

  std::unique_ptr<sqlite3, Close> db_;  // before the statements: they must go first
  std::unordered_map<std::string, Statement> statements_;
  int log_pages_ = 0;
};

}  // namespace ctrlplane::store
