#include "engine/select.h"

namespace ctrlplane {
namespace {

bool is_eligible_current(const State& state, VersionIx v) {
  return v && !state.versions[v].erased && !is_ruled_out(state.versions[v].row.status);
}

// Paused goes nowhere new, and stays where a job of it is active.
bool is_deployable(const State& state, const TargetSlot& target, VersionIx v) {
  VersionStatus status = state.versions[v].row.status;
  if (status != VersionStatus::kPaused) return status == VersionStatus::kReady;
  return target.first_job && state.jobs[target.first_job].version == v;
}

// A hash alone would scatter a fan-out over the whole table. Led by the version's time (48 bits) and the
// resource's (24 bits), the releases of a version stand together, in about the order they are made; 50 bits
// of hash tell apart what was made in the same millisecond.
Uuid in_order(const Uuid& hash, VersionId version, ResourceId resource) {
  const uint64_t version_ms = version.uuid.high() >> 16, resource_ms = resource.uuid.high() >> 16 & 0xffffff;
  const uint64_t high = version_ms << 16 | 0x8000 | resource_ms >> 12;  // version 8: a layout of our own
  const uint64_t low =
      uint64_t{2} << 62 | (resource_ms & 0xfff) << 50 | (hash.low() & ((uint64_t{1} << 50) - 1));
  return Uuid::from_halves(high, low);
}

}  // namespace

bool is_ruled_out(VersionStatus s) { return s == VersionStatus::kFailed || s == VersionStatus::kRejected; }

Selection select_version(const State& state, Time, TargetIx t) {
  using Kind = Selection::Kind;
  const TargetSlot& target = state.at(t);
  const bool current_stands = is_eligible_current(state, target.current_version);
  for (VersionIx v : state.deployments[target.deployment].versions) {
    if (current_stands && v == target.current_version) break;
    if (v == target.current_version) continue;
    if (is_deployable(state, target, v)) return {Kind::kVersion, v};
  }
  const VersionIx desired = target.desired_version;
  const bool desired_is_held = desired && !state.versions[desired].erased &&
                               state.versions[desired].row.status == VersionStatus::kPaused;
  if (desired_is_held) return {Kind::kHold, {}};
  if (current_stands) return {Kind::kVersion, target.current_version};
  return {Kind::kNothing, {}};
}

ReleaseId release_id(const TargetKey& target, VersionId version, const Digest& variables) {
  std::string inputs;
  inputs.reserve(80);
  auto append = [&](const auto& bytes) {
    inputs.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  append(target.resource.uuid.bytes);
  append(target.environment.uuid.bytes);
  append(target.deployment.uuid.bytes);
  append(version.uuid.bytes);
  append(variables.bytes);
  return ReleaseId{in_order(derived_uuid(inputs), version, target.resource)};
}

}  // namespace ctrlplane
