#include "engine/freezes.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "engine/jobs.h"
#include "engine/notify.h"
#include "engine/outbox.h"
#include "engine/validate.h"
#include "model/json_writer.h"
#include "policy/freezes.h"

namespace ctrlplane {
namespace {

constexpr size_t kKeptFreezes = 1000;  // ended ones in memory: roll-outs count around them
constexpr size_t kStopUnit = 64;
constexpr Duration kMaxAhead = hours(24 * 366 * 10);
constexpr int64_t kMaxPerMinute = 1'000'000;

// ---- History and news --------------------------------------------------------------------------------

bool is_news(FreezeAction a) { return a != FreezeAction::kScheduled && a != FreezeAction::kModified; }

struct News {
  FreezeAction action;
  std::string note = {};
  std::string metadata = "{}";  // a JSON object
  bool by_system = false;
};

void tell(Tx& tx, const Freeze& f, const News& news) {
  const std::string actor = news.by_system ? "" : tx.actor;
  tx.put(FreezeEvent{tx.ids.make<FreezeEventId>(), f.id, news.action, actor, news.note,
                     Json::parse_object(news.metadata).value_or(Json{}), tx.now});
  JsonWriter details;
  details.open().member("scope", to_string(f.scope)).member("scopeEntityId", f.scope_entity);
  details.member("reason", f.reason).member_unless_empty("note", news.note).close();
  tx.audit(fmt::format("freeze.{}", to_string(news.action)), f.id.str(), details.take());
  if (!is_news(news.action)) return;
  JsonWriter w;
  w.open().member("type", fmt::format("freeze.{}", to_string(news.action)));
  w.member("audience", news.action == FreezeAction::kBypassed ? "admins" : "deployers");
  w.member("workspaceId", tx.state.id()).member("at", tx.now).member_unless_empty("actor", actor);
  w.member_unless_empty("note", news.note).key("metadata").raw(news.metadata);
  w.key("freeze");
  write_freeze(w, tx.state.id(), f, tx.now);
  if (f.ended() && f.effective_at < *f.thawed_at)
    w.member("durationSeconds", (*f.thawed_at - f.effective_at).us / 1000000);
  if (f.expires_at) w.member("ttlSeconds", (*f.expires_at - f.effective_at).us / 1000000);
  notify_all(tx, w.close().take());
}

std::string before_and_after(std::string_view member, std::optional<std::string_view> before,
                             std::optional<std::string_view> after) {
  JsonWriter w;
  w.open().member("member", member).member("old", before).member("new", after).close();
  return w.take();
}

// ---- What cannot be --------------------------------------------------------------------------------

Status known_entity(const State& state, const CreateFreeze& c) {
  if (c.scope == FreezeScope::kWorkspace) {
    if (c.entity) return invalid("scopeEntityId", "must be absent: the scope is the workspace");
    return {};
  }
  if (!c.entity) return invalid("scopeEntityId", fmt::format("is required: which {}?", to_string(c.scope)));
  const bool known = c.scope == FreezeScope::kSystem ? bool(state.systems.find(SystemId{*c.entity}))
                     : c.scope == FreezeScope::kEnvironment
                         ? bool(state.environments.find(EnvironmentId{*c.entity}))
                         : bool(state.deployments.find(DeploymentId{*c.entity}));
  if (!known)
    return invalid("scopeEntityId", fmt::format("there is no {} {}", to_string(c.scope), c.entity->str()));
  return {};
}

// When it expires, counted from `from`.
Result<std::optional<Time>> expiry(Time from, const std::optional<Duration>& in,
                                   const std::optional<Time>& at) {
  if (in && at) return invalid("expiresIn", "and expiresAt cannot both be given");
  if (in && in->us <= 0) return invalid("expiresIn", "must be longer than nothing");
  if (in && *in > kMaxAhead) return invalid("expiresIn", "must not be longer than ten years");
  if (at && *at <= from) return invalid("expiresAt", "must be after the freeze begins");
  return in ? std::optional(from + *in) : at;
}

Status valid_ttl(const FreezeSettings& settings, Time from, const std::optional<Time>& expires_at,
                 std::string_view member) {
  if (!expires_at && (settings.ttl_required || settings.max_ttl))
    return invalid(std::string(member), "is required: in this workspace a freeze has to expire");
  if (settings.max_ttl && *expires_at - from > *settings.max_ttl)
    return invalid(std::string(member), fmt::format("is longer than this workspace allows ({} s)",
                                                    settings.max_ttl->us / 1000000));
  return {};
}

std::optional<Time> warning(const FreezeSettings& settings, Time from,
                            const std::optional<Time>& expires_at) {
  if (!expires_at) return std::nullopt;
  const Duration ttl = *expires_at - from;
  const bool is_short = ttl < settings.warn_before * 2;
  return *expires_at - (is_short ? Duration{ttl.us / 10} : settings.warn_before);
}

// Its time is up, though the timer may not have come by yet.
bool is_over(const Freeze& f, Time now) { return f.end() <= now; }

Result<FreezeIx> open_freeze(const State& state, Time now, FreezeId id) {
  FreezeIx f = state.freezes.find(id);
  if (!f) return fail(ErrorCode::kNotFound, fmt::format("no freeze {}", id.str()));
  const Freeze& row = state.freezes[f].row;
  if (is_over(row, now)) return fail(ErrorCode::kConflict, ending_of(row));
  return f;
}

// ---- Ends ----------------------------------------------------------------------------------------------

// Memory must not grow with history.
void retire_old_freezes(Tx& tx) {
  std::vector<const Freeze*> ended;
  tx.state.freezes.each([&](FreezeIx, const FreezeSlot& slot) {
    if (slot.row.ended()) ended.push_back(&slot.row);
  });
  if (ended.size() <= kKeptFreezes) return;
  std::nth_element(ended.begin(), ended.begin() + kKeptFreezes, ended.end(),
                   [](auto* a, auto* b) { return *a->thawed_at > *b->thawed_at; });
  std::vector<Freeze> old;
  for (size_t i = kKeptFreezes; i < ended.size(); ++i) old.push_back(*ended[i]);
  for (Freeze& f : old) {
    f.retired = true;
    tx.put(std::move(f));
  }
}

// Its beginning is told once; what came late is told late.
void activate(Tx& tx, Freeze& f) {
  f.activated_at = tx.now;
  tx.put(f);
  tell(tx, f, {FreezeAction::kActivated, f.reason, "{}", f.effective_at > f.created_at});
}

void end_freeze(Tx& tx, Freeze f, const News& news) {
  f.warn_at.reset();
  tx.put(f);
  tell(tx, f, news);
  retire_old_freezes(tx);
}

// May this actor lift what the freeze covers? Sets `break_glass` if only an administrator's word allows it.
Status may_lift(const Tx& tx, const Freeze& f, const FreezeRights& rights, const std::string& reason,
                bool& break_glass) {
  const FreezeSettings settings = freeze_settings(tx.state);
  const bool own = f.created_by == tx.actor;
  if (!rights.thaw && !own) return fail(ErrorCode::kForbidden, "this needs deployment_freeze.thaw");
  if (settings.second_person_thaws && own) {
    if (!rights.admin) return fail(ErrorCode::kForbidden, "in this workspace a second person thaws a freeze");
    if (reason.empty()) return invalid("reason", "is required to thaw one's own freeze alone");
    break_glass = true;
  }
  if (settings.thaw_needs_reason && reason.empty()) return invalid("reason", "is required in this workspace");
  return {};
}

// Is every target of `inner` one of `outer`? Only systems and the workspace hold others.
bool is_inside(const State& state, const Freeze& outer, const Freeze& inner) {
  if (outer.id == inner.id || inner.scope <= outer.scope) return false;
  if (outer.scope == FreezeScope::kWorkspace) return true;
  if (outer.scope != FreezeScope::kSystem) return false;
  const SystemIx s = state.systems.find(SystemId{*outer.scope_entity});
  auto only = [&](const std::vector<SystemIx>& all) { return s && all == std::vector{s}; };
  if (inner.scope == FreezeScope::kEnvironment) {
    EnvironmentIx e = state.environments.find(EnvironmentId{*inner.scope_entity});
    return e && only(state.environments[e].members.systems);
  }
  DeploymentIx d = state.deployments.find(DeploymentId{*inner.scope_entity});
  return d && only(state.deployments[d].members.systems);
}

// ---- Changes -------------------------------------------------------------------------------------------

struct Edit {
  Freeze row;
  bool uncovers = false;  // somewhere, or earlier than now
  std::vector<News> news = {};
};

Status edit_start(const Tx& tx, const UpdateFreeze& c, Edit& edit) {
  if (!c.effective_at || *c.effective_at == edit.row.effective_at) return {};
  if (!edit.row.scheduled(tx.now)) return invalid("effectiveAt", "cannot change: the freeze has begun");
  edit.uncovers |= *c.effective_at > edit.row.effective_at;
  edit.news.push_back({FreezeAction::kModified, "",
                       before_and_after("effectiveAt", format_rfc3339(edit.row.effective_at),
                                        format_rfc3339(*c.effective_at))});
  edit.row.effective_at = std::max(*c.effective_at, tx.now);
  return {};
}

Status edit_expiry(const Tx& tx, const UpdateFreeze& c, Edit& edit) {
  if (!c.expires_in && !c.expires_at) {
    if (edit.row.expires_at && *edit.row.expires_at <= edit.row.effective_at)
      return invalid("effectiveAt", "must be before the freeze expires");
    if (c.effective_at && edit.row.expires_at)
      TRY(valid_ttl(freeze_settings(tx.state), edit.row.effective_at, edit.row.expires_at, "effectiveAt"));
    return {};
  }
  if (c.expires_in && c.expires_at) return invalid("expiresIn", "and expiresAt cannot both be given");
  const Time from = std::max(tx.now, edit.row.effective_at);
  const std::optional<Time> at = c.expires_at.value_or(std::nullopt);
  const std::optional<Time> expires_at = TRY(expiry(from, c.expires_in, at));
  const FreezeSettings settings = freeze_settings(tx.state);
  TRY(valid_ttl(settings, from, expires_at, c.expires_in ? "expiresIn" : "expiresAt"));
  if (expires_at == edit.row.expires_at) return {};
  const bool shorter = expires_at && (!edit.row.expires_at || *expires_at < *edit.row.expires_at);
  edit.uncovers |= shorter;
  auto text = [](const std::optional<Time>& t) { return t ? format_rfc3339(*t) : std::string("never"); };
  edit.news.push_back({shorter ? FreezeAction::kModified : FreezeAction::kExtended, c.reason.value_or(""),
                       before_and_after("expiresAt", text(edit.row.expires_at), text(expires_at))});
  edit.row.expires_at = expires_at;
  edit.row.warn_at = warning(settings, from, expires_at);
  return {};
}

Status edit_selector(const Tx& tx, const UpdateFreeze& c, Edit& edit) {
  if (!c.selector) return {};
  std::optional<std::string> selector = *c.selector;
  if (selector && selector->empty()) selector.reset();
  if (selector == edit.row.selector) return {};
  TRY(valid_selector("selector", selector, Selector::Subject::kVersion));
  edit.uncovers |= selector.has_value();  // whatever it says: it may leave somebody out
  auto text = [](const std::optional<std::string>& s) -> std::optional<std::string_view> { return s; };
  edit.news.push_back(
      {FreezeAction::kModified, "", before_and_after("selector", text(edit.row.selector), text(selector))});
  if (edit.row.active(tx.now)) {
    const Time from = edit.row.spans.empty() ? edit.row.effective_at : edit.row.spans.back().to;
    edit.row.spans.push_back({from, tx.now, edit.row.selector});
  }
  edit.row.selector = selector;
  return {};
}

Status edit_words(const UpdateFreeze& c, Edit& edit) {
  const bool is_note = c.expires_in || c.expires_at;  // of why it is extended
  if (c.reason && !is_note && *c.reason != edit.row.reason) {
    TRY(required_text("reason", *c.reason, kMaxText));
    edit.news.push_back(
        {FreezeAction::kModified, "", before_and_after("reason", edit.row.reason, *c.reason)});
    edit.row.reason = *c.reason;
  }
  if (c.incident_url && *c.incident_url != edit.row.incident_url) {
    TRY(optional_text("incidentUrl", *c.incident_url));
    edit.news.push_back({FreezeAction::kModified, "",
                         before_and_after("incidentUrl", edit.row.incident_url, *c.incident_url)});
    edit.row.incident_url = *c.incident_url;
  }
  return {};
}

// ---- Passing -------------------------------------------------------------------------------------------

void note_passed(Tx& tx, FreezeIx f, VersionIx v, const PolicySkip* skip) {
  Freeze row = tx.state.freezes[f].row;
  const Version& version = tx.state.versions[v].row;
  if (std::find(row.passed.begin(), row.passed.end(), version.id) != row.passed.end()) return;
  row.passed.push_back(version.id);
  tx.put(row);
  JsonWriter w;
  w.open().member("versionId", version.id).member("tag", version.tag);
  w.member("deploymentId", version.deployment).member("createdBy", version.created_by);
  if (skip) w.member("skipId", skip->id).member("skippedBy", skip->created_by);
  tell(tx, row, {FreezeAction::kBypassed, skip ? skip->reason : version.message, w.close().take()});
}

}  // namespace

std::string ending_of(const Freeze& f) {
  const std::string when = format_rfc3339(f.end());
  return f.thawed_by.empty() ? fmt::format("the freeze expired at {}", when)
                             : fmt::format("the freeze was thawed by {} at {}", f.thawed_by, when);
}

std::unexpected<Error> frozen(const State& state, FreezeIx by) {
  const Freeze& row = state.freezes[by].row;
  Error no{ErrorCode::kFrozen, policy::frozen_message(row)};
  no.details.push_back({"freezeId", row.id.str()});
  return std::unexpected(std::move(no));
}

FreezeSettings freeze_settings(const State& state) {
  auto it = state.settings.find(FreezeSettings::kName);
  return it == state.settings.end() ? FreezeSettings{} : FreezeSettings::from(it->second);
}

Result<Freeze> draft_of(const State& state, Time now, const CreateFreeze& c) {
  TRY(required_text("reason", c.reason, kMaxText));
  TRY(optional_text("incidentUrl", c.incident_url));
  TRY(valid_metadata("metadata", c.metadata));
  TRY(known_entity(state, c));
  Freeze row{.scope = c.scope, .scope_entity = c.entity, .reason = c.reason, .incident_url = c.incident_url};
  if (c.selector && !c.selector->empty()) {
    TRY(valid_selector("selector", c.selector, Selector::Subject::kVersion));
    row.selector = c.selector;
  }
  if (c.effective_at && *c.effective_at > now + kMaxAhead)
    return invalid("effectiveAt", "must be within ten years");
  row.created_at = now;
  row.effective_at = std::max(now, c.effective_at.value_or(now));
  row.expires_at = TRY(expiry(row.effective_at, c.expires_in, c.expires_at));
  const FreezeSettings settings = freeze_settings(state);
  TRY(valid_ttl(settings, row.effective_at, row.expires_at, c.expires_at ? "expiresAt" : "expiresIn"));
  row.warn_at = warning(settings, row.effective_at, row.expires_at);
  row.in_flight = c.in_flight;
  row.metadata = c.metadata;
  return row;
}

Reply create_freeze(Tx& tx, const CreateFreeze& c) {
  Freeze row = TRY(draft_of(tx.state, tx.now, c));
  row.id = tx.ids.make<FreezeId>();
  row.created_by = tx.actor;
  if (row.scheduled(tx.now)) {
    tx.put(row);
    tell(tx, row, {FreezeAction::kScheduled, row.reason});
  } else {
    activate(tx, row);
  }
  return Answer{.id = row.id.uuid, .created = true};
}

Reply update_freeze(Tx& tx, const UpdateFreeze& c) {
  const FreezeIx f = TRY(open_freeze(tx.state, tx.now, c.id));
  Edit edit{.row = tx.state.freezes[f].row};
  if (!c.rights.extend && !c.rights.thaw)
    return fail(ErrorCode::kForbidden, "this needs deployment_freeze.extend");
  if (c.reason) TRY(optional_text("reason", *c.reason));
  TRY(edit_start(tx, c, edit));
  TRY(edit_expiry(tx, c, edit));
  TRY(edit_selector(tx, c, edit));
  TRY(edit_words(c, edit));
  bool break_glass = false;
  if (edit.uncovers) TRY(may_lift(tx, edit.row, c.rights, c.reason.value_or(""), break_glass));
  if (edit.news.empty()) return Answer{.id = c.id.uuid};
  if (break_glass)
    for (News& news : edit.news) news.metadata.insert(1, R"("breakGlass":true,)");
  tx.put(edit.row);
  for (const News& news : edit.news) tell(tx, edit.row, news);
  return Answer{.id = c.id.uuid};
}

Reply thaw_freeze(Tx& tx, const ThawFreeze& c) {
  TRY(optional_text("reason", c.reason));
  if (c.resume_per_minute && (*c.resume_per_minute < 1 || *c.resume_per_minute > kMaxPerMinute))
    return invalid("resume.perMinute", fmt::format("must be from 1 to {}", kMaxPerMinute));
  const FreezeIx first = TRY(open_freeze(tx.state, tx.now, c.id));
  std::vector<Freeze> rows{tx.state.freezes[first].row};
  if (c.cascade)
    tx.state.freezes.each([&](FreezeIx, const FreezeSlot& slot) {
      if (!is_over(slot.row, tx.now) && is_inside(tx.state, rows.front(), slot.row)) rows.push_back(slot.row);
    });
  std::vector<bool> glass_broken;
  for (const Freeze& row : rows) {
    bool break_glass = false;
    TRY(may_lift(tx, row, c.rights, c.reason, break_glass));
    glass_broken.push_back(break_glass);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    Freeze& row = rows[i];
    if (!row.activated_at && row.effective_at <= tx.now) activate(tx, row);  // the timer has not come by yet
    JsonWriter w;
    w.open();
    if (glass_broken[i]) w.member("breakGlass", true);
    if (row.scheduled(tx.now)) w.member("cancelled", true);
    if (row.id != c.id) w.member("cascadeFrom", c.id);
    w.close();
    row.thawed_at = tx.now;
    row.thawed_by = tx.actor;
    row.thaw_reason = c.reason;
    row.resume_per_minute = c.resume_per_minute;
    end_freeze(tx, row, {FreezeAction::kThawed, c.reason, w.take()});
  }
  return Answer{.id = c.id.uuid};
}

Reply set_freeze_settings(Tx& tx, const SetFreezeSettings& c) {
  if (c.settings.max_ttl && c.settings.max_ttl->us <= 0)
    return invalid("maxTtl", "must be longer than nothing");
  if (c.settings.warn_before.us <= 0) return invalid("warnBefore", "must be longer than nothing");
  if (freeze_settings(tx.state) == c.settings) return Answer{};
  Json value = c.settings.json();
  tx.audit("freeze.settings", std::string(FreezeSettings::kName), value.text());
  tx.put(Setting{std::string(FreezeSettings::kName), std::move(value)});
  return Answer{};
}

// ---- By itself -----------------------------------------------------------------------------------------

void freeze_due(Tx& tx, FreezeId id) {
  const FreezeIx f = tx.state.freezes.find(id);
  if (!f || tx.state.freezes[f].row.ended()) return;
  Freeze row = tx.state.freezes[f].row;
  if (!row.activated_at && row.effective_at <= tx.now) activate(tx, row);
  if (row.expires_at && *row.expires_at <= tx.now) {
    row.thawed_at = row.expires_at;
    return end_freeze(tx, row, {FreezeAction::kExpired, "", "{}", true});
  }
  if (row.warn_at && *row.warn_at <= tx.now) {
    row.warn_at.reset();
    tx.put(row);
    tell(tx, row, {FreezeAction::kExpiringSoon, "", "{}", true});
  }
}

void stop_some_jobs(Tx& tx) {
  std::vector<JobIx> jobs;
  const FreezeIx f = tx.state.take_to_stop(kStopUnit, jobs);
  const Freeze freeze = tx.state.freezes[f].row;
  if (!freeze.active(tx.now)) return;
  for (JobIx j : jobs) {
    const JobSlot& slot = tx.state.jobs[j];
    Job job = slot.row;
    if (job.cancel_requested_at || job.status == JobStatus::kActionRequired || !slot.target || !slot.version)
      continue;
    const std::vector<policy::Covering> over =
        policy::freezes_over(tx.state, tx.now, slot.target, slot.version);
    if (std::none_of(over.begin(), over.end(), [&](auto& c) { return c.freeze == f && !c.exemption; }))
      continue;
    job.cancel_requested_at = job.updated_at = tx.now;
    job.stopped_by = freeze.id;
    const bool pushed = job.holder.empty();
    tx.put(job);
    if (pushed) enqueue_cancel(tx, job);
  }
}

// ---- Bypass --------------------------------------------------------------------------------------------

void note_bypass(Tx& tx, VersionIx v) {
  const DeploymentIx d = tx.state.versions[v].deployment;
  std::set<FreezeIx> passed;
  // One target stands for all of the pair: whom a selector over resources covers is seen when it starts
  // there.
  for (SystemIx s : tx.state.deployments[d].members.systems)
    for (EnvironmentIx e : tx.state.systems[s].environments) {
      TargetIx any;
      tx.state.each_target_in(d, e, v, [&](TargetIx t) { any = t; });
      if (!any) continue;
      for (const policy::Covering& c : policy::freezes_over(tx.state, tx.now, any, v)) {
        const auto& selector = tx.state.freezes[c.freeze].selector;
        if (c.exemption.bypass && !(selector && selector->uses("resource"))) passed.insert(c.freeze);
      }
    }
  for (FreezeIx f : passed) note_passed(tx, f, v, nullptr);
}

void note_passage(Tx& tx, TargetIx t, VersionIx v) {
  if (!tx.state.any_open_freezes()) return;
  for (const policy::Covering& c : policy::freezes_over(tx.state, tx.now, t, v))
    if (c.exemption) note_passed(tx, c.freeze, v, c.exemption.skip);
}

void pass_freezes(Tx& tx, TargetIx t, VersionIx v, const std::string& reason) {
  const TargetKey key = tx.state.key_of(t);
  for (const policy::Covering& c : policy::freezes_over(tx.state, tx.now, t, v)) {
    if (c.exemption) continue;
    PolicySkip skip{.id = tx.ids.make<SkipId>(), .rule = RuleId{tx.state.freezes[c.freeze].row.id.uuid}};
    skip.version = tx.state.versions[v].row.id;
    skip.environment = key.environment;
    skip.resource = key.resource;
    skip.reason = reason;
    skip.created_by = tx.actor;
    skip.created_at = tx.now;
    tx.put(std::move(skip));
  }
}

}  // namespace ctrlplane
