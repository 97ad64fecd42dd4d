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

std::string_view to_string(VersionStatus s);
std::string_view to_string(JobStatus s);
std::string_view to_string(JobCause c);
std::string_view to_string(OutboxKind k);
std::string_view to_string(OutboxStatus s);
std::string_view to_string(Role r);
std::string_view to_string(ApprovalStatus s);
std::string_view to_string(FreezeScope s);
std::string_view to_string(InFlight f);
std::string_view to_string(FreezeAction a);
std::string_view to_string(ChannelKind k);

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
std::optional<InFlight> parse_enum(std::string_view text);
template <>
std::optional<FreezeAction> parse_enum(std::string_view text);
template <>
std::optional<ChannelKind> parse_enum(std::string_view text);

}  // namespace ctrlplane
