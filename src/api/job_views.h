// Jobs as the API shows them, with what lies in other rows: the agent's kind, the dispatch context, the
// release. Read from the store on pool threads.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/cold.h"
#include "model/json_writer.h"

namespace ctrlplane::api {

struct Holding {
  FreezeId freeze;
  std::string reason;
};
using Holdings = std::map<JobId, Holding>;

// Those of these jobs that wait because of a freeze. On the loop.
Holdings held_among(const State& state, Time now, const std::vector<JobId>& waiting);
// The same asked from a pool thread; nobody is asked if none of them waits. `then` is on a pool thread too.
Status with_held(Call& call, const std::vector<Job>& jobs, std::function<Status(Call&, Holdings)> then);

// What the agent could have now, oldest first; nothing if all that waits for it is, because there is no
// freeze. It looks at the first so many: those behind them come when these are gone.
using Offer = std::optional<std::vector<JobId>>;
Offer offered(const State& state, Time now, AgentIx agent);

// Everything that a set of jobs refers to, read in a few queries however many jobs there are.
class JobContexts {
 public:
  struct Want {
    bool resources = false;  // the resource part too, for whole dispatch contexts
    bool entities = false;   // release, version, deployment, environment, resource as they are now
  };
  static Result<JobContexts> read(store::Store& store, WorkspaceId workspace, const std::vector<Job>& jobs,
                                  Want want);

  // {id, status, …}, with `dispatchContext` if it was asked for.
  // `status`: another word for it.
  void write_job(JsonWriter& w, const Job& job, bool with_context, std::string_view status = {}) const;
  // {job, release, deployment, environment, resource}
  void write_with_release(JsonWriter& w, const Job& job) const;
  // The same without the job and the brackets.
  void write_about(JsonWriter& w, const Job& job) const;
  // Also used for release targets.
  void write_release(JsonWriter& w, ReleaseId id) const;
  bool has_release(ReleaseId id) const { return releases_.contains(id); }
  // Jobs among these are shown with what holds them.
  void show_held(Holdings held) { held_ = std::move(held); }

  // Adds releases (with their versions) that no job needs to refer to.
  Status add_releases(store::Store& store, const std::set<ReleaseId>& ids);

 private:
  const std::string* part(const Digest& digest) const;

  WorkspaceId workspace_;
  Holdings held_;
  std::map<AgentId, JobAgent> agents_;
  std::map<Digest, std::string> parts_;
  std::map<Digest, std::string> configs_;  // jobAgentConfig of shared parts
  std::map<ReleaseId, Release> releases_;
  std::map<VersionId, Version> versions_;
  std::map<DeploymentId, Deployment> deployments_;
  std::map<EnvironmentId, Environment> environments_;
  std::map<ResourceId, Resource> resources_;
};

}  // namespace ctrlplane::api
