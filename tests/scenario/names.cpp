#include "names.h"

namespace ctrlplane::scenario {

std::string Names::of(const Uuid& id) const {
  auto it = names_.find(id);
  return it == names_.end() ? "<id>" : it->second;
}

std::string Names::tag(VersionId id) const {
  std::string name = of(id);
  return name.substr(name.rfind(' ') + 1);
}

std::string Names::of(const TargetKey& key) const {
  return fmt::format("{} on {}/{}", of(key.deployment), of(key.environment), of(key.resource));
}

TargetKey Names::target(const std::string& deployment, const std::string& environment,
                        const std::string& resource) const {
  return {id<ResourceId>(resource), id<EnvironmentId>(environment), id<DeploymentId>(deployment)};
}

std::string Names::readable(const std::string& text) const {
  constexpr size_t kLength = 36;
  std::string out;
  for (size_t i = 0; i < text.size();) {
    auto id =
        i + kLength <= text.size() ? Uuid::parse(std::string_view(text).substr(i, kLength)) : std::nullopt;
    out += id ? of(*id) : std::string(1, text[i]);
    i += id ? kLength : 1;
  }
  return out;
}

}  // namespace ctrlplane::scenario
