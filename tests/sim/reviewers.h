// People who gate deployments: they write, change and delete policies, approve and reject versions, skip
// rules, force and clear. In a quarter of the worlds, and in half of
// those with brackets, there are none.
#pragma once

#include <string>
#include <vector>

#include "sim/client.h"

namespace ctrlplane::sim {

class Reviewers {
 public:
  Reviewers(World& world, WorkspaceId w, Client& client);
  // Writes the first policies.
  void start();
  bool have_policies() const { return have_policies_; }
  // Somebody published it: some of them look at it, sooner or later.
  void published(VersionId version, DeploymentId deployment);

 private:
  struct Published {
    VersionId version;
    DeploymentId deployment;
  };
  void act();
  UpsertPolicy::RuleInput a_rule();
  bool has_room_for(const std::string& type, const std::vector<UpsertPolicy::RuleInput>& more) const;
  UpsertPolicy a_policy();
  void put(const UpsertPolicy& policy);
  void change_a_policy();
  void delete_a_policy();
  void skip_a_rule();
  void say(VersionId version);
  void force_or_clear();
  void say_what_is_left_to_say();
  const Published& a_late_version();
  std::string somebody();
  template <class T, size_t N>
  const T& one_of(const T (&list)[N]) {
    return list[world_.rng.below(N)];
  }
  int64_t between(int64_t a, int64_t b) {
    return a + static_cast<int64_t>(world_.rng.below(static_cast<uint64_t>(b - a + 1)));
  }

  World& world_;
  WorkspaceId w_;
  Client& client_;
  bool have_policies_;
  std::vector<UpsertPolicy> policies_;
  std::vector<Published> versions_;
  int counter_ = 0;
};

}  // namespace ctrlplane::sim
