// What a notice says, in words for people. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/ids.h"

namespace ctrlplane::notify {

enum class Audience : uint8_t { kDeployers, kAdmins };

struct Fact {
  std::string name, value;
  bool operator==(const Fact&) const = default;
};

struct Message {
  std::string type;  // "freeze.activated", …, "bracket.stuck", …, "test"
  Audience audience = Audience::kAdmins;
  WorkspaceId workspace;
  std::string headline;      // one line, without control characters
  std::string sentence;      // what has happened
  std::vector<Fact> facts;   // what there is of scope, reason, who, when; or of resource, why, what now
  std::string incident_url;  // http or https; empty: none
  std::string context;       // one line: workspace, freeze or group, when
};

// The message of an outbox row. kInvalid: it is no object with a type.
Result<Message> read_message(std::string_view payload);

std::string subject_of(const Message& m);
std::string plain_text(const Message& m);  // lines end with LF

// "2 d 3 h", "5 min", "40 s": the two largest units that are not 0.
std::string duration_words(int64_t seconds);

}  // namespace ctrlplane::notify
