// Everything that can be asked of a workspace. Commands are plain data, parsed and validated in form
// before they reach the loop; what depends on state is validated by `execute`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/entities.h"
#include "model/version_settings.h"
#include "state/state.h"

namespace ctrlplane {

// ---- The instance: workspaces and accounts. kInvalid anywhere else ------------------------------------

struct CreateWorkspace {
  std::string name, slug;            // 3 to 30 characters; 3 to 50 of a-z, 0-9 and '-'
  std::optional<UserId> owner = {};  // becomes its first member, as admin
};
struct UpdateWorkspace {
  WorkspaceId id;
  std::optional<std::string> name = {}, slug = {};
};
// Its members and the keys bound to it go too. That nothing is in it is for the caller to see to.
struct DeleteWorkspace {
  WorkspaceId id;
};

struct CreateUser {
  std::optional<UserId> id = {};
  std::string email, name;
  std::string password_hash = {};  // empty: no password
  bool admin = false;
};
// A changed password ends the user's sessions. The last administrator stays one: kConflict.
struct UpdateUser {
  UserId id;
  std::optional<std::string> name = {}, email = {}, password_hash = {};
  std::optional<bool> admin = {};
};
// Keys, sessions and memberships go too. Not the last administrator: kConflict.
struct DeleteUser {
  UserId id;
};

// Answers with the id of the key; the secret itself never comes here.
struct CreateApiKey {
  UserId user;
  std::string name, prefix, secret_hash;
  std::optional<Role> role = {};
  std::optional<WorkspaceId> workspace = {};
  std::optional<Time> expires_at = {};
  std::string grants = {};  // that the actor has them is for the caller to see to
};
struct DeleteApiKey {
  KeyId id;
  std::optional<UserId> only_of = {};  // the key of anybody else is kNotFound
};

struct CreateSession {
  UserId user;
  std::string token_hash;
  Time expires_at;
};
struct DeleteSession {
  SessionId id;
};

struct SetMember {
  WorkspaceId workspace;
  UserId user;
  Role role = Role::kViewer;
  std::string grants = {};
};
struct RemoveMember {
  WorkspaceId workspace;
  UserId user;
};

// The first administrator with a key named "bootstrap"; once there is any user it changes nothing and
// answers created = false.
struct Bootstrap {
  std::string email, name, password_hash, key_prefix, key_secret_hash;
};

// ---- Entities: an upsert without id makes a new one; with the id of an existing one it replaces it ----

struct UpsertSystem {
  std::optional<SystemId> id;
  std::string name, slug, description;
  Metadata metadata;
};
struct DeleteSystem {
  SystemId id;
};

struct UpsertEnvironment {
  std::optional<EnvironmentId> id;
  std::string name, description;
  std::optional<std::string> resource_selector;
  Metadata metadata;
};
struct DeleteEnvironment {
  EnvironmentId id;
};

struct UpsertDeployment {
  std::optional<DeploymentId> id;
  std::string name, slug, description;
  std::optional<std::string> resource_selector;
  std::string agent_selector;
  Json agent_config;
  std::optional<Duration> job_timeout;
  Metadata metadata;
};
struct DeleteDeployment {
  DeploymentId id;
};

struct LinkDeployment {
  SystemId system;
  DeploymentId deployment;
  bool linked = true;  // false: unlink
};
struct LinkEnvironment {
  SystemId system;
  EnvironmentId environment;
  bool linked = true;
};

struct CreateVersion {
  DeploymentId deployment;
  std::string tag, name, message;
  VersionStatus status = VersionStatus::kReady;
  Json config, agent_config;
  Metadata metadata;
  std::optional<Time> created_at;
  bool bypass_freeze = false;                    // that the actor may say so is for the caller to see to
  std::vector<FreezeId> bypass_freeze_ids = {};  // only these
  // On which version of other deployments it depends: SetVersionDependency. All of it happens or nothing.
  std::vector<std::pair<DeploymentId, std::string>> dependencies = {};
  std::optional<std::string> target_selector = {};        // none: for every target
  std::optional<OnSelectorError> on_selector_error = {};  // none: as the workspace says
  bool may_scope = true;  // has the actor the permission for it, where the workspace asks for one?
};
struct SetVersionSettings {
  VersionSettings settings;
};
struct SetVersionStatus {
  VersionId id;
  VersionStatus status;
  std::string message;
  // Its row in the store, for one that has left memory: nothing runs it any more, and it is not selected
  // again.
  std::optional<Version> stored = {};
};

// The other deployment's current version on the same resource must match the selector.
struct SetVersionDependency {
  VersionId version;
  DeploymentId on;
  std::string selector;  // CEL over version
};
struct DeleteVersionDependency {
  VersionId version;
  DeploymentId on;
};

// A rule that is known keeps the time of its creation. kConflict: a rule id that another policy has.
struct UpsertPolicy {
  struct RuleInput {
    std::optional<RuleId> id;  // unset: takes over the rule of its type at the same position, if there is one
    std::string type;
    Json body;
    std::string shown_created_at;
  };
  std::optional<PolicyId> id;
  std::string name, description, selector;
  int64_t priority = 0;
  bool enabled = true;
  Metadata metadata;
  std::vector<RuleInput> rules;
};
struct DeletePolicy {
  PolicyId id;
};

// The actor's word on a version; it replaces what the actor said before. Said again in the same role it
// counts since the first time. kConflict: no environment is concerned.
struct SetApproval {
  VersionId version;
  std::vector<EnvironmentId> environments = {};  // empty: each that shares a system with the deployment
  ApprovalStatus status = ApprovalStatus::kApproved;
  std::optional<Role> role = {};  // the actor's
  std::string reason = {};
};

// The rule counts as allowed for the version there.
struct CreateSkip {
  RuleId rule;
  VersionId version;
  std::optional<EnvironmentId> environment = {};
  std::optional<ResourceId> resource = {};
  std::optional<Time> expires_at = {};
  std::string reason = {};
};
struct DeleteSkip {
  SkipId id;
};

// ---- Freezes -----------------------------------------------------------------------------------------

// From its commit, or from `effective_at` on, nothing it covers is handed to an agent.
struct CreateFreeze {
  FreezeScope scope = FreezeScope::kWorkspace;
  std::optional<Uuid> entity = {};
  std::string reason, incident_url = {};
  std::optional<Duration> expires_in = {};  // from now, or from `effective_at` if that is later
  std::optional<Time> expires_at = {}, effective_at = {};
  std::optional<std::string> selector = {};
  InFlight in_flight = InFlight::kFinishJobs;
  Metadata metadata = {};
};
// What the actor may do with a freeze of somebody else.
struct FreezeRights {
  bool extend = false, thaw = false;
  bool admin = false;  // may thaw alone whatever the settings, with a reason
};
// kConflict: it has ended.
struct UpdateFreeze {
  FreezeId id;
  std::optional<Duration> expires_in = {};
  std::optional<std::optional<Time>> expires_at = {};  // none: until it is thawed
  std::optional<Time> effective_at = {};
  std::optional<std::string> reason = {}, incident_url = {};
  std::optional<std::optional<std::string>> selector = {};
  FreezeRights rights = {};
};
struct ThawFreeze {
  FreezeId id;
  std::string reason = {};
  bool cascade = false;  // also the narrower ones inside its scope
  std::optional<int64_t> resume_per_minute = {};
  FreezeRights rights = {};
};
struct SetFreezeSettings {
  FreezeSettings settings;
};

// ---- Bracket groups ------------------------------------------------------------------------------------

enum class GroupAction : uint8_t { kCloseNow, kRetry, kSkipMember, kFinish, kAbort, kClearQuarantine };
// What a person does about a group. What follows from it is decided in the next reconcile step.
struct ActOnGroup {
  GroupId group;
  GroupAction action = GroupAction::kRetry;
  std::optional<DeploymentId> deployment = {};  // retry: only this member; skip_member: which
  bool relock = false;                          // retry: with the newest eligible version
  bool run_post_hooks = false;                  // abort
  std::string reason = {};
};

// ---- Notification channels ---------------------------------------------------------------------------

struct UpsertChannel {
  std::optional<ChannelId> id = {};
  std::string name;
  ChannelKind kind = ChannelKind::kWebhook;
  Json config = {};
  std::optional<std::string> secret = {};  // unset: as it was
  bool enabled = true;
};
struct DeleteChannel {
  ChannelId id;
};
// Sends a message that says it is a test; answers with the id of the delivery.
struct TestChannel {
  ChannelId id;
};

// ---- Providers, resources, agents ----------------------------------------------------------------------

// The one with the id, else the one with the name, else a new one. kConflict: the id is known, and the
// name is another's.
struct UpsertProvider {
  std::optional<ProviderId> id;
  std::string name;
  Metadata metadata;
};
struct DeleteProvider {  // kConflict while it owns resources
  ProviderId id;
};

struct ResourceInput {
  std::string identifier, name, kind, version;
  Json config;
  Metadata metadata;
};
struct UpsertResource {  // by identifier
  ResourceInput resource;
  std::optional<ProviderId> provider;
};
struct DeleteResource {
  std::string identifier;
};
// Makes the provider's resources exactly these, in slices; answered after the last. What another
// provider owns is left as it is and counted in Answer::skipped.
struct SetProviderResources {
  ProviderId provider;
  std::vector<ResourceInput> resources;
};

struct UpsertAgent {
  std::optional<AgentId> id;
  std::string name, type;
  Json config;
  Metadata metadata;
};
struct DeleteAgent {
  AgentId id;
};

// ---- Agents ------------------------------------------------------------------------------------------

// Hands a pending job to a pull agent: a given one, or the oldest of the agent. The same instance
// claiming again gets the same job until it has reported on it.
struct ClaimJob {
  AgentId agent;
  std::optional<JobId> job;
  std::string instance;
  bool fences_itself = false;
};
struct ReportJob {
  JobId job;
  std::string instance;  // empty: not from a claiming agent
  JobStatus status = JobStatus::kInProgress;
  std::string message, external_id;
};
// Answers with the jobs among these that the instance must stop.
struct Heartbeat {
  std::string instance;
  std::vector<JobId> jobs;
};

// ---- People ------------------------------------------------------------------------------------------

struct CancelJob {
  JobId job;
};
// What became of a job nobody can ask any more.
struct DecideJob {
  JobId job;
  JobStatus status = JobStatus::kFailure;
  std::string reason;
};
struct RedeployTarget {
  TargetKey target;
};
// Starts the version whatever policies say of it.
struct ForceDeploy {
  TargetKey target;
  VersionId version;
  std::string reason;
  bool bypass_freeze = false;  // that the actor may is for the caller to see to
};
// What rollback rules have ruled out on the target may be tried again.
struct ClearRollback {
  TargetKey target;
};

// ---- Side effects ------------------------------------------------------------------------------------

// Commits `sending` before anything is sent; answers with what to do.
struct BeginSend {
  OutboxId id;
};
enum class SendOutcome : uint8_t {
  kAccepted,  // the receiver has it
  kRejected,  // it never will take it
  kNotSent,   // certainly did not arrive
  kInDoubt,   // may have arrived
};
struct FinishSend {
  OutboxId id;
  int64_t attempt = 0;
  SendOutcome outcome = SendOutcome::kAccepted;
  std::string error;
};

// ---- Reads -------------------------------------------------------------------------------------------

struct Query {
  std::function<Result<std::string>(const State&, Time now)> run;
};

using Command =
    std::variant<CreateWorkspace, UpdateWorkspace, DeleteWorkspace, CreateUser, UpdateUser, DeleteUser,
                 CreateApiKey, DeleteApiKey, CreateSession, DeleteSession, SetMember, RemoveMember, Bootstrap,
                 UpsertSystem, DeleteSystem, UpsertEnvironment, DeleteEnvironment, UpsertDeployment,
                 DeleteDeployment, LinkDeployment, LinkEnvironment, CreateVersion, SetVersionStatus,
                 SetVersionDependency, DeleteVersionDependency, UpsertPolicy, DeletePolicy, SetApproval,
                 CreateSkip, DeleteSkip, CreateFreeze, UpdateFreeze, ThawFreeze, SetFreezeSettings,
                 SetVersionSettings, ActOnGroup, UpsertChannel, DeleteChannel, TestChannel, UpsertProvider,
                 DeleteProvider, UpsertResource, DeleteResource, SetProviderResources, UpsertAgent,
                 DeleteAgent, ClaimJob, ReportJob, Heartbeat, CancelJob, DecideJob, RedeployTarget,
                 ForceDeploy, ClearRollback, BeginSend, FinishSend, Query>;

struct Idempotency {
  Digest key;   // of actor, route and the client's key
  Digest body;  // of the request
};

// How a half-sent start is continued.
enum class SendMode : uint8_t { kSend, kAsk };
struct SendPermit {
  OutboxItem item;
  std::optional<Job> job;
  SendMode mode = SendMode::kSend;
  std::optional<NotificationChannel> channel = {};  // notices: as it is now
};

struct Answer {
  Uuid id = {};
  bool created = false;
  bool replayed = false;                  // an earlier request with this key did it
  std::optional<Job> job = {};            // claims
  std::vector<JobId> jobs = {};           // heartbeats: to stop; redeploy: started
  size_t skipped = 0;                     // provider sets: resources of another provider
  std::optional<SendPermit> permit = {};  // begin send
  std::string text = {};                  // queries, and what Request::render made
};

using Reply = Result<Answer>;

struct Request {
  Command command;
  std::string actor = "system";
  std::optional<Idempotency> idempotency = {};
  // The text of a successful answer, from the state the command has left; kept with the idempotency key.
  std::function<std::string(const State&, Time now, const Answer&)> render = {};
};

}  // namespace ctrlplane
