// The rows of a workspace. Plain data: what they mean is decided in engine and policy, how they are
// stored in store. A member that may be absent is an optional.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/time.h"
#include "model/enums.h"
#include "model/ids.h"
#include "model/json.h"
#include "model/metadata.h"

namespace ctrlplane {

struct Workspace {  // lives in the instance pseudo-workspace
  WorkspaceId id;
  std::string name;
  std::string slug;
  Time created_at;
  bool operator==(const Workspace&) const = default;
};

struct System {
  SystemId id;
  std::string name;
  std::string slug;
  std::string description;
  Metadata metadata;
  Time created_at;
  bool operator==(const System&) const = default;
};

struct Environment {
  EnvironmentId id;
  std::string name;
  std::string description;
  std::optional<std::string> resource_selector;  // unset matches no resource
  Metadata metadata;
  Time created_at;
  bool operator==(const Environment&) const = default;
};

struct Deployment {
  DeploymentId id;
  std::string name;
  std::string slug;
  std::string description;
  std::optional<std::string> resource_selector;  // unset matches no resource
  std::string agent_selector;                    // one job per matching agent; empty matches none
  Json agent_config;
  std::optional<Duration> job_timeout;
  Metadata metadata;
  Time created_at;
  bool operator==(const Deployment&) const = default;
};

struct SystemDeployment {
  SystemId system;
  DeploymentId deployment;
  bool operator==(const SystemDeployment&) const = default;
};

struct SystemEnvironment {
  SystemId system;
  EnvironmentId environment;
  bool operator==(const SystemEnvironment&) const = default;
};

struct Version {
  VersionId id;
  DeploymentId deployment;
  std::string tag;
  std::string name;
  VersionStatus status = VersionStatus::kReady;
  std::string message;
  Json config;
  Json agent_config;
  Metadata metadata;
  Time created_at;
  bool retired = false;  // can no longer be selected anywhere: kept in SQL, not in memory
  bool operator==(const Version&) const = default;
};

struct Provider {
  ProviderId id;
  std::string name;
  Metadata metadata;
  Time created_at;
  bool operator==(const Provider&) const = default;
};

struct Resource {
  ResourceId id;
  std::string identifier;  // unique in the workspace
  std::string name;
  std::string kind;
  std::string version;
  Json config;
  Metadata metadata;
  std::optional<ProviderId> provider;
  Time created_at;
  std::optional<Time> updated_at;
  bool operator==(const Resource&) const = default;
};

struct JobAgent {
  AgentId id;
  std::string name;
  std::string type;  // one of agent_type.h
  Json config;
  Metadata metadata;
  Time created_at;
  bool operator==(const JobAgent&) const = default;
};

// A version with its resolved variables on one target. The id follows from these inputs, so the same
// inputs are the same release.
struct Release {
  ReleaseId id;
  TargetKey target;
  VersionId version;
  Digest variables;  // content part with the typed values
  Time created_at;
  bool operator==(const Release&) const = default;
};

struct Job {
  JobId id;
  TargetKey target;
  ReleaseId release;
  VersionId version;
  AgentId agent;
  JobCause cause = JobCause::kPolicy;
  JobStatus status = JobStatus::kPending;
  std::string message;
  std::string external_id;
  // True until every job of its attempt is terminal. The jobs in memory are the live ones.
  bool live = true;
  bool cancelled_by_engine = false;  // superseded: counts as no attempt
  bool fences_itself = false;        // its holder stops the command before its lease ends
  std::string holder;                // instance that claimed it
  Digest shared_part;                // deployment, environment, version, agent, merged config
  Digest resource_part;
  Time created_at;
  std::optional<Duration> timeout;
  std::optional<Time> handed_over_at;
  std::optional<Time> started_at;
  std::optional<Time> cancel_requested_at;
  std::optional<Time> ended_at;
  Time updated_at;
  bool operator==(const Job&) const = default;
};

struct PastVersion {
  VersionId version;
  Time first_success;
  bool operator==(const PastVersion&) const = default;
};

// What a target remembers. A target without such a row has never been decided about.
struct TargetState {
  TargetKey key;
  std::optional<ReleaseId> desired_release;
  std::optional<VersionId> desired_version;
  std::optional<ReleaseId> current_release;
  std::optional<VersionId> current_version;
  std::optional<Time> current_since;
  // The present chain: attempts of one release since the last job of another.
  std::optional<ReleaseId> chain_release;
  int64_t attempts = 0;  // ended without success, not counting what the engine cancelled
  std::optional<JobId> last_job;
  std::optional<JobStatus> last_status;
  std::optional<Time> last_ended_at;
  std::vector<PastVersion> past;  // versions that were current here, oldest first
  bool operator==(const TargetState&) const = default;
};

// A piece of a job's dispatch context, stored once however many jobs refer to it.
struct ContextPart {
  Digest digest;
  std::string body;
  bool operator==(const ContextPart&) const = default;
};

struct OutboxItem {
  OutboxId id;
  OutboxKind kind = OutboxKind::kNotice;
  OutboxStatus status = OutboxStatus::kPending;
  std::optional<JobId> job;  // starts and cancels
  std::string channel;       // agent type, or notification channel
  std::string payload;
  int64_t attempt = 0;  // raised by the commit that makes it `sending`
  std::string last_error;
  Time created_at;
  Time next_attempt_at;
  std::optional<Time> ended_at;
  bool in_doubt = false;  // a start of which an earlier attempt may have arrived
  bool asking = false;    // the attempt under way only asks for it
  bool operator==(const OutboxItem&) const = default;
};

struct IdempotencyRecord {
  Digest key;   // of actor, route and the client's key
  Digest body;  // of the request
  int64_t status = 200;
  Uuid subject;
  std::string reply;
  Time created_at;
  bool operator==(const IdempotencyRecord&) const = default;
};

struct AuditEntry {
  AuditId id;
  Time at;
  std::string actor;
  std::string action;
  std::string subject;
  std::string details;  // JSON object
  bool operator==(const AuditEntry&) const = default;
};

}  // namespace ctrlplane
