// Where a workspace's news go, and its settings.
#pragma once

#include <string>

#include "base/time.h"
#include "model/enums.h"
#include "model/ids.h"
#include "model/json.h"

namespace ctrlplane {

struct NotificationChannel {
  ChannelId id;
  std::string name;  // unique in the workspace
  ChannelKind kind = ChannelKind::kWebhook;
  Json config;         // webhook, slack: {"url"}; email: {"to": [...]}, or {} for the members concerned
  std::string secret;  // webhook: the key its messages are signed with; never shown
  bool enabled = true;
  Time created_at;
  bool operator==(const NotificationChannel&) const = default;
};

// A group of settings of the workspace, by name.
struct Setting {
  std::string name;
  Json value;
  bool operator==(const Setting&) const = default;
};

}  // namespace ctrlplane
