#include "api/target_key.h"

#include <fmt/core.h>

namespace ctrlplane::api {

Result<TargetKey> target_key_in(const Call& call) {
  std::string_view text = call.argument("releaseTargetKey");
  constexpr size_t kId = 36;
  if (text.size() == 3 * kId + 2 && text[kId] == '-' && text[2 * kId + 1] == '-') {
    auto resource = ResourceId::parse(text.substr(0, kId));
    auto environment = EnvironmentId::parse(text.substr(kId + 1, kId));
    auto deployment = DeploymentId::parse(text.substr(2 * kId + 2));
    if (resource && environment && deployment) return TargetKey{*resource, *environment, *deployment};
  }
  return fail(ErrorCode::kNotFound, "no such release target: a key is resourceId-environmentId-deploymentId");
}

Result<TargetIx> find_target(const State& state, const TargetKey& key) {
  TargetIx t = state.target(key);
  if (t && state.target_exists(t)) return t;
  return fail(ErrorCode::kNotFound, fmt::format("no release target {}", key.str()));
}

}  // namespace ctrlplane::api
