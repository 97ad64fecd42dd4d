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

void narrow_to_scope(Rollout& r, const bj::value& version) {
  const bj::value* scope = member_at(version, "scope");
  if (!scope) return;
  int64_t total = number_at(*scope, "matched");
  if (text_at(version, "onSelectorError") != "exclude") total += number_at(*scope, "undetermined");
  r.total = static_cast<size_t>(total);
  r.counting = text_at(*scope, "counting") == "true";
}

// More may be done than there are: a target that leaves the scope keeps the version.
bool is_complete(const Rollout& r) { return r.done >= r.total && r.running == 0 && !r.counting; }

std::string progress_text(const Rollout& r) {
  std::string text = fmt::format("{}/{} done", r.done, r.total);
  if (r.running) text += fmt::format(", {} running", r.running);
  if (r.attention) text += fmt::format(" ({} wait for a person)", r.attention);
  if (r.failed) text += fmt::format(", {} failed", r.failed);
  return text;
}

}  // namespace ctrlplane::cli
