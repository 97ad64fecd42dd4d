#include "sql_rows.h"

#include <libpq-fe.h>
#include <sqlite3.h>

#include "base/check.h"

namespace ctrlplane::store::test {

TextRows sqlite_rows(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  TextRows out;
  CHECK(sqlite3_open(path.c_str(), &db) == SQLITE_OK, "open");
  auto collect = [](void* to, int n, char** values, char**) {
    auto& row = static_cast<TextRows*>(to)->emplace_back();
    for (int i = 0; i < n; ++i) row.push_back(values[i] ? values[i] : "");
    return 0;
  };
  CHECK(sqlite3_exec(db, sql.c_str(), collect, &out, nullptr) == SQLITE_OK, sqlite3_errmsg(db));
  sqlite3_close(db);
  return out;
}

TextRows postgres_rows(const std::string& conninfo, const std::string& sql) {
  PGconn* c = PQconnectdb(conninfo.c_str());
  PGresult* r = PQexec(c, sql.c_str());
  CHECK(PQresultStatus(r) == PGRES_TUPLES_OK || PQresultStatus(r) == PGRES_COMMAND_OK, PQerrorMessage(c));
  TextRows out;
  for (int i = 0; i < PQntuples(r); ++i) {
    auto& row = out.emplace_back();
    for (int j = 0; j < PQnfields(r); ++j) row.push_back(PQgetvalue(r, i, j));
  }
  PQclear(r);
  PQfinish(c);
  return out;
}

}  // namespace ctrlplane::store::test
