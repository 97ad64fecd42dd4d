// Freezes: halts over a scope, and what happened to them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/enums.h"
#include "model/ids.h"
#include "model/json.h"
#include "model/metadata.h"

namespace ctrlplane {

// For a while the freeze had another selector than it has now. What was held under it stood still then.
struct FreezeSpan {
  Time from, to;
  std::optional<std::string> selector;
  bool operator==(const FreezeSpan&) const = default;
};

struct Freeze {
  FreezeId id;
  FreezeScope scope = FreezeScope::kWorkspace;
  std::optional<Uuid> scope_entity;  // unset iff the scope is the workspace
  std::string reason;
  std::string incident_url;
  std::string created_by;
  Time created_at;
  Time effective_at;
  std::optional<Time> expires_at;
  std::optional<Time> thawed_at;  // set: it has ended
  std::string thawed_by;          // empty: nobody, it expired
  std::string thaw_reason;
  std::optional<std::string> selector;  // CEL over deployment, environment, resource, version
  InFlight in_flight = InFlight::kFinishJobs;
  Metadata metadata;
  // ---- Ours ------------------------------------------------------------------------------------------
  std::optional<Time> activated_at;          // its beginning has been told
  std::optional<Time> warn_at;               // when it is to be told that it expires soon
  std::optional<int64_t> resume_per_minute;  // after its end held work is let go no faster than this
  std::vector<VersionId> passed;             // versions of which it was told that they bypass it
  std::vector<FreezeSpan> spans;             // oldest first; before the present selector
  bool retired = false;                      // ended long ago: kept in SQL, not in memory
  bool operator==(const Freeze&) const = default;

  bool ended() const { return thawed_at.has_value(); }
  // The first moment after it; never for one that nobody has ended and that does not expire.
  Time end() const { return thawed_at ? *thawed_at : expires_at.value_or(Time::never()); }
  bool active(Time now) const { return effective_at <= now && now < end(); }
  bool scheduled(Time now) const { return !ended() && now < effective_at; }
};

// One line of a freeze's history.
struct FreezeEvent {
  FreezeEventId id;
  FreezeId freeze;
  FreezeAction action = FreezeAction::kActivated;
  std::string actor;  // empty: the system
  std::string note;
  Json metadata;
  Time created_at;
  bool operator==(const FreezeEvent&) const = default;
};

// What a workspace asks of its freezes.
struct FreezeSettings {
  static constexpr std::string_view kName = "freeze";  // of the Setting that holds them
  std::optional<Duration> max_ttl;
  bool ttl_required = false;
  bool thaw_needs_reason = false;
  bool second_person_thaws = false;
  Duration warn_before = minutes(30);
  bool operator==(const FreezeSettings&) const = default;

  static FreezeSettings from(const Json& value);  // what it cannot read is as by default
  Json json() const;
};

class JsonWriter;
// As the API and notices show it.
void write_freeze(JsonWriter& w, WorkspaceId workspace, const Freeze& f, Time now);

// The spans as one JSON array, and back. Nothing: `text` is not what spans_json writes.
std::string spans_json(const std::vector<FreezeSpan>& spans);
std::optional<std::vector<FreezeSpan>> parse_spans(std::string_view text);

}  // namespace ctrlplane
