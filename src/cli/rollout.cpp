#include "cli/rollout.h"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/json_text.h"

namespace ctrlplane::cli {

namespace bj = boost::json;

bool has_ended(std::string_view status) {
  constexpr std::string_view kLive[] = {"pending", "queued", "inProgress", "actionRequired"};
  return std::ranges::find(kLive, status) == std::end(kLive);
}

Rollout rollout_of(const bj::array& targets, std::string_view version_id, Time version_created) {
  Rollout r{.total = targets.size()};
  for (const bj::value& target : targets) {
    if (text_at(target, "state.currentVersion.id") == version_id) {
      ++r.done;
      continue;
    }
    if (text_at(target, "state.desiredVersion.id") != version_id) continue;
    const bj::value* job = member_at(target, "state.activeJob");
    if (!job || !job->is_object()) job = member_at(target, "state.latestJob");
    if (!job || !job->is_object()) continue;
    auto created = parse_rfc3339(text_at(*job, "createdAt"));
    if (created && *created < version_created) continue;
    std::string status = text_at(*job, "status");
    if (!has_ended(status)) {
      ++r.running;
      if (status == "actionRequired") ++r.attention;
    } else if (status != "successful") {  // one that was will show as the current version in a moment
      if (r.failed++) continue;
      r.failed_job = text_at(*job, "id");
      r.failed_where =
          fmt::format("{} in {}", text_at(target, "resource.name"), text_at(target, "environment.name"));
      std::string message = text_at(*job, "message");
      r.failed_why = message.empty() ? status : fmt::format("{}: {}", status, message);
    }
  }
  return r;
}

std::string progress_text(const Rollout& r) {
  std::string text = fmt::format("{}/{} done", r.done, r.total);
  if (r.running) text += fmt::format(", {} running", r.running);
  if (r.attention) text += fmt::format(" ({} wait for a person)", r.attention);
  if (r.failed) text += fmt::format(", {} failed", r.failed);
  return text;
}

}  // namespace ctrlplane::cli
