#include "api/shapes.h"

namespace ctrlplane::api {

const std::string_view kShapes = R"shapes(

# ---- Shared ----
Error     = { message: string, error: string, code: string, details?: [{ path: string, message: string }] }
Accepted  = { id: string, message: string }
Metadata  = map<string>
Health    = { status: string }
Readiness = { status: "ok" | "not ready", reason?: string }
ServerVersion = { api: string, workspaceEngine: string, version: string, schema: integer }
OwnedWorkspace = { id: uuid, slug: string, epoch: integer, seq: integer }
Replica        = { id: uuid, address: string, version: string, state: "alive" | "leaving" | "silent",
                   answers: boolean, workspaces: [OwnedWorkspace] }
Replicas       = { items: [Replica], withoutOwner: [uuid] }

# ---- Workspaces ----
Workspace              = { id: uuid, name: string, slug: string, createdAt: datetime }
WorkspaceList          = { workspaces: [Workspace], total: integer }
CreateWorkspaceRequest = { name: string(3..30), slug: string(3..50) }
UpdateWorkspaceRequest = { name?: string(3..30), slug?: string(3..50) }

# ---- Accounts ----
Role                = "viewer" | "agent" | "deployer" | "operator" | "admin"
User                = { id: uuid, email: string, name: string, admin: boolean, hasPassword: boolean,
                        createdAt: datetime }
UserPage            = { items: [User], total: integer, limit: integer, offset: integer }
CreateUserRequest   = { email: string(3..255), name?: string(0..255), password?: string(12..1024),
                        admin?: boolean }
UpdateUserRequest   = { email?: string(3..255), name?: string(0..255), password?: string(12..1024),
                        admin?: boolean }
SignInRequest       = { email: string(1..255), password: string(1..1024) }
Identity            = { user: User, via: "apiKey" | "session", expiresAt?: datetime,
                        workspaces: [{ id: uuid, slug: string, name: string, role: Role,
                                       grants?: [string] }] }
ApiKey              = { id: uuid, name: string, prefix: string, userId: uuid, role?: Role, workspaceId?: uuid,
                        grants?: [string], expiresAt?: datetime, createdAt: datetime }
ApiKeyPage          = { items: [ApiKey], total: integer, limit: integer, offset: integer }
NewApiKey           = ApiKey & { key: string }
CreateApiKeyRequest = { name: string(1..255), role?: Role, workspaceId?: uuid, expiresAt?: datetime,
                        userId?: uuid, grants?: [string] }
Member              = { userId: uuid, email: string, name: string, role: Role, grants?: [string] }
MemberPage          = { items: [Member], total: integer, limit: integer, offset: integer }
SetMemberRequest    = { role: Role, grants?: [string] }

# ---- Systems ----
System                   = { id: uuid, workspaceId: uuid, name: string, slug: string, description?: string,
                             metadata: Metadata }
SystemPage               = { items: [System], total: integer, limit: integer, offset: integer }
SystemWithLinkedEntities = System & { environments: [Environment], deployments: [Deployment] }
UpsertSystemRequest      = { name: string(1..255), description?: string, metadata?: Metadata,
                             slug?: string(0..255) }
SystemDeploymentLink     = { systemId: uuid, deploymentId: uuid }
SystemEnvironmentLink    = { systemId: uuid, environmentId: uuid }

# ---- Environments ----
Environment              = { id: uuid, workspaceId: uuid, name: string, description?: string,
                             resourceSelector?: string, metadata: Metadata,
                             createdAt: datetime }
EnvironmentPage          = { items: [Environment], total: integer, limit: integer, offset: integer }
EnvironmentWithSystems   = Environment & { systems: [System] }
UpsertEnvironmentRequest = { name: string(1..255), description?: string, resourceSelector?: string,
                             metadata?: Metadata }

# ---- Deployments ----
Deployment               = { id: uuid, workspaceId: uuid, name: string, slug: string, description?: string,
                             resourceSelector?: string,
                             jobAgentSelector: string, jobAgentConfig: object, jobTimeout?: string,
                             metadata: Metadata,
                             createdAt: datetime }
DeploymentAndSystems     = { deployment: Deployment, systems: [System] }
DeploymentPage           = { items: [DeploymentAndSystems], total: integer, limit: integer, offset: integer }
BareDeploymentPage       = { items: [Deployment], total: integer, limit: integer, offset: integer }
DeploymentWithVariablesAndSystems = { deployment: Deployment, systems: [System], variables: [object] }
UpsertDeploymentRequest  = { name: string(1..255), slug?: string(0..255), description?: string,
                             resourceSelector?: string,
                             jobAgentSelector?: string, jobAgentConfig?: object, jobTimeout?: string,
                             metadata?: Metadata }

# ---- Versions ----
DeploymentVersionStatus        = "unspecified" | "building" | "ready" | "failed" | "rejected" | "paused"
DeploymentVersion              = { id: uuid, name: string, tag: string, config: object,
                                   jobAgentConfig: object, deploymentId: uuid,
                                   status: DeploymentVersionStatus, message?: string, createdAt: datetime,
                                   metadata: Metadata,
                                   bypassFreeze?: boolean, bypassFreezeIds?: [uuid],
                                   targetSelector?: string, onSelectorError?: OnSelectorError,
                                   scope?: VersionScope, warnings?: [string],
                                   dependencies?: map<{ versionSelector: string }> }
OnSelectorError                = "include" | "exclude"
# How many targets it is for: those its selector matches, those on which it cannot be evaluated, of all.
VersionScope                   = { matched: integer, undetermined: integer, total: integer, counting?: boolean }
VersionSettings                = { onSelectorError: OnSelectorError, scopeNeedsPermission: boolean }
UpdateVersionSettings          = { onSelectorError?: OnSelectorError, scopeNeedsPermission?: boolean }
ScopedTarget                   = { releaseTargetKey: string, resource: ResourceName,
                                   environment: { id: uuid, name: string }, undetermined: boolean }
VersionMade                    = DeploymentVersion | VersionDryRun
VersionDryRun                  = { scope: VersionScope, targets: [ScopedTarget], more: boolean }
DeploymentVersionPage          = { items: [DeploymentVersion], total: integer, limit: integer, offset: integer }
CreateDeploymentVersionRequest = { tag: string(1..255), name?: string(0..255),
                                   status?: DeploymentVersionStatus, message?: string,
                                   config?: object, jobAgentConfig?: object, metadata?: Metadata,
                                   createdAt?: datetime,
                                   bypassFreeze?: boolean, bypassFreezeIds?: [uuid],
                                   targetSelector?: string(0..16384), onSelectorError?: OnSelectorError,
                                   dependencies?: map<{ versionSelector: string }> }
UpdateDeploymentVersionRequest = { status?: DeploymentVersionStatus, message?: string }

# ---- Resources ----
Resource              = { id: uuid, workspaceId: uuid, identifier: string, name: string, kind: string,
                          version: string, config: object,
                          metadata: Metadata, providerId?: uuid, createdAt: datetime, updatedAt?: datetime }
ResourcePage          = { items: [Resource], total: integer, limit: integer, offset: integer }
ResourceList          = { items: [Resource], total: integer }
UpsertResourceRequest = { name: string(1..1024), kind: string(1..255), version: string(1..255),
                          config?: object, metadata?: Metadata,
                          providerId?: uuid, variables?: object }
ListResourcesFilters  = { identifiers?: [string], kinds?: [string], versions?: [string],
                          providerIds?: [string], metadata?: Metadata,
                          query?: string, cel?: string, sortBy?: "createdAt" | "updatedAt" | "name" | "kind",
                          order?: "asc" | "desc",
                          limit?: integer(1..1000), offset?: integer(0..) }
ResourceVariablePage  = { items: [{ resourceId: uuid, key: string, value: any }], total: integer,
                          limit: integer, offset: integer }
ResourceVariables     = object

ResourceProvider              = { id: uuid, workspaceId: uuid, name: string, createdAt: datetime,
                                  metadata: Metadata }
ResourceProviderPage          = { items: [ResourceProvider], total: integer, limit: integer, offset: integer }
UpsertResourceProviderRequest = { id?: string, name: string(1..255), metadata?: Metadata }
ResourceProviderResource      = { identifier: string(1..1024), name: string(1..1024), kind: string(1..255),
                                  version: string(1..255),
                                  config?: object, metadata?: Metadata }
SetResourcesRequest           = { resources: [ResourceProviderResource] }
SetResourcesAccepted          = { ok: boolean, method: string, batchId?: string, skipped?: integer }

SelectorRequest   = { selector: string, subject?: "resource" | "jobAgent" }
SelectorVerdict   = { valid: boolean, message?: string, line?: integer, column?: integer, metadataKeys?: [string] }
SelectorPreview   = { total: integer, sample: [Resource], errors: integer, errorSample?: string }

# ---- Agents and jobs ----
JobAgent              = { id: uuid, workspaceId: uuid, name: string, type: string, config: object,
                          metadata: Metadata }
JobAgentPage          = { items: [JobAgent], total: integer, limit: integer, offset: integer }
UpsertJobAgentRequest = { name: string(1..255), type: string(1..255), config?: object, metadata?: Metadata }
ClaimRequest          = { instanceId?: string(1..255), fencesItself?: boolean }
ClaimNextRequest      = { instanceId: string(1..255), fencesItself?: boolean }
HeartbeatRequest      = { instanceId: string(1..255), jobIds: [uuid] }
HeartbeatAnswer       = { stop: [uuid], leaseSeconds: integer, heartbeatSeconds: integer }
JobStatus             = "cancelled" | "skipped" | "inProgress" | "actionRequired" | "pending" |
                         "failure" | "invalidJobAgent" |
                        "invalidIntegration" | "externalRunNotFound" | "successful" | "queued"
Job                   = { id: uuid, releaseId: string, jobAgentId: string, jobAgentConfig: object,
                          status: JobStatus, cause: string,
                          createdAt: datetime, updatedAt: datetime, startedAt?: datetime, completedAt?: datetime,
                          cancelRequestedAt?: datetime, metadata: Metadata, externalId?: string, message?: string,
                          holder?: string, bracketGroupId?: uuid, held?: HeldBy, dispatchContext?: object }
HeldBy                = { freezeId: uuid, reason: string }
JobPage               = { items: [Job], total: integer, limit: integer, offset: integer }
JobWithRelease        = { job: Job, release: Release, deployment?: Deployment, environment?: Environment,
                          resource?: Resource }
JobWithReleasePage    = { items: [JobWithRelease], total: integer, limit: integer, offset: integer }
JobStatusRequest      = { status: JobStatus, message?: string, externalId?: string, instanceId?: string }
JobDecisionRequest    = { status: JobStatus, reason?: string }
JobOutputRequest      = { offset: integer(0..), text: string }
JobOutput             = { chunks: [{ offset: integer, text: string }], end: integer, truncated: boolean }

# ---- Releases and release targets ----
ReleaseTarget          = { resourceId: uuid, environmentId: uuid, deploymentId: uuid, key?: string }
Release                = { id: string, version?: DeploymentVersion, variables: object,
                           encryptedVariables: [string],
                           releaseTarget: ReleaseTarget, createdAt: datetime }
ReleaseTargetState     = { desiredRelease?: Release, currentRelease?: Release, latestJob?: { job: Job,
                           verifications: [object] }, freeze?: FreezeOver }
ReleaseTargetWithState = { releaseTarget: ReleaseTarget, state: ReleaseTargetState }
ReleaseTargetStatePage = { items: [ReleaseTargetWithState], total: integer, limit: integer, offset: integer }
ReleaseTargetQuery     = { deploymentId: uuid, environmentId: uuid }
DesiredRelease         = { desiredRelease: Release }
VersionTag             = { id: uuid, tag: string }
JobSummary             = { id: uuid, status: JobStatus, createdAt?: datetime, message?: string }
TargetOverview         = { releaseTarget: ReleaseTarget, resource: { id: uuid, identifier: string,
                           name: string, kind: string },
                           environment: { id: uuid, name: string }, deployment: { id: uuid, name: string },
                           state: { currentVersion?: VersionTag, desiredVersion?: VersionTag,
                           activeJob?: JobSummary,
                                    latestJob?: JobSummary, attempts: integer, reason?: string,
                                    freeze?: FreezeOver, offMainLine?: boolean, warnings?: [string] } }
TargetOverviewPage     = { items: [TargetOverview], total: integer, limit: integer, offset: integer }
ResourcePreviewRequest = { name: string(1..1024), kind: string(1..255), version: string(1..255),
                           identifier: string(1..1024),
                           config?: object, metadata?: Metadata }
ReleaseTargetPreview   = { system: System, deployment: Deployment, environment: Environment }
ReleaseTargetPreviewPage = { items: [ReleaseTargetPreview], total: integer, limit: integer, offset: integer }
Redeployed             = { id: uuid, message: string, jobIds: [uuid] }

# ---- Policies ----
# A rule names exactly one of its kinds; its id, policyId and createdAt may be sent back.
PolicyRule          = { id?: string, policyId?: string, createdAt?: string, anyApproval?: object,
                        deploymentBracket?: DeploymentBracketRule, deploymentDependency?: object,
                        deploymentWindow?: object, environmentProgression?: object, gradualRollout?: object,
                        planValidationOpa?: object, resourceConcurrency?: ResourceConcurrencyRule,
                        retry?: object, rollback?: object, verification?: object, versionCooldown?: object,
                        versionSelector?: object }
# Selectors are CEL over deployment. readinessWindowSeconds is required unless readinessMode is immediate.
DeploymentBracketRule = { deploymentSelector: string,
                        readinessMode?: "collection_window" | "wait_for_all" | "immediate",
                        readinessWindowSeconds?: integer(0..),
                        unchangedMemberStrategy?: "skip_unchanged" | "redeploy_current" | "require_all",
                        overlapStrategy?: "queue" | "merge", preHookSelector?: string,
                        postHookSelector?: string, stuckTimeoutSeconds?: integer(1..),
                        rollbackStrategy?: "all_members" | "individual" | "halt_and_notify" }
# groupSelector is CEL over resource; limitValue is 1 to 100 of a percentage, and from 0 of a count.
ResourceConcurrencyRule = { groupSelector: string, limitType: "percentage" | "count", limitValue: integer(0..) }
Policy              = { id: uuid, workspaceId: uuid, name: string, description?: string, selector: string,
                        priority: integer, enabled: boolean, metadata: Metadata, rules: [PolicyRule],
                        createdAt: datetime, warnings?: [string] }
PolicyPage          = { items: [Policy], total: integer, limit: integer, offset: integer }
UpsertPolicyRequest = { name: string(1..255), description?: string, selector?: string, priority?: integer,
                        enabled?: boolean,
                        metadata?: Metadata, rules?: [PolicyRule] }
PolicySkip          = { id: uuid, ruleId: uuid, versionId: uuid, environmentId?: uuid, resourceId?: uuid,
                        expiresAt?: datetime,
                        reason: string, createdBy: string, createdAt: datetime }
PolicySkipPage      = { items: [PolicySkip], total: integer, limit: integer, offset: integer }
CreateSkipRequest   = { ruleId: uuid, versionId: uuid, environmentId?: uuid, resourceId?: uuid,
                        expiresAt?: datetime, reason?: string }

UpsertUserApprovalRecordRequest = { status: "approved" | "rejected", environmentIds?: [uuid], reason?: string }
ApprovalRecord      = { versionId: uuid, environmentId: uuid, actor: string, status: "approved" | "rejected",
                        reason?: string,
                        createdAt: datetime }
ApprovalRecordPage  = { items: [ApprovalRecord], total: integer, limit: integer, offset: integer }
VersionDependency   = { deploymentVersionId: uuid, dependencyDeploymentId: uuid, versionSelector: string }
VersionDependencies = [VersionDependency]
UpsertDependencyRequest = { versionSelector: string(1..16384) }
ForceDeployRequest  = { versionId: uuid, reason?: string, bypassFreeze?: boolean }

Verdict             = "allowed" | "pending" | "denied"
RuleVerdict         = { type: string, ruleId?: uuid, policyId?: uuid, policyName?: string, verdict: Verdict,
                        needsApproval: boolean,
                        message: string, details?: object, satisfiedAt?: datetime,
                        nextEvaluationTime?: datetime, unblock?: string,
                        skippedBy?: string }
VersionVerdict      = { version: DeploymentVersion, verdict: Verdict, current: boolean, desired: boolean,
                        notDeployable?: string,
                        firstBlocker?: RuleVerdict, rules: [RuleVerdict] }
TargetExplanation   = { releaseTarget: ReleaseTarget, summary: string, currentVersion?: VersionTag,
                        desiredVersion?: VersionTag,
                        waitingFor?: string, nextEvaluationTime?: datetime, warnings?: [string],
                        versions: [VersionVerdict] }
EnvironmentVerdict  = { environment: { id: uuid, name: string }, targets: integer, looked: integer,
                        allowed: integer, pending: integer,
                        denied: integer, current: integer, rules: [RuleVerdict] }
VersionEvaluations  = { version: DeploymentVersion, environments: [EnvironmentVerdict] }
EligibleVersionsRequest = { filter?: string, excludeRuleIds?: [string] }

# ---- Brackets and concurrency ----
GroupStatus        = "collecting" | "ready" | "queued" | "executing" | "stuck" | "completed" | "failed" |
                     "cancelled"
# What is gone has an id and no names.
ResourceName       = { id: uuid, identifier?: string, name?: string }
BracketGroupHead   = { id: uuid, ruleId: uuid, policyId?: uuid, policyName?: string, resource: ResourceName,
                       environment: { id: uuid, name?: string }, status: GroupStatus,
                       course: "forward" | "roll_back" | "wind_down", note?: string, createdAt: datetime,
                       collectionStartedAt: datetime, collectionEndsAt: datetime, readyAt?: datetime,
                       startedAt?: datetime, stuckSince?: datetime, finishedAt?: datetime, closedBy?: string,
                       finishBy?: string, mergedInto?: uuid, waitingFor?: string }
MemberOutcome      = "waiting" | "running" | "succeeded" | "failed" | "skipped" | "aborted" | "rolling_back" |
                     "rolled_back"
BracketMember      = { deploymentId: uuid, deploymentName?: string, role: "work" | "pre_hook" | "post_hook",
                       participation: "changed" | "redeploy" | "hook" | "skipped", outcome: MemberOutcome,
                       versionId?: uuid, tag?: string }
# candidate: what would be locked if the window closed now.
BracketMemberDetail = BracketMember & { candidate?: VersionTag, lockedAt?: datetime, nextVersionId?: uuid,
                       nextTag?: string, previousTag?: string, attempts: integer, lastJobId?: uuid,
                       startedAt?: datetime, finishedAt?: datetime, dependsOn: [string], waitingFor?: string }
BracketGroup       = BracketGroupHead & { members: [BracketMember] }
BracketGroupPage   = { items: [BracketGroup], total: integer, limit: integer, offset: integer }
GroupMoment        = { at: datetime, event: "opened" | "closed" | "started" | "member_started" |
                       "member_finished" | "stuck" | "ended", deploymentId?: uuid, deploymentName?: string,
                       outcome?: MemberOutcome, by?: string, status?: GroupStatus, note?: string }
BracketAction      = "close_now" | "retry" | "skip_member" | "finish" | "abort" | "clear_quarantine"
# actions: those that make sense now.
BracketGroupDetail = BracketGroupHead & { terms: object, members: [BracketMemberDetail],
                       timeline: [GroupMoment], actions: [BracketAction],
                       quarantine?: { groupId: uuid, since: datetime, clearedBy?: string,
                                      clearedAt?: datetime } }
BracketJob         = { id: uuid, deploymentId: uuid, deploymentName?: string, versionId: uuid, tag?: string,
                       jobAgentId: uuid, status: JobStatus, cause: string, message?: string,
                       createdAt: datetime, startedAt?: datetime, completedAt?: datetime }
BracketGroupWithJobs = BracketGroupDetail & { jobs: [BracketJob] }
# deploymentId: which member, for retry and skip_member; relock: retry with the newest eligible version.
BracketActionRequest = { action: BracketAction, deploymentId?: uuid, relock?: boolean, runPostHooks?: boolean,
                       reason?: string }
Bracket            = { ruleId: uuid, policyId: uuid, policyName: string, terms: object,
                       counts: { collecting: integer, ready: integer, queued: integer, executing: integer,
                                 stuck: integer }, quarantined: integer,
                       quarantines: [{ resource: ResourceName, groupId: uuid, since: datetime }],
                       groups: [BracketGroup] }
BracketList        = { items: [Bracket] }
SlotHolder         = { resourceId: uuid, identifier?: string, name?: string, since: datetime, groupId?: uuid,
                       why: string }
SlotWaiter         = { resourceId: uuid, identifier?: string, name?: string, position: integer }
# counting: the resources are still being counted, so there may be more of them. unlimited: resources of the
# policy's targets that the limit does not count, the first 100 by identifier.
ConcurrencyLimit   = { ruleId: uuid, policyId: uuid, policyName: string, limitType: "percentage" | "count",
                       limitValue: integer, groupSelector: string, total: integer, counting?: boolean,
                       max: integer, active: integer, quarantined: integer, holders: [SlotHolder],
                       waiting: [SlotWaiter], waitingTotal: integer,
                       unlimited: { count: integer, identifiers: [string] } }
ConcurrencyLimits  = { items: [ConcurrencyLimit] }

# ---- Freezes ----
FreezeScope        = "workspace" | "system" | "environment" | "deployment"
InFlightWork       = "finish_jobs" | "finish_brackets" | "cancel"
Freeze             = { id: uuid, workspaceId: uuid, scope: FreezeScope, scopeEntityId?: uuid, reason: string,
                       incidentUrl?: string, createdBy: string, createdAt: datetime, effectiveAt: datetime,
                       expiresAt?: datetime, thawedAt?: datetime, thawedBy?: string, thawReason?: string,
                       selector?: string, inFlight: InFlightWork, metadata: Metadata,
                       resume?: { perMinute: integer }, status: "active" | "scheduled" | "ended" }
FreezePage         = { items: [Freeze], total: integer, limit: integer, offset: integer }
FreezeList         = { items: [Freeze] }
OpenBracket        = { id: uuid, resourceId: uuid, resourceName?: string, status: "executing" | "stuck",
                       membersLeft: integer }
InFlightJob        = { id: uuid, status: JobStatus, releaseTargetKey: string, versionId: uuid,
                       jobAgentId: uuid, sending?: boolean }
# incomplete: the freeze stands, but its targets could not all be counted.
FreezeImpact       = { targets: integer, undetermined: integer, heldJobs: integer,
                       inFlightJobs: [InFlightJob], openBrackets: [OpenBracket], incomplete?: boolean }
NewFreeze          = Freeze & { impact: FreezeImpact }
FreezePreview      = { impact: FreezeImpact }
FreezeEvent        = { id: uuid, action: "scheduled" | "activated" | "extended" | "modified" | "thawed" |
                       "expired" | "bypassed" | "expiring_soon",
                       actor?: string, note?: string, metadata: object, createdAt: datetime }
FreezeWithEvents   = Freeze & { events: [FreezeEvent], impact?: FreezeImpact }
CreateFreezeRequest = { scope: FreezeScope, scopeEntityId?: uuid, reason: string, incidentUrl?: string,
                       expiresIn?: string, expiresAt?: datetime, effectiveAt?: datetime, selector?: string,
                       inFlight?: InFlightWork, metadata?: Metadata }
# expiresAt null: until it is thawed; selector null: everything in its scope.
UpdateFreezeRequest = { reason?: string, incidentUrl?: string, expiresIn?: string, expiresAt?: datetime,
                       effectiveAt?: datetime, selector?: string }
ThawFreezeRequest  = { reason?: string, cascade?: boolean, resume?: { perMinute: integer } }
FreezeSettings     = { maxTtl?: string, ttlRequired: boolean, thawNeedsReason: boolean,
                       secondPersonThaws: boolean, warnBefore: string }
FreezeSettingsRequest = { maxTtl?: string, ttlRequired?: boolean, thawNeedsReason?: boolean,
                       secondPersonThaws?: boolean, warnBefore?: string }
FreezeOver         = { id: uuid, reason: string, scope: FreezeScope, expiresAt?: datetime }
FreezeCheck        = { frozen: boolean, partial: boolean, freezeId?: uuid, reason?: string,
                       freezes: [FreezeOver], opensAt?: datetime }
ReportedJob        = { id: uuid, releaseTargetKey: string, deployment?: string, environment?: string,
                       resource?: string, versionId: uuid, version?: string, status: JobStatus,
                       createdAt: datetime, handedOverAt?: datetime, heldSeconds?: integer }
PassedFreeze       = { versionId?: uuid, version?: string, by?: string, note?: string, at: datetime }
FreezeReport       = { freeze: Freeze, durationSeconds: integer, timeline: [FreezeEvent], held: [ReportedJob],
                       passed: [PassedFreeze], resumed: [ReportedJob], truncated: boolean }

# ---- Notifications ----
ChannelKind             = "webhook" | "slack" | "email"
NotificationChannel     = { id: uuid, name: string, kind: ChannelKind, config?: object, hasSecret: boolean,
                            enabled: boolean, createdAt: datetime }
NotificationChannelPage = { items: [NotificationChannel], total: integer, limit: integer, offset: integer }
UpsertChannelRequest    = { name: string(1..255), kind: ChannelKind, config?: object, secret?: string(0..255),
                            enabled?: boolean }
Delivery                = { id: uuid, channelId: uuid, type: string,
                            status: "pending" | "sending" | "delivered" | "abandoned", attempts: integer,
                            lastError?: string, createdAt: datetime, nextAttemptAt?: datetime,
                            endedAt?: datetime }
DeliveryPage            = { items: [Delivery], total: integer, limit: integer, offset: integer }

# ---- Audit ----
AuditEntry     = { id: uuid, at: datetime, actor: string, action: string, subject: string, details: object }
AuditEntryPage = { items: [AuditEntry], total: integer, limit: integer, offset: integer }

# ---- Agents written for earlier versions of the API ----
LegacyAgentRequest = { workspaceId: string, name: string(1..255), type: string(1..255) }
LegacyAgent        = { id: uuid, name: string, workspaceId: uuid, type: string, config: object }
LegacyQueue        = { jobs: [object] }
LegacyJob          = object
LegacyJobUpdate    = { status?: string, message?: string, externalId?: string }
LegacyUpdated      = { id: uuid }

)shapes";

}  // namespace ctrlplane::api
