// What a channel's configuration says. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/json.h"

namespace ctrlplane::notify {

struct ChannelConfig {
  std::string url;                             // webhook, slack; empty: none
  std::optional<std::vector<std::string>> to;  // email; unset: the members concerned
};

// What it cannot read is not there; whoever stored it has checked it.
ChannelConfig read_config(const Json& config);

}  // namespace ctrlplane::notify
