// What a workspace asks of its versions.
#pragma once

#include <string_view>

#include "model/enums.h"
#include "model/json.h"

namespace ctrlplane {

struct VersionSettings {
  static constexpr std::string_view kName = "version";            // of the Setting that holds them
  OnSelectorError on_selector_error = OnSelectorError::kInclude;  // of scoped versions that do not say
  bool scope_needs_permission = false;
  bool operator==(const VersionSettings&) const = default;

  static VersionSettings from(const Json& value);  // what it cannot read is as by default
  Json json() const;
};

}  // namespace ctrlplane
