// Databases for one run of a benchmark, on disk and gone at its end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/store.h"
#include "support/temp_dir.h"
#include "support/temp_postgres.h"

namespace ctrlplane::bench {

enum class Kind : uint8_t { kSqlite, kPostgres };
const char* name_of(Kind kind);
Kind kind_named(const std::string& name);
// The one of this name, or both if it is empty.
std::vector<Kind> kinds(const std::string& name);

class Databases {
 public:
  // An empty database with the current schema. The address also opens it in another process.
  std::string fresh(Kind kind);

 private:
  test::TempDir dir_;
  std::unique_ptr<test::TempPostgres> server_;
  int made_ = 0;
};

std::unique_ptr<store::Store> open_store(Kind kind, const std::string& address);

// Statements for the set-up, around the store.
void run_sql(Kind kind, const std::string& address, const std::string& sql);

// What the database occupies on disk (SQLite: the file and its log).
int64_t occupied_bytes(Kind kind, const std::string& address);
// Only the difference of two calls means something. SQLite: what this process has sent to the disk, log
// and checkpoints alike. PostgreSQL: the position in its log.
int64_t written_bytes(Kind kind, const std::string& address);

// Copies the rows of these tables from one PostgreSQL database to another, empty, with COPY in one
// transaction; returns the seconds the writing took.
double copy_tables(const std::string& from, const std::string& to, const std::vector<std::string>& tables);

}  // namespace ctrlplane::bench
