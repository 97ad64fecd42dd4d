// People who run deployments as a unit: in a third of the worlds they write brackets and limits, with hooks
// named or not, change and delete them meanwhile, and do at random what can be done about a group. When the
// storm is over they look after what is stuck.
#pragma once

#include <string>
#include <vector>

#include "sim/client.h"

namespace ctrlplane::sim {

class Operators {
 public:
  Operators(World& world, WorkspaceId w, Client& client) : world_(world), w_(w), client_(client) {}
  void start();

 private:
  using Rule = UpsertPolicy::RuleInput;
  void act();
  void put(const UpsertPolicy& policy);
  UpsertPolicy a_bracket_policy();
  Rule a_bracket(const std::vector<std::string>& order);
  std::string terms();
  void add_order(UpsertPolicy& policy, const std::vector<std::string>& order);
  UpsertPolicy a_limit_policy();
  Rule a_limit();
  Rule rule(std::string type, const std::string& members);
  void change_a_policy();
  void delete_a_policy();
  void skip_an_edge();
  void act_on_a_group();
  void look_after_groups();
  void raise_limits();

  std::vector<BracketGroup> groups(bool at_work) const;
  std::string somebody();
  template <class List>
  const auto& one_of(const List& list) {
    return list[world_.rng.below(std::size(list))];
  }
  int64_t between(int64_t a, int64_t b) {
    return a + static_cast<int64_t>(world_.rng.below(static_cast<uint64_t>(b - a + 1)));
  }

  World& world_;
  WorkspaceId w_;
  Client& client_;
  std::vector<UpsertPolicy> policies_;
  int counter_ = 0;
  Duration calm_since_;
};

}  // namespace ctrlplane::sim
