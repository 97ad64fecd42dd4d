// A person deploys a version now, whatever policies say. It does not pass what no person may pass: one active
// release at a time, a version that can be deployed, somebody to do it; nor a freeze, unless they may and say
// so.
#include <fmt/core.h>

#include "engine/admission.h"
#include "engine/bracket_order.h"
#include "engine/brackets.h"
#include "engine/entities.h"
#include "engine/freezes.h"
#include "engine/select.h"
#include "engine/validate.h"
#include "model/json_writer.h"

namespace ctrlplane {

Reply force_deploy(Tx& tx, const ForceDeploy& c) {
  TRY(optional_text("reason", c.reason));
  TargetIx t = tx.state.target(c.target);
  if (!t || !tx.state.target_exists(t)) return fail(ErrorCode::kNotFound, "no such release target");
  VersionIx v = tx.state.versions.find(c.version);
  if (!v || tx.state.versions[v].deployment != tx.state.at(t).deployment)
    return fail(ErrorCode::kNotFound, fmt::format("no version {} of this deployment", c.version.str()));
  if (is_failed_lock(tx.state, t, v)) {  // that is a retry of the group that waits for it
    const ActOnGroup retry{.group = tx.state.groups[active_group_of(tx.state, t)].row.id,
                           .action = GroupAction::kRetry,
                           .deployment = c.target.deployment,
                           .reason = c.reason};
    return act_on_group(tx, retry);
  }
  ReleaseId release = v == tx.state.at(t).current_version ? tx.state.at(t).current_release
                                                          : release_id(c.target, c.version, Digest{});
  TargetState row = tx.state.row_of(t);
  row.desired_release = release;
  row.desired_version = c.version;
  std::erase(row.denied, c.version);
  const StartRequest request{t, v, release, JobCause::kForce};
  if (c.bypass_freeze) {
    if (auto no = refusal_but_for_freezes(tx.state, tx.now, request, row))
      return fail(ErrorCode::kConflict, no->why);
    pass_freezes(tx, t, v, c.reason);
  }
  auto jobs = TRY(start(tx, request, row));
  JsonWriter details;
  details.open().member("version", c.version).member("reason", c.reason);
  if (c.bypass_freeze) details.member("bypassFreeze", true);
  details.close();
  tx.audit("target.force_deploy", c.target.str(), details.take());
  return Answer{.id = jobs.front().uuid, .created = true, .jobs = jobs};
}

}  // namespace ctrlplane
