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

  // Adds releases (with their versions) that no job needs to refer to.
  Status add_releases(store::Store& store, const std::set<ReleaseId>& ids);

 private:
  const std::string* part(const Digest& digest) const;

  WorkspaceId workspace_;
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
