// Closed sets of words. The spelling here is the one in SQL; the wire spelling is the API's business.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ctrlplane {

enum class VersionStatus : uint8_t { kUnspecified, kBuilding, kReady, kPaused, kFailed, kRejected };

enum class JobStatus : uint8_t {
  kPending,
  kQueued,
  kInProgress,
  kActionRequired,
  kSuccessful,
  kFailure,
  kCancelled,
  kSkipped,
  kInvalidJobAgent,
  kInvalidIntegration,
  kExternalRunNotFound,
};

constexpr bool is_terminal(JobStatus s) { return s >= JobStatus::kSuccessful; }

// Why a job was made.
enum class JobCause : uint8_t { kPolicy, kRedeploy, kForce, kRetry, kRollback };

enum class OutboxKind : uint8_t { kNotice, kStart, kCancel };
enum class OutboxStatus : uint8_t { kPending, kSending, kDelivered, kAbandoned };

// What a user may do in a workspace, or a key for its user. Each may do what stands before it, except
// that kAgent (report on jobs) is apart from what people do.
enum class Role : uint8_t { kViewer, kAgent, kDeployer, kOperator, kAdmin };

// What a person said about a version in an environment.
enum class ApprovalStatus : uint8_t { kApproved, kRejected };

enum class FreezeScope : uint8_t { kWorkspace, kSystem, kEnvironment, kDeployment };  // widest first

// Is a version for a target on which its selector cannot be evaluated?
enum class OnSelectorError : uint8_t { kInclude, kExclude };

// What a freeze does about work that an agent already has.
enum class InFlight : uint8_t { kFinishJobs, kFinishBrackets, kCancel };

enum class FreezeAction : uint8_t {
  kScheduled,
  kActivated,
  kExtended,
  kModified,
  kThawed,
  kExpired,
  kBypassed,
  kExpiringSoon,
};

enum class ChannelKind : uint8_t { kWebhook, kSlack, kEmail };

// Of a bracket group: see the diagram in engine/brackets.h.
enum class GroupStatus : uint8_t {
  kCollecting,
  kReady,
  kQueued,
  kExecuting,
  kStuck,
  kCompleted,
  kFailed,
  kCancelled,
};
// Where a started group is heading.
enum class GroupCourse : uint8_t { kForward, kRollBack, kWindDown };
enum class MemberRole : uint8_t { kWork, kPreHook, kPostHook };
enum class Participation : uint8_t { kChanged, kRedeploy, kHook, kSkipped };
enum class MemberOutcome : uint8_t {
  kWaiting,
  kRunning,
  kSucceeded,
  kFailed,
  kSkipped,  // by a person, or because its target is gone
  kAborted,
  kRollingBack,  // is to go back, or does
  kRolledBack,
};

std::string_view to_string(VersionStatus s);
std::string_view to_string(JobStatus s);
std::string_view to_string(JobCause c);
std::string_view to_string(OutboxKind k);
std::string_view to_string(OutboxStatus s);
std::string_view to_string(Role r);
std::string_view to_string(ApprovalStatus s);
std::string_view to_string(FreezeScope s);
std::string_view to_string(OnSelectorError e);
std::string_view to_string(InFlight f);
std::string_view to_string(FreezeAction a);
std::string_view to_string(ChannelKind k);
std::string_view to_string(GroupStatus s);
std::string_view to_string(GroupCourse c);
std::string_view to_string(MemberRole r);
std::string_view to_string(Participation p);
std::string_view to_string(MemberOutcome o);

template <class E>
std::optional<E> parse_enum(std::string_view text);

template <>
std::optional<VersionStatus> parse_enum(std::string_view text);
template <>
std::optional<JobStatus> parse_enum(std::string_view text);
template <>
std::optional<JobCause> parse_enum(std::string_view text);
template <>
std::optional<OutboxKind> parse_enum(std::string_view text);
template <>
std::optional<OutboxStatus> parse_enum(std::string_view text);
template <>
std::optional<Role> parse_enum(std::string_view text);
template <>
std::optional<ApprovalStatus> parse_enum(std::string_view text);
template <>
std::optional<FreezeScope> parse_enum(std::string_view text);
template <>
std::optional<OnSelectorError> parse_enum(std::string_view text);
template <>
std::optional<InFlight> parse_enum(std::string_view text);
template <>
std::optional<FreezeAction> parse_enum(std::string_view text);
template <>
std::optional<ChannelKind> parse_enum(std::string_view text);
template <>
std::optional<GroupStatus> parse_enum(std::string_view text);
template <>
std::optional<GroupCourse> parse_enum(std::string_view text);
template <>
std::optional<MemberRole> parse_enum(std::string_view text);
template <>
std::optional<Participation> parse_enum(std::string_view text);
template <>
std::optional<MemberOutcome> parse_enum(std::string_view text);

}  // namespace ctrlplane
