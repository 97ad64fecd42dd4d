// Names for ids. Scenarios speak of names only; what has been deleted keeps its name here, so that a
// file can go on speaking of it.
#pragma once

#include <map>
#include <string>

#include "model/entities.h"

namespace ctrlplane::scenario {

class Names {
 public:
  // The id that last bore the name. A name nobody has had gets an id nobody has: the product answers 404.
  template <class IdType>
  IdType id(const std::string& name) const {
    auto it = ids_.find(kind<IdType>() + name);
    return IdType{it == ids_.end() ? derived_uuid(kind<IdType>() + name) : it->second};
  }
  template <class IdType>
  void learn(const std::string& name, const Uuid& id) {
    ids_[kind<IdType>() + name] = id;
    names_[id] = name;
  }
  std::string of(const Uuid& id) const;
  template <class Tag>
  std::string of(const Id<Tag>& id) const {
    return of(id.uuid);
  }
  // Versions are named by deployment and tag, and told by tag alone.
  static std::string version(const std::string& deployment, const std::string& tag) {
    return deployment + " " + tag;
  }
  std::string tag(VersionId id) const;

  // `api on prod/node-1`
  std::string of(const TargetKey& key) const;
  TargetKey target(const std::string& deployment, const std::string& environment,
                   const std::string& resource) const;

  // The text with every id in it replaced by its name, unknown ones by `<id>`.
  std::string readable(const std::string& text) const;

 private:
  template <class IdType>
  static std::string kind();

  std::map<std::string, Uuid> ids_;
  std::map<Uuid, std::string> names_;
};

template <>
inline std::string Names::kind<SystemId>() {
  return "system ";
}
template <>
inline std::string Names::kind<EnvironmentId>() {
  return "environment ";
}
template <>
inline std::string Names::kind<DeploymentId>() {
  return "deployment ";
}
template <>
inline std::string Names::kind<VersionId>() {
  return "version ";
}
template <>
inline std::string Names::kind<ResourceId>() {
  return "resource ";
}
template <>
inline std::string Names::kind<ProviderId>() {
  return "provider ";
}
template <>
inline std::string Names::kind<AgentId>() {
  return "agent ";
}
template <>
inline std::string Names::kind<PolicyId>() {
  return "policy ";
}
template <>
inline std::string Names::kind<SkipId>() {
  return "skip ";
}
template <>
inline std::string Names::kind<FreezeId>() {
  return "freeze ";
}
template <>
inline std::string Names::kind<JobId>() {
  return "job ";
}

}  // namespace ctrlplane::scenario
