// Alone in its file, so that a test can build the program of tomorrow: with one migration more.
#include "store/migrations.h"

namespace ctrlplane::store {

const std::vector<Migration>& migrations() {
  static const std::vector<Migration> all = {
      {1, 1, kSqliteSchema1, kPostgresSchema1}, {2, 2, kSqliteSchema2, kPostgresSchema2},
      {3, 3, kSqliteSchema3, kPostgresSchema3}, {4, 3, kSqliteSchema4, kPostgresSchema4},
      {5, 5, kSqliteSchema5, kPostgresSchema5}, {6, 6, kSqliteSchema6, kPostgresSchema6},
      {7, 7, kSqliteSchema7, kPostgresSchema7}, {8, 8, kSqliteSchema8, kPostgresSchema8},
  };
  return all;
}

}  // namespace ctrlplane::store
