#include "api/words.h"

#include <array>
#include <utility>

namespace ctrlplane::api {
namespace {

constexpr std::array<std::pair<std::string_view, JobStatus>, 11> kWords = {{
    {"pending", JobStatus::kPending},
    {"queued", JobStatus::kQueued},
    {"inProgress", JobStatus::kInProgress},
    {"actionRequired", JobStatus::kActionRequired},
    {"successful", JobStatus::kSuccessful},
    {"failure", JobStatus::kFailure},
    {"cancelled", JobStatus::kCancelled},
    {"skipped", JobStatus::kSkipped},
    {"invalidJobAgent", JobStatus::kInvalidJobAgent},
    {"invalidIntegration", JobStatus::kInvalidIntegration},
    {"externalRunNotFound", JobStatus::kExternalRunNotFound},
}};

}  // namespace

std::string_view wire(JobStatus status, bool pulled) {
  if (status == JobStatus::kPending && pulled) return "queued";
  if (status == JobStatus::kQueued) return "inProgress";  // handed over: nobody else may have it
  for (const auto& [word, value] : kWords)
    if (value == status) return word;
  return "pending";
}

std::optional<JobStatus> parse_job_status(std::string_view text) {
  for (const auto& [word, value] : kWords)
    if (word == text || to_string(value) == text) return value;
  return std::nullopt;
}

std::vector<JobStatus> stored_as(std::string_view word) {
  if (word == "queued" || word == "pending") return {JobStatus::kPending};
  if (word == "inProgress") return {JobStatus::kInProgress, JobStatus::kQueued};
  if (auto status = parse_job_status(word)) return {*status};
  return {};
}

}  // namespace ctrlplane::api
