// The program of tomorrow: today's with one migration more. An executable's own definition of migrations()
// goes before the library's, so nothing else is compiled again.
#include "store/migrations.h"

namespace ctrlplane::store {
namespace {

// Additive, as a migration has to be while older programs are running. The older one knows neither.
constexpr std::string_view kNext = R"sql(
ALTER TABLE system ADD COLUMN motto text NOT NULL DEFAULT 'none';
CREATE TABLE tomorrow (workspace_id text NOT NULL, note text NOT NULL);
)sql";

}  // namespace

const std::vector<Migration>& migrations() {
  static const std::vector<Migration> all = {
      {1, 1, kSqliteSchema1, kPostgresSchema1},
      {2, 2, kSqliteSchema2, kPostgresSchema2},
      {3, 3, kSqliteSchema3, kPostgresSchema3},
      {4, 3, kSqliteSchema4, kPostgresSchema4},
      {5, 5, kSqliteSchema5, kPostgresSchema5},
      {6, 6, kSqliteSchema6, kPostgresSchema6},
      {7, 7, kSqliteSchema7, kPostgresSchema7},
      {8, 8, kSqliteSchema8, kPostgresSchema8},
      {9, 8, kNext, kNext},
  };
  return all;
}

}  // namespace ctrlplane::store
