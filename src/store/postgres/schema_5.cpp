// Migration 5 for PostgreSQL: what replicas need to work side by side. A binary from before it does not
// forward requests, so none may share the database.
#include "store/migrations.h"

namespace ctrlplane::store {

const std::string_view kPostgresSchema5 = R"sql(
ALTER TABLE replica ADD COLUMN leaving bigint NOT NULL DEFAULT 0;
CREATE TABLE cluster (
  one bigint PRIMARY KEY CHECK (one = 1),
  secret text COLLATE "C" NOT NULL
);
)sql";

}  // namespace ctrlplane::store
