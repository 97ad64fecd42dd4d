// Freezes as the API shows them, and what they do to whom: counted in steps between which the loop serves
// others.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/call.h"
#include "engine/freeze_impact.h"

namespace ctrlplane::api {

// kInvalid names the member; nothing if it is absent.
Result<std::optional<Duration>> duration_in(const Body& body, std::string_view name);

std::string freeze_text(WorkspaceId workspace, const Freeze& row, Time now);
void write(JsonWriter& w, const FreezeEvent& event);
// {id, reason, scope, expiresAt}
void write_brief(JsonWriter& w, const Freeze& row);

// The most specific one that stops the target's next version, or the one it should run. Null: none.
const Freeze* freeze_over(const State& state, Time now, TargetIx target);

// Also one that has left memory; kNotFound if there is none. On pool threads only.
Result<Freeze> stored_freeze(Call& call, FreezeId id);

// The history of a freeze, oldest first. On pool threads only.
Result<std::vector<FreezeEvent>> events_of(store::Store& store, WorkspaceId workspace, FreezeId id);

// What a freeze does, under way.
struct Impact {
  std::string in_flight = "[]";               // a JSON array
  std::string open_brackets = "[]";           // likewise
  std::optional<FreezeOutline> outline = {};  // unset: there is nothing to count
  FreezeCount count = {};
  size_t steps_left = SIZE_MAX;  // after which the count is left as it is
  bool done = false;

  // Of the state as it is now: the jobs that agents have are exact, and the groups at work.
  void begin(const State& state, FreezeOutline freeze);
  std::string text() const;     // as JSON
  std::string numbers() const;  // the members that were counted, without brackets
};

// The jobs that agents have now, as a JSON array.
std::string in_flight_text(const State& state, const FreezeOutline& freeze);
// The bracket groups that it stops half-way, likewise.
std::string open_brackets_text(const State& state, const FreezeOutline& freeze);

// Counts on, one step of the loop after the other; `then` runs on the loop's thread. An error: it could not
// be counted to the end.
void count_impact(Call& call, std::shared_ptr<Impact> impact, std::function<void(Call&, Status)> then);

}  // namespace ctrlplane::api
