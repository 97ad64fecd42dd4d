// The schema as numbered, additive steps. A step's text is frozen once it is released: databases out
// there were made with it. Removing what a step made is a later step, a release after the last binary
// that used it.
//
// Binaries are numbered by the last migration they know. The database records the number of its own
// schema and `min_binary`, the oldest binary that may still work on it; in between, older and newer
// binaries share one database while an upgrade rolls.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/sql.h"

namespace ctrlplane::store {

struct Migration {
  int64_t number;      // 1, 2, 3, …
  int64_t min_binary;  // with this step applied
  std::string_view sqlite;
  std::string_view postgres;

  std::string_view text(Dialect d) const { return d == Dialect::kSqlite ? sqlite : postgres; }
};

// A row of schema_info; a database without one is at 0.
struct SchemaInfo {
  int64_t version = 0;
  int64_t min_binary = 0;
};

inline constexpr std::string_view kCreateSchemaInfo =
    "CREATE TABLE IF NOT EXISTS schema_info (version bigint NOT NULL, min_binary bigint NOT NULL)";
inline constexpr std::string_view kReadSchemaInfo = "SELECT version, min_binary FROM schema_info";

extern const std::string_view kSqliteSchema1;    // sqlite/schema_1.cpp
extern const std::string_view kPostgresSchema1;  // postgres/schema_1.cpp
extern const std::string_view kSqliteSchema2;
extern const std::string_view kPostgresSchema2;
extern const std::string_view kSqliteSchema3;
extern const std::string_view kPostgresSchema3;
extern const std::string_view kSqliteSchema4;
extern const std::string_view kPostgresSchema4;
extern const std::string_view kSqliteSchema5;
extern const std::string_view kPostgresSchema5;
extern const std::string_view kSqliteSchema6;
extern const std::string_view kPostgresSchema6;
extern const std::string_view kSqliteSchema7;
extern const std::string_view kPostgresSchema7;
extern const std::string_view kSqliteSchema8;
extern const std::string_view kPostgresSchema8;

const std::vector<Migration>& migrations();

// One script that takes a database at `present` to the last of `known`, schema_info included; empty if
// there is nothing to do. It must run in one transaction with the reading of `present`. kConflict: the
// database asks for a newer binary.
Result<std::string> upgrade_script(Dialect dialect, SchemaInfo present, std::span<const Migration> known);

}  // namespace ctrlplane::store
