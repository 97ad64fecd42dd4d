#include "model/enums.h"

#include <array>

namespace ctrlplane {
namespace {

constexpr std::array<std::string_view, 6> kVersionStatus = {"unspecified", "building", "ready",
                                                            "paused",      "failed",   "rejected"};
constexpr std::array<std::string_view, 11> kJobStatus = {"pending",
                                                         "queued",
                                                         "in_progress",
                                                         "action_required",
                                                         "successful",
                                                         "failure",
                                                         "cancelled",
                                                         "skipped",
                                                         "invalid_job_agent",
                                                         "invalid_integration",
                                                         "external_run_not_found"};
constexpr std::array<std::string_view, 5> kJobCause = {"policy", "redeploy", "force", "retry", "rollback"};
constexpr std::array<std::string_view, 3> kOutboxKind = {"notice", "start", "cancel"};
constexpr std::array<std::string_view, 4> kOutboxStatus = {"pending", "sending", "delivered", "abandoned"};
constexpr std::array<std::string_view, 5> kRole = {"viewer", "agent", "deployer", "operator", "admin"};
constexpr std::array<std::string_view, 2> kApprovalStatus = {"approved", "rejected"};
constexpr std::array<std::string_view, 4> kFreezeScope = {"workspace", "system", "environment", "deployment"};
constexpr std::array<std::string_view, 2> kOnSelectorError = {"include", "exclude"};
constexpr std::array<std::string_view, 3> kInFlight = {"finish_jobs", "finish_brackets", "cancel"};
constexpr std::array<std::string_view, 8> kFreezeAction = {
    "scheduled", "activated", "extended", "modified", "thawed", "expired", "bypassed", "expiring_soon"};
constexpr std::array<std::string_view, 3> kChannelKind = {"webhook", "slack", "email"};
constexpr std::array<std::string_view, 8> kGroupStatus = {"collecting", "ready",     "queued", "executing",
                                                          "stuck",      "completed", "failed", "cancelled"};
constexpr std::array<std::string_view, 3> kGroupCourse = {"forward", "roll_back", "wind_down"};
constexpr std::array<std::string_view, 3> kMemberRole = {"work", "pre_hook", "post_hook"};
constexpr std::array<std::string_view, 4> kParticipation = {"changed", "redeploy", "hook", "skipped"};
constexpr std::array<std::string_view, 8> kMemberOutcome = {
    "waiting", "running", "succeeded", "failed", "skipped", "aborted", "rolling_back", "rolled_back"};

template <class E, size_t N>
std::optional<E> find(const std::array<std::string_view, N>& names, std::string_view text) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace

std::string_view to_string(VersionStatus s) { return kVersionStatus[static_cast<size_t>(s)]; }
std::string_view to_string(JobStatus s) { return kJobStatus[static_cast<size_t>(s)]; }
std::string_view to_string(JobCause c) { return kJobCause[static_cast<size_t>(c)]; }
std::string_view to_string(OutboxKind k) { return kOutboxKind[static_cast<size_t>(k)]; }
std::string_view to_string(OutboxStatus s) { return kOutboxStatus[static_cast<size_t>(s)]; }
std::string_view to_string(Role r) { return kRole[static_cast<size_t>(r)]; }
std::string_view to_string(ApprovalStatus s) { return kApprovalStatus[static_cast<size_t>(s)]; }
std::string_view to_string(FreezeScope s) { return kFreezeScope[static_cast<size_t>(s)]; }
std::string_view to_string(OnSelectorError e) { return kOnSelectorError[static_cast<size_t>(e)]; }
std::string_view to_string(InFlight f) { return kInFlight[static_cast<size_t>(f)]; }
std::string_view to_string(FreezeAction a) { return kFreezeAction[static_cast<size_t>(a)]; }
std::string_view to_string(ChannelKind k) { return kChannelKind[static_cast<size_t>(k)]; }
std::string_view to_string(GroupStatus s) { return kGroupStatus[static_cast<size_t>(s)]; }
std::string_view to_string(GroupCourse c) { return kGroupCourse[static_cast<size_t>(c)]; }
std::string_view to_string(MemberRole r) { return kMemberRole[static_cast<size_t>(r)]; }
std::string_view to_string(Participation p) { return kParticipation[static_cast<size_t>(p)]; }
std::string_view to_string(MemberOutcome o) { return kMemberOutcome[static_cast<size_t>(o)]; }

template <>
std::optional<VersionStatus> parse_enum(std::string_view text) {
  return find<VersionStatus>(kVersionStatus, text);
}
template <>
std::optional<JobStatus> parse_enum(std::string_view text) {
  return find<JobStatus>(kJobStatus, text);
}
template <>
std::optional<JobCause> parse_enum(std::string_view text) {
  return find<JobCause>(kJobCause, text);
}
template <>
std::optional<OutboxKind> parse_enum(std::string_view text) {
  return find<OutboxKind>(kOutboxKind, text);
}
template <>
std::optional<OutboxStatus> parse_enum(std::string_view text) {
  return find<OutboxStatus>(kOutboxStatus, text);
}
template <>
std::optional<Role> parse_enum(std::string_view text) {
  return find<Role>(kRole, text);
}
template <>
std::optional<ApprovalStatus> parse_enum(std::string_view text) {
  return find<ApprovalStatus>(kApprovalStatus, text);
}
template <>
std::optional<FreezeScope> parse_enum(std::string_view text) {
  return find<FreezeScope>(kFreezeScope, text);
}
template <>
std::optional<OnSelectorError> parse_enum(std::string_view text) {
  return find<OnSelectorError>(kOnSelectorError, text);
}
template <>
std::optional<InFlight> parse_enum(std::string_view text) {
  return find<InFlight>(kInFlight, text);
}
template <>
std::optional<FreezeAction> parse_enum(std::string_view text) {
  return find<FreezeAction>(kFreezeAction, text);
}
template <>
std::optional<ChannelKind> parse_enum(std::string_view text) {
  return find<ChannelKind>(kChannelKind, text);
}
template <>
std::optional<GroupStatus> parse_enum(std::string_view text) {
  return find<GroupStatus>(kGroupStatus, text);
}
template <>
std::optional<GroupCourse> parse_enum(std::string_view text) {
  return find<GroupCourse>(kGroupCourse, text);
}
template <>
std::optional<MemberRole> parse_enum(std::string_view text) {
  return find<MemberRole>(kMemberRole, text);
}
template <>
std::optional<Participation> parse_enum(std::string_view text) {
  return find<Participation>(kParticipation, text);
}
template <>
std::optional<MemberOutcome> parse_enum(std::string_view text) {
  return find<MemberOutcome>(kMemberOutcome, text);
}

}  // namespace ctrlplane
