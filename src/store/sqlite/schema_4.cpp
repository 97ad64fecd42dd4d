// Migration 4 for SQLite: how attempts ended on a target that were not successful.
//
// A binary that knows schema 3 leaves the column as it is, and denies by a rule that would look at it.
#include "store/migrations.h"

namespace ctrlplane::store {

const std::string_view kSqliteSchema4 = R"sql(
ALTER TABLE release_target ADD COLUMN endings TEXT NOT NULL DEFAULT '';
)sql";

}  // namespace ctrlplane::store
