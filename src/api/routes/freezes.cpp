// Freezes: made, changed and ended.
#include <algorithm>

#include <fmt/core.h>

#include "api/api.h"
#include "api/families.h"
#include "api/freeze_views.h"
#include "api/views.h"
#include "engine/freezes.h"

namespace ctrlplane::api {
namespace {

// Nobody who has just frozen something wants to wait for numbers: 200,000 targets by a selector over
// resources.
constexpr size_t kStepsOfAnAnswer = 100;
constexpr Duration kMostOfASetting = hours(24 * 3660);

// ---- Requests --------------------------------------------------------------------------------------------

// It becomes a link that people click on.
Status valid_url(const std::string& url) {
  if (url.empty() || url.starts_with("https://") || url.starts_with("http://")) return {};
  return invalid("incidentUrl", "must begin with https:// or http://");
}

// Here, off the loop; what it says is checked again there.
Status valid_cel(const std::string& text) {
  if (text.empty()) return {};
  auto compiled = Selector::compile(text, Selector::Subject::kVersion);
  if (!compiled) return invalid("selector", compiled.error().message);
  return {};
}

Result<CreateFreeze> command_from(const Body& b) {
  CreateFreeze command{.scope = *parse_enum<FreezeScope>(b.text("scope")),
                       .entity = b.id<Uuid>("scopeEntityId"),
                       .reason = b.text("reason"),
                       .incident_url = b.text("incidentUrl"),
                       .expires_in = TRY(duration_in(b, "expiresIn")),
                       .expires_at = b.time("expiresAt"),
                       .effective_at = b.time("effectiveAt"),
                       .selector = b.maybe_text("selector"),
                       .metadata = b.metadata("metadata")};
  if (auto word = b.maybe_text("inFlight")) command.in_flight = *parse_enum<InFlight>(*word);
  TRY(valid_url(command.incident_url));
  TRY(valid_cel(command.selector.value_or("")));
  return command;
}

bool is_null(const Body& b, std::string_view name) {
  const auto names = b.names();
  return !b.has(name) && std::find(names.begin(), names.end(), name) != names.end();
}

Result<UpdateFreeze> change_from(FreezeId id, const Body& b) {
  UpdateFreeze command{.id = id,
                       .expires_in = TRY(duration_in(b, "expiresIn")),
                       .effective_at = b.time("effectiveAt"),
                       .reason = b.maybe_text("reason"),
                       .incident_url = b.maybe_text("incidentUrl")};
  if (b.has("expiresAt") || is_null(b, "expiresAt")) command.expires_at = b.time("expiresAt");
  if (b.has("selector") || is_null(b, "selector")) command.selector = b.maybe_text("selector");
  if (is_null(b, "incidentUrl")) command.incident_url = "";
  TRY(valid_url(command.incident_url.value_or("")));
  TRY(valid_cel(b.text("selector")));
  return command;
}

FreezeRights rights_of(Call& c) {
  auto may = [&](const Permission& p) {
    return c.api().directory().allows(c.who(), p, c.workspace()).has_value();
  };
  return {.extend = may(permission::kFreezeExtend),
          .thaw = may(permission::kFreezeThaw),
          .admin = may(permission::kWorkspaceWrite)};  // which is not to be granted alone
}

// ---- Making one ------------------------------------------------------------------------------------------

// In the step that makes the freeze, so that what agents have and which groups are at work is exact at its
// commit. The numbers are put in later.
std::string made_text(const State& s, Time now, const Answer& answer) {
  const Freeze& row = s.freezes[s.freezes.find(FreezeId{answer.id})].row;
  auto outline = FreezeOutline::of(row);
  const std::string jobs = outline ? in_flight_text(s, *outline) : "[]";
  const std::string brackets = outline ? open_brackets_text(s, *outline) : "[]";
  return with_member(freeze_text(s.id(), row, now), "impact",
                     fmt::format(R"({{"openBrackets":{},"inFlightJobs":{}}})", brackets, jobs));
}

std::string with_numbers(std::string made, const Impact& impact) {
  made.resize(made.size() - 2);  // "}}"
  return fmt::format("{},{}}}}}", made, impact.numbers());
}

// The freeze stands whether or not it can be counted what it covers; so it is answered either way. Also for a
// repeat, of which the first answer is known but for the numbers.
void count_and_answer(Call& call, FreezeId id, std::string made) {
  auto impact = std::make_shared<Impact>();
  impact->steps_left = kStepsOfAnAnswer;
  Query look{[impact, id](const State& s, Time) -> Result<std::string> {
    if (FreezeIx f = s.freezes.find(id)) impact->outline = TRY(FreezeOutline::of(s.freezes[f].row));
    return std::string();
  }};
  auto answer = [impact, made = std::move(made)](Call& c, Status) { c.reply(with_numbers(made, *impact)); };
  auto looked = call.submit(call.workspace(), std::move(look), {}, [impact, answer](Call& c, Reply reply) {
    reply ? count_impact(c, impact, answer) : answer(c, {});
  });
  if (!looked) answer(call, {});
}

Status try_out(Call& c, const CreateFreeze& command) {
  auto impact = std::make_shared<Impact>();
  Query draft{[impact, command](const State& s, Time now) -> Result<std::string> {
    impact->begin(s, TRY(FreezeOutline::of(TRY(draft_of(s, now, command)))));
    return std::string();
  }};
  return c.submit(c.workspace(), std::move(draft), {}, [impact](Call& call, Reply reply) {
    if (!reply) return call.refuse(reply.error());
    count_impact(call, impact, [impact](Call& done, Status counted) {
      if (!counted) return done.refuse(counted.error());
      done.reply(200, fmt::format(R"({{"impact":{}}})", impact->text()));
    });
  });
}

Status create(Call& c) {
  CreateFreeze command = TRY(command_from(c.body()));
  if (c.query("dryRun") == "true") return try_out(c, command);
  return c.submit(c.workspace(), std::move(command), made_text, [](Call& call, Reply reply) {
    if (!reply) return call.refuse(reply.error());
    count_and_answer(call, FreezeId{reply->id}, std::move(reply->text));
  });
}

// ---- Changing and ending ---------------------------------------------------------------------------------

std::string changed_text(const State& s, Time now, const Answer& answer) {
  FreezeIx f = s.freezes.find(FreezeId{answer.id});
  return f ? freeze_text(s.id(), s.freezes[f].row, now) : std::string();
}

// What ended long ago has left memory, and has ended all the same.
Status answer_changed(Call& c, FreezeId id, Command command) {
  return c.submit(c.workspace(), std::move(command), changed_text, [id](Call& call, Reply reply) {
    const bool unknown = !reply && reply.error().code == ErrorCode::kNotFound;
    const bool retired = reply && reply->text.empty();
    if (reply && !retired) return void(call.reply(std::move(reply->text)));
    if (!unknown && !retired) return call.refuse(reply.error());
    auto status = call.later([id, unknown](Call& last) -> Status {
      Freeze row = TRY(stored_freeze(last, id));
      if (unknown) return fail(ErrorCode::kConflict, ending_of(row));
      return last.reply(freeze_text(last.workspace(), row, last.now()));
    });
    if (!status) call.refuse(status.error());
  });
}

// For one who lacks `needed`: whoever made a freeze may do without where `own_too`, and one that is not there
// needs no permission. A refusal from here is looked at twice where the accounts are a copy; one by the loop
// would not be.
Status as_permitted(Call& c, FreezeId id, const Permission& needed, bool own_too,
                    std::function<Status(Call&)> then) {
  return c.ask<bool>(
      [id, own_too, actor = c.who().actor()](const State& s, Time) -> Result<bool> {
        FreezeIx f = s.freezes.find(id);
        return !f || (own_too && s.freezes[f].row.created_by == actor);
      },
      [needed, then](Call& call, bool free) -> Status {
        if (!free) TRY(call.api().directory().allows(call.who(), needed, call.workspace()));
        return then(call);
      });
}

Status update(Call& c) {
  FreezeId id = TRY(c.id<FreezeId>("freezeId"));
  UpdateFreeze command = TRY(change_from(id, c.body()));
  auto change = [id, command](Call& call) mutable {
    command.rights = rights_of(call);
    return answer_changed(call, id, command);
  };
  if (rights_of(c).extend) return change(c);
  return as_permitted(c, id, permission::kFreezeExtend, false, change);
}

Status thaw(Call& c) {
  FreezeId id = TRY(c.id<FreezeId>("freezeId"));
  ThawFreeze command{.id = id, .reason = c.body().text("reason"), .cascade = c.body().flag("cascade")};
  if (auto resume = c.body().object("resume")) command.resume_per_minute = resume->integer("perMinute");
  auto end = [id, command](Call& call) mutable {
    command.rights = rights_of(call);
    return answer_changed(call, id, command);
  };
  if (rights_of(c).thaw) return end(c);
  return as_permitted(c, id, permission::kFreezeThaw, true, end);
}

// ---- Settings --------------------------------------------------------------------------------------------

std::string settings_text(const State& s, Time, const Answer&) {
  const FreezeSettings settings = freeze_settings(s);
  JsonWriter w;
  w.open();
  if (settings.max_ttl) w.member("maxTtl", format_iso8601(*settings.max_ttl));
  w.member("ttlRequired", settings.ttl_required).member("thawNeedsReason", settings.thaw_needs_reason);
  w.member("secondPersonThaws", settings.second_person_thaws);
  return w.member("warnBefore", format_iso8601(settings.warn_before)).close().take();
}

Status get_settings(Call& c) {
  return c.read([](const State& s, Time now) -> Result<std::string> { return settings_text(s, now, {}); });
}

// They are kept in whole seconds.
Result<std::optional<Duration>> setting_in(const Body& b, std::string_view name) {
  auto duration = TRY(duration_in(b, name));
  if (duration && (*duration < seconds(1) || *duration > kMostOfASetting))
    return invalid(std::string(name), "must be from a second to ten years");
  return duration;
}

Status put_settings(Call& c) {
  const Body& b = c.body();
  SetFreezeSettings command;
  command.settings.max_ttl = TRY(setting_in(b, "maxTtl"));
  command.settings.ttl_required = b.flag("ttlRequired");
  command.settings.thaw_needs_reason = b.flag("thawNeedsReason");
  command.settings.second_person_thaws = b.flag("secondPersonThaws");
  if (auto before = TRY(setting_in(b, "warnBefore"))) command.settings.warn_before = *before;
  return c.write(std::move(command), settings_text);
}

}  // namespace

Family freeze_family() {
  using namespace permission;
  constexpr std::string_view kEvery = CTRLPLANE_W "/freezes", kOne = CTRLPLANE_W "/freezes/{freezeId}";
  constexpr std::string_view kSettings = CTRLPLANE_W "/freezes/settings";
  return {
      "Freezes",
      {
          {.method = "POST",
           .path = kEvery,
           .id = "createFreeze",
           .summary = "Stop everything in a scope, now or from effectiveAt on; answers what agents already "
                      "had at that moment",
           .permission = kFreezeCreate,
           .query = {{"dryRun", "boolean", "only say what it would cover"}},
           .body = "CreateFreezeRequest",
           .outcomes = {{201, "NewFreeze"}, {200, "FreezePreview"}},
           .handler = create},
          {.method = "GET",
           .path = kSettings,
           .id = "getFreezeSettings",
           .summary = "What the workspace asks of its freezes",
           .permission = kFreezeRead,
           .outcomes = {{200, "FreezeSettings"}},
           .handler = get_settings},
          {.method = "PUT",
           .path = kSettings,
           .id = "setFreezeSettings",
           .summary = "Replace what the workspace asks of its freezes; what is absent is as by default",
           .permission = kWorkspaceWrite,
           .body = "FreezeSettingsRequest",
           .outcomes = {{200, "FreezeSettings"}},
           .handler = put_settings},
          {.method = "PATCH",
           .path = kOne,
           .id = "updateFreeze",
           .summary = "Extend or change a freeze (deployment_freeze.extend); uncovering anything also needs "
                      "deployment_freeze.thaw",
           .permission = kFreezeRead,  // the rest depends on the freeze
           .body = "UpdateFreezeRequest",
           .outcomes = {{200, "Freeze"}},
           .handler = update},
          {.method = "POST",
           .path = CTRLPLANE_W "/freezes/{freezeId}/thaw",
           .id = "thawFreeze",
           .summary = "End a freeze: one's own, or any with deployment_freeze.thaw",
           .permission = kFreezeRead,  // the rest depends on the freeze
           .body = "ThawFreezeRequest",
           .body_optional = true,
           .outcomes = {{200, "Freeze"}},
           .handler = thaw},
      }};
}

}  // namespace ctrlplane::api
