// A connection that can only read, to a database file that must be there already. A server may have the file
// open: reading waits for nobody and holds nobody up. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "store/sqlite/db.h"

namespace ctrlplane::store {

class ReadOnlyDb {
 public:
  // kNotFound: no such file. kInternal: no database, or damaged. kInvalid: a database, but not one of ours.
  // Else kUnavailable.
  static Result<std::unique_ptr<ReadOnlyDb>> open(const std::string& path);

  Status exec(const std::string& script);
  // Prepared once per text and kept.
  Result<Statement*> prepare(const std::string& sql);
  // The first column of the first row; empty or 0 if there is none.
  Result<std::string> text(const std::string& sql);
  Result<int64_t> integer(const std::string& sql);
  sqlite3* raw() const { return db_.get(); }
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  ReadOnlyDb(std::string path, sqlite3* db) : path_(std::move(path)), db_(db) {}

  const std::string path_;
  std::unique_ptr<sqlite3, Close> db_;  // before the statements: they must go first
  std::unordered_map<std::string, Statement> statements_;
};

// What went wrong on a connection, with the name of the file.
Error sqlite_error(sqlite3* db, const std::string& path, std::string_view doing);

// Does a server have this database open? Asks for its lock and takes nothing.
bool in_use_by_a_server(const std::string& path);

}  // namespace ctrlplane::store
