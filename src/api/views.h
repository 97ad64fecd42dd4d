// Entities as the API shows them.
#pragma once

#include "model/entities.h"
#include "model/json_writer.h"
#include "model/policy.h"
#include "state/state.h"

namespace ctrlplane::api {

void write(JsonWriter& w, const Workspace& row);
void write(JsonWriter& w, const User& row);
void write(JsonWriter& w, const ApiKey& row, std::string_view secret_once = {});

void write(JsonWriter& w, WorkspaceId workspace, const System& row);
void write(JsonWriter& w, WorkspaceId workspace, const Environment& row);
void write(JsonWriter& w, WorkspaceId workspace, const Deployment& row);
void write(JsonWriter& w, WorkspaceId workspace, const Provider& row);
void write(JsonWriter& w, WorkspaceId workspace, const Resource& row);
void write(JsonWriter& w, WorkspaceId workspace, const JobAgent& row);
// How many targets a scoped version is for.
struct ScopeNumbers {
  uint64_t matched = 0, undetermined = 0, total = 0;
  bool counting = false;
};
// Nothing: it is for all of them. `total`: the deployment's targets, where somebody has counted them already.
std::optional<ScopeNumbers> scope_of(const State& state, VersionIx v, std::optional<uint64_t> total = {});
void write(JsonWriter& w, const ScopeNumbers& scope);
// Why people should look at it; empty if they need not.
std::string scope_warning(const ScopeNumbers& scope, OnSelectorError on_error);
// What the target runs, and newer versions, whose selector cannot be evaluated there.
std::vector<std::string> scope_warnings(const State& state, TargetIx target);
void write_warnings(JsonWriter& w, const std::vector<std::string>& warnings);
// As part of something else; and by itself, with what it needs of other deployments.
void write(JsonWriter& w, const Version& row);
void write(JsonWriter& w, const Version& row, const std::vector<VersionDependency>& dependencies,
           const std::optional<ScopeNumbers>& scope = {});
void write(JsonWriter& w, const AuditEntry& row);
void write(JsonWriter& w, const TargetKey& key);
// Variables are not resolved yet, so a release has none.
void write(JsonWriter& w, const Release& row, const Version* version);

// A text that ends an object, with one more member.
std::string with_member(std::string object, std::string_view name, std::string_view value);

// A whole object as text.
template <class... Args>
std::string text_of(const Args&... args) {
  JsonWriter w;
  write(w, args...);
  return w.take();
}

// The slots of a table that are in use, ordered by what `less` says of their rows.
template <class Ix, class Slots, class Less>
std::vector<const typename std::remove_cvref_t<decltype(std::declval<Slots>()[Ix{}])>*> sorted(
    const Slots& slots, Less&& less) {
  std::vector<const typename std::remove_cvref_t<decltype(std::declval<Slots>()[Ix{}])>*> all;
  all.reserve(slots.size());
  slots.each([&](Ix, const auto& slot) { all.push_back(&slot); });
  std::sort(all.begin(), all.end(), [&](const auto* a, const auto* b) { return less(a->row, b->row); });
  return all;
}

inline constexpr auto kByName = [](const auto& a, const auto& b) {
  return std::tie(a.name, a.id) < std::tie(b.name, b.id);
};

}  // namespace ctrlplane::api
