// People and CI: they create, change, delete, cancel, redeploy, decide and read, retry what failed with the
// same key, and remember what they were told.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/world.h"

namespace ctrlplane::sim {

class Client {
 public:
  Client(World& world, WorkspaceId w, std::string name) : world_(world), w_(w), name_(std::move(name)) {}
  // Builds the workspace's first entities; calls back with the ids of the pull agents when all is there.
  void set_up(Callback<std::vector<AgentId>> done);
  void start(class Reviewers& reviewers, class Freezers& freezers);
  // Asks with a key of its own, as anybody, and goes on asking until there is an answer or so many tries
  // were for nothing.
  void ask(Command c, std::string actor, int tries, Callback<Reply> done = nullptr);
  using Render = std::function<std::string(const State&, Time, const Answer&)>;
  void ask(Command c, std::string actor, int tries, Render render, Callback<Reply> done);
  const std::string& name() const { return name_; }
  const std::vector<UpsertEnvironment>& environments() const { return environments_; }
  SystemId system() const { return system_; }
  const std::vector<DeploymentId>& deployments() const { return deployments_; }
  // Whatever was acknowledged before a read begins must be in it.
  void read_versions();

 private:
  struct Named {
    std::string table, name;  // what the checker looks for
    bool shared = false;      // somebody else asks for the same
  };
  void act();
  void create(Request request, Named what, Callback<Uuid> done = nullptr);
  void send(Request request, int tries, Callback<Reply> done);
  void maybe_scope(CreateVersion& c);
  void publish();
  void publish_duplicate();
  void change_selector();
  void change_resource();
  void set_provider();
  ResourceInput node(int n, const std::string& env);
  void watch();
  void touch_a_job();
  void decide_lost_jobs();
  std::string fresh(std::string_view what) {
    return std::string(what) + "-" + name_ + "-" + std::to_string(++counter_);
  }
  Request keyed(Command c);

  World& world_;
  WorkspaceId w_;
  std::string name_;
  int counter_ = 0;
  SystemId system_;
  std::vector<DeploymentId> deployments_;
  std::vector<UpsertDeployment> deployment_rows_;
  std::vector<UpsertEnvironment> environments_;
  ProviderId provider_;
  class Reviewers* reviewers_ = nullptr;
  class Freezers* freezers_ = nullptr;
  std::map<DeploymentId, std::vector<std::string>> acknowledged_tags_;
};

}  // namespace ctrlplane::sim
