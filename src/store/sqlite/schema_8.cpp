// Migration 8 for SQLite: versions that are for some targets only.
//
// A binary that does not know scopes would deploy such a version everywhere, so it may not work on this schema.
#include "store/migrations.h"

namespace ctrlplane::store {

const std::string_view kSqliteSchema8 = R"sql(
ALTER TABLE deployment_version ADD COLUMN target_selector TEXT;
ALTER TABLE deployment_version ADD COLUMN on_selector_error TEXT NOT NULL DEFAULT 'include';
)sql";

}  // namespace ctrlplane::store
