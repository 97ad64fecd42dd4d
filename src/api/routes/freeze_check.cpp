// Is it frozen? What a pipeline asks before it publishes, and what a person asks about a plan.
#include <algorithm>

#include <fmt/core.h>

#include "api/call.h"
#include "api/families.h"
#include "api/freeze_views.h"
#include "policy/freezes.h"

namespace ctrlplane::api {
namespace {

constexpr size_t kPerStep = 20'000;
constexpr size_t kCostOfTarget = 10;  // that selectors are asked about

struct Asked {
  std::optional<SystemId> system = {};
  std::optional<EnvironmentId> environment = {};
  std::optional<DeploymentId> deployment = {};
  std::optional<ResourceId> resource = {};
  std::optional<VersionId> version = {};
  std::optional<Time> at = {};
};

// The same in numbers of one state: found anew in each step.
struct Found {
  SystemIx system;
  EnvironmentIx environment;
  DeploymentIx deployment;
  ResourceIx resource;
  VersionIx version;
  Time at;
};

template <class Ix, class Slots, class Id>
Status find(Ix& ix, const Slots& slots, const std::optional<Id>& id, std::string_view what) {
  if (!id) return {};
  ix = slots.find(*id);
  if (!ix) return fail(ErrorCode::kNotFound, fmt::format("no {} {}", what, id->str()));
  return {};
}

Result<Found> found_in(const State& s, Time now, const Asked& a) {
  Found f;
  TRY(find(f.system, s.systems, a.system, "system"));
  TRY(find(f.environment, s.environments, a.environment, "environment"));
  TRY(find(f.deployment, s.deployments, a.deployment, "deployment"));
  TRY(find(f.resource, s.resources, a.resource, "resource"));
  TRY(find(f.version, s.versions, a.version, "version"));
  f.at = std::max(now, a.at.value_or(now));
  if (!f.version) return f;
  const DeploymentIx its = s.versions[f.version].deployment;
  if (f.deployment && f.deployment != its) return invalid("versionId", "is of another deployment");
  f.deployment = its;
  return f;
}

bool is_in(const std::vector<SystemIx>& all, SystemIx s) {
  return std::find(all.begin(), all.end(), s) != all.end();
}

bool is_asked(const State& s, const Found& f, DeploymentIx d, EnvironmentIx e) {
  if ((f.deployment && f.deployment != d) || (f.environment && f.environment != e)) return false;
  return !f.system || (is_in(s.deployments[d].members.systems, f.system) &&
                       is_in(s.environments[e].members.systems, f.system));
}

class Check {
 public:
  explicit Check(Asked asked) : asked_(std::move(asked)) {}

  // One step. True: that is all.
  Result<bool> go_on(const State& s, Time now) {
    const Found f = TRY(found_in(s, now, asked_));
    at_ = f.at;
    if (f.resource) {
      for (TargetIx t : s.resources[f.resource].targets) look_at(s, f, t);
      return finish(s, f);
    }
    if (!depends_on_resource(s, f)) {
      s.each_pair([&](DeploymentIx d, EnvironmentIx e, const std::vector<TargetIx>& targets) {
        if (!targets.empty() && is_asked(s, f, d, e)) look_at(s, f, targets.front());
      });
      return finish(s, f);
    }
    for (size_t cost = 0; cost < kPerStep && next_ < s.target_bound(); ++next_)
      cost += look_at(s, f, TargetIx{next_}) ? kCostOfTarget : 1;
    return next_ < s.target_bound() ? false : finish(s, f);
  }

  const std::string& text() const { return text_; }

 private:
  static bool depends_on_resource(const State& s, const Found& f) {
    bool depends = f.version && s.versions[f.version].scope;
    s.freezes.each([&](FreezeIx, const FreezeSlot& slot) {
      depends |= slot.row.active(f.at) && slot.selector && slot.selector->uses("resource");
    });
    if (f.version)
      for (const PolicySkip& skip : s.skips_of(f.version)) depends |= skip.resource.has_value();
    return depends;
  }

  bool look_at(const State& s, const Found& f, TargetIx t) {
    const TargetSlot& slot = s.at(t);
    if (!slot.exists || !is_asked(s, f, slot.deployment, slot.environment)) return false;
    if (f.version && !s.in_scope(f.version, t)) return false;
    bool covered = false;
    each_over(s, f, t, [&](FreezeIx over) {
      covered = true;
      matching_.insert(s.freezes[over].row.id);
    });
    ++(covered ? covered_ : free_);
    return true;
  }

  // Without a version: as for the newest, and nobody is exempt.
  template <class Fn>
  static void each_over(const State& s, const Found& f, TargetIx t, Fn&& fn) {
    const TargetSlot& slot = s.at(t);
    if (f.version) {
      for (const policy::Covering& c : policy::freezes_over(s, f.at, t, f.version))
        if (!c.exemption) fn(c.freeze);
      return;
    }
    const VersionIx newest = s.newest_for(t);
    s.each_open_freeze(slot.deployment, slot.environment, [&](FreezeIx over) {
      if (s.freezes[over].row.active(f.at) && s.freeze_selects(over, t, newest)) fn(over);
    });
  }

