// People who stop things: they freeze every kind of scope, with and without selectors, now or planned,
// extend, shorten and thaw, and let versions pass. In a fifth of the worlds there are none. When the storm is
// over they thaw what does not end by itself soon.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/client.h"

namespace ctrlplane::sim {

class Freezers {
 public:
  Freezers(World& world, WorkspaceId w, Client& client);
  void start();
  // Whether the next version is to bypass freezes; with ids only these.
  void maybe_bypass(CreateVersion& version);

 private:
  void act();
  void freeze();
  void choose_scope(CreateFreeze& c);
  void extend_or_shorten();
  void change();
  void thaw_one();
  void thaw(const Freeze& f);
  void skip_a_freeze();
  void force();
  void redeploy();
  void play_with_a_system();
  void change_settings();
  void end_all();

  std::vector<Freeze> open_freezes() const;
  std::optional<VersionId> a_late_version(DeploymentId d);
  std::optional<TargetKey> a_target();
  std::string somebody();
  template <class List>
  const auto& one_of(const List& list) {
    return list[world_.rng.below(std::size(list))];
  }

  World& world_;
  WorkspaceId w_;
  Client& client_;
  bool have_freezes_;
  std::vector<SystemId> systems_;  // of their own; some are gone
  int counter_ = 0;
  Duration calm_since_;
};

}  // namespace ctrlplane::sim
