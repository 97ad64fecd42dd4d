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

// ---- Accounts: they live in the instance too, so that one copy of it answers who may do what ----------

struct User {
  UserId id;
  std::string email;  // lower-case, unique
  std::string name;
  std::string password_hash;  // empty: cannot sign in with a password
  bool admin = false;         // of the instance
  Time created_at;
  bool operator==(const User&) const = default;
};

// Acts for its user, narrowed by the role and the workspace it has.
struct ApiKey {
  KeyId id;
  UserId user;
  std::string name;
  std::string prefix;       // 16 hex digits, unique
  std::string secret_hash;  // 64 hex digits: SHA-256 of the secret's text
  std::optional<Role> role;
  std::optional<WorkspaceId> workspace;
  std::optional<Time> expires_at;
  Time created_at;
  std::string grants = {};  // permissions beyond the role, as has_grant reads them
  bool operator==(const ApiKey&) const = default;
};

struct Session {
  SessionId id;
  UserId user;
  std::string token_hash;
  Time created_at;
  Time expires_at;
  bool operator==(const Session&) const = default;
};

struct Member {
  WorkspaceId workspace;
  UserId user;
  Role role = Role::kViewer;
  std::string grants = {};  // permissions beyond the role, as has_grant reads them
  bool operator==(const Member&) const = default;
};

// Is the permission among these, which are separated by blanks?
bool has_grant(std::string_view grants, std::string_view permission);

// ---- What a workspace declares -----------------------------------------------------------------------

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
  bool retired = false;    // can no longer be selected anywhere: kept in SQL, not in memory
  std::string created_by;  // the actor
  bool bypass_freeze = false;
  std::vector<FreezeId> bypass_freeze_ids = {};  // if it passes only these
  // For which targets it exists; unset: for all. Never changes.
  std::optional<std::string> target_selector = {};
  OnSelectorError on_selector_error = OnSelectorError::kInclude;  // where the selector cannot be evaluated
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
  std::string type;  // of agent_type.h, or free text: then it pulls
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
  std::optional<FreezeId> stopped_by = {};  // the freeze that asked its agent to stop it: no attempt is used
  std::optional<GroupId> group = {};        // the bracket group it works for
  std::vector<RuleId> slots = {};           // concurrency rules whose slot on the resource it holds
  bool operator==(const Job&) const = default;
};

struct PastVersion {
  VersionId version;
  Time first_success;
  bool operator==(const PastVersion&) const = default;
};
// A target keeps so many of the newest.
inline constexpr size_t kMaxPast = 8;

// A version's first attempt on a target that ended so, otherwise than successfully.
struct Ending {
  VersionId version;
  JobStatus status = JobStatus::kFailure;
  Time first_at;
  bool operator==(const Ending&) const = default;
};
// A target keeps so many of the newest.
inline constexpr size_t kMaxEndings = 8;

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
  // Ruled out here by a rollback rule, until a person clears it or a newer version arrives.
  std::vector<VersionId> denied;
  std::optional<VersionId> last_version;  // of last_job
  std::vector<Ending> endings;            // oldest first; each version and status once
  bool operator==(const TargetState&) const = default;
};

// A piece of a job's dispatch context, stored once however many jobs refer to it.
struct ContextPart {
  Digest digest;
  std::string body;
  // A put raises it by more than kPartFresh or not at all. Unset: stored by the first release; kept for good.
  std::optional<Time> stored_at = {};
  bool operator==(const ContextPart&) const = default;
};

// For so long a workspace may take it that a part it has put is stored, and refer to it without another
// put. So a job is younger than its parts' stored_at + 2 · kPartFresh, and a part that is older than that
// before the oldest job is nobody's.
inline constexpr Duration kPartFresh = hours(24);

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
  bool in_doubt = false;                    // a start of which an earlier attempt may have arrived
  bool asking = false;                      // the attempt under way only asks for it
  std::optional<ChannelId> recipient = {};  // notices: the channel they go to
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
