#include "bench/databases.h"

#include <filesystem>
#include <fstream>

#include <fmt/core.h>
#include <libpq-fe.h>

#include "bench/harness.h"
#include "store/postgres/connection.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/db.h"
#include "store/sqlite/sqlite_store.h"

namespace ctrlplane::bench {
namespace {

std::unique_ptr<store::PgConnection> connect(const std::string& address) {
  auto c = must(store::PgConnection::connect(address, {}));
  must(c->script("SET statement_timeout = 0"));
  return c;
}

int64_t query_integer(const std::string& address, const std::string& sql) {
  return must(connect(address)->exec(sql)).integer(0, 0);
}

}  // namespace

const char* name_of(Kind kind) { return kind == Kind::kSqlite ? "SQLite" : "PostgreSQL"; }

Kind kind_named(const std::string& name) {
  CHECK(name == name_of(Kind::kSqlite) || name == name_of(Kind::kPostgres), "no such store: " + name);
  return name == name_of(Kind::kSqlite) ? Kind::kSqlite : Kind::kPostgres;
}

std::vector<Kind> kinds(const std::string& name) {
  if (name.empty()) return {Kind::kSqlite, Kind::kPostgres};
  return {kind_named(name)};
}

std::string Databases::fresh(Kind kind) {
  if (kind == Kind::kSqlite) {
    std::string path = dir_.file(fmt::format("{}.db", ++made_));
    must(open_store(kind, path)->migrate());
    return path;
  }
  if (!server_) server_ = std::make_unique<test::TempPostgres>(test::TempPostgres::Place::kDisk);
  return server_->fresh_database();
}

std::unique_ptr<store::Store> open_store(Kind kind, const std::string& address) {
  if (kind == Kind::kSqlite) return must(store::SqliteStore::open(address));
  return must(store::PostgresStore::open(address));
}

void run_sql(Kind kind, const std::string& address, const std::string& sql) {
  if (kind == Kind::kSqlite)
    must(must(store::Db::open(address, "", 5000))->exec(sql));
  else
    must(connect(address)->script(sql, true));
}

int64_t occupied_bytes(Kind kind, const std::string& address) {
  if (kind == Kind::kPostgres) return query_integer(address, "SELECT pg_database_size(current_database())");
  int64_t bytes = 0;
  for (const char* part : {"", "-wal"}) {
    std::error_code absent;
    const auto size = std::filesystem::file_size(address + part, absent);
    if (!absent) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

int64_t written_bytes(Kind kind, const std::string& address) {
  if (kind == Kind::kPostgres)
    return query_integer(address, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint");
  std::ifstream io("/proc/self/io");
  for (std::string line; std::getline(io, line);)
    if (line.starts_with("write_bytes:")) return std::stoll(line.substr(12));
  return 0;
}

double copy_tables(const std::string& from, const std::string& to, const std::vector<std::string>& tables) {
  auto source = connect(from), sink = connect(to);
  PGconn* raw = sink->raw();
  double seconds = 0;
  must(sink->script("BEGIN"));
  for (const std::string& table : tables) {
    std::vector<std::string> messages;
    must(source->copy_out(fmt::format("COPY {} TO STDOUT (FORMAT binary)", table), [&](std::string_view m) {
      messages.emplace_back(m);
      return Status{};
    }));
    Stopwatch watch;
    PGresult* begun = PQexec(raw, fmt::format("COPY {} FROM STDIN (FORMAT binary)", table).c_str());
    CHECK(PQresultStatus(begun) == PGRES_COPY_IN, PQerrorMessage(raw));
    PQclear(begun);
    for (const std::string& m : messages)
      CHECK(PQputCopyData(raw, m.data(), static_cast<int>(m.size())) == 1, PQerrorMessage(raw));
    CHECK(PQputCopyEnd(raw, nullptr) == 1, PQerrorMessage(raw));
    while (PGresult* r = PQgetResult(raw)) {
      CHECK(PQresultStatus(r) == PGRES_COMMAND_OK, PQerrorMessage(raw));
      PQclear(r);
    }
    seconds += watch.seconds();
  }
  Stopwatch watch;
  must(sink->script("COMMIT"));
  return seconds + watch.seconds();
}

}  // namespace ctrlplane::bench
