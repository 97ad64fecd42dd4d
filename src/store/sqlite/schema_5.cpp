// Migration 5 for SQLite: nothing. Replicas and their secret are not stored where there can be only one.
#include "store/migrations.h"

namespace ctrlplane::store {

const std::string_view kSqliteSchema5 = "";

}  // namespace ctrlplane::store
