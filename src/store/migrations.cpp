#include "store/migrations.h"

#include <fmt/core.h>

namespace ctrlplane::store {

Result<std::string> upgrade_script(Dialect dialect, SchemaInfo present, std::span<const Migration> known) {
  const int64_t ours = known.back().number;
  if (present.min_binary > ours)
    return fail(ErrorCode::kConflict,
                fmt::format("the database has schema {} and needs a binary that knows schema {} or later; "
                            "this one knows schema {}",
                            present.version, present.min_binary, ours));
  std::string script;
  for (const Migration& m : known)
    if (m.number > present.version) script += m.text(dialect);
  if (!script.empty())
    script +=
        fmt::format("DELETE FROM schema_info; INSERT INTO schema_info (version, min_binary) VALUES ({}, {});",
                    ours, known.back().min_binary);
  return script;
}

}  // namespace ctrlplane::store
