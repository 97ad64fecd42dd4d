// For operations that name no workspace in their path.
#pragma once

#include <utility>

#include <fmt/core.h>

#include "api/api.h"
#include "api/cold.h"

namespace ctrlplane::api {

// The workspace, among those the caller may work in, that has this row. On pool threads only.
template <class E>
Result<std::pair<WorkspaceId, E>> find_anywhere(Call& c, Uuid id, const Permission& permission,
                                                std::string_view what) {
  for (const Workspace& w : c.api().directory().workspaces_of(c.who())) {
    auto found = TRY(row<E>(c.store(), w.id, id));
    if (!found) continue;
    TRY(c.api().directory().allows(c.who(), permission, w.id));
    return std::pair{w.id, *std::move(found)};
  }
  return fail(ErrorCode::kNotFound, fmt::format("no {} {}", what, id.str()));
}

}  // namespace ctrlplane::api