  // Nothing is there yet: frozen if all that could come would be.
  void look_at_scope(const State& s, const Found& f) {
    auto is = [](const auto& id, const Freeze& row) { return id && id->uuid == row.scope_entity; };
    s.freezes.each([&](FreezeIx, const FreezeSlot& slot) {
      const Freeze& row = slot.row;
      if (row.selector || !row.active(f.at)) return;
      const bool both = f.deployment && f.environment;
      if (row.scope == FreezeScope::kWorkspace || is(asked_.system, row) || is(asked_.environment, row) ||
          is(asked_.deployment, row) || (both && s.in_scope(row, f.deployment, f.environment))) {
        matching_.insert(row.id);
        covered_ = 1;
      }
    });
  }

  bool finish(const State& s, const Found& f) {
    if (covered_ + free_ == 0) look_at_scope(s, f);
    std::vector<const Freeze*> all;
    for (FreezeId id : matching_)
      if (FreezeIx ix = s.freezes.find(id)) all.push_back(&s.freezes[ix].row);
    std::sort(all.begin(), all.end(), [](auto* a, auto* b) {
      return std::tie(a->scope, a->created_at, a->id) > std::tie(b->scope, b->created_at, b->id);
    });
    std::optional<Time> opens_at;
    if (!all.empty()) opens_at = all.front()->expires_at;
    for (const Freeze* row : all)
      opens_at =
          opens_at && row->expires_at ? std::optional(std::max(*opens_at, *row->expires_at)) : std::nullopt;
    JsonWriter w;
    w.open().member("frozen", covered_ > 0 && free_ == 0).member("partial", covered_ > 0 && free_ > 0);
    if (!all.empty()) w.member("freezeId", all.front()->id).member("reason", all.front()->reason);
    w.key("freezes").open_array();
    for (const Freeze* row : all) write_brief(w, *row);
    text_ = w.close_array().member("opensAt", opens_at).close().take();
    return true;
  }

  Asked asked_;
  Time at_;
  uint32_t next_ = 0;
  uint64_t covered_ = 0, free_ = 0;  // targets, or pairs of which all targets are alike
  std::set<FreezeId> matching_;
  std::string text_;
};

void go_on(Call& call, std::shared_ptr<Check> check) {
  auto done = std::make_shared<bool>(false);
  Query step{[check, done](const State& s, Time now) -> Result<std::string> {
    *done = TRY(check->go_on(s, now));
    return std::string();
  }};
  auto status = call.submit(call.workspace(), std::move(step), {}, [check, done](Call& c, Reply reply) {
    if (!reply) return c.refuse(reply.error());
    *done ? void(c.reply(check->text())) : go_on(c, check);
  });
  if (!status) call.refuse(status.error());
}

// Both ways of naming a thing must agree.
template <class Id>
Status name(std::optional<Id>& slot, const std::optional<Uuid>& entity, std::string_view parameter) {
  if (slot && slot->uuid != *entity)
    return invalid("entityId", fmt::format("is not what {} says", parameter));
  slot = Id{*entity};
  return {};
}

Result<Asked> asked_by(const Call& c) {
  Asked a{.system = {},
          .environment = TRY(c.query_id<EnvironmentId>("environmentId")),
          .deployment = TRY(c.query_id<DeploymentId>("deploymentId")),
          .resource = TRY(c.query_id<ResourceId>("resourceId")),
          .version = TRY(c.query_id<VersionId>("versionId"))};
  if (auto text = c.query("at")) a.at = parse_rfc3339(*text);
  std::optional<Uuid> entity;
  if (auto text = c.query("entityId")) entity = Uuid::parse(*text);
  const std::string scope = c.query("scope").value_or("workspace");
  if (scope == "workspace" && entity)
    return invalid("entityId", "must be absent: the scope is the workspace");
  if (scope != "workspace" && !entity)
    return invalid("entityId", fmt::format("is required: which {}?", scope));
  if (scope == "system") a.system = SystemId{*entity};
  if (scope == "environment") TRY(name(a.environment, entity, "environmentId"));
  if (scope == "deployment") TRY(name(a.deployment, entity, "deploymentId"));
  return a;
}

Status check(Call& c) {
  go_on(c, std::make_shared<Check>(TRY(asked_by(c))));
  return {};
}

}  // namespace

Family freeze_check_family() {
  return {"Freezes",
          {
              {.method = "GET",
               .path = CTRLPLANE_W "/freezes/check",
               .id = "checkFreezes",
               .summary = "Is everything asked about frozen, or a part of it, and until when?",
               .permission = permission::kFreezeRead,
               .query = {{"scope", "FreezeScope"},
                         {"entityId", "uuid", "what the scope is about"},
                         {"at", "datetime", "the present, or later"},
                         {"deploymentId", "uuid"},
                         {"environmentId", "uuid"},
                         {"resourceId", "uuid"},
                         {"versionId", "uuid", "a freeze that this version passes does not count"}},
               .outcomes = {{200, "FreezeCheck"}},
               .handler = check},
          }};
}

}  // namespace ctrlplane::api
