#include "notify/message.h"

#include <algorithm>
#include <array>
#include <optional>

#include <boost/json.hpp>
#include <fmt/core.h>

namespace ctrlplane::notify {
namespace {

namespace bj = boost::json;

struct Kind {
  std::string_view type, headline, sentence;
};
constexpr std::array<Kind, 9> kKinds = {{
    {"freeze.activated", "Deployments frozen", "Deployments are frozen."},
    {"freeze.extended", "Freeze extended", "A freeze of deployments was extended."},
    {"freeze.thawed", "Freeze lifted", "A freeze of deployments was lifted."},
    {"freeze.expired", "Freeze expired", "A freeze of deployments has expired."},
    {"freeze.expiring_soon", "Freeze expires soon", "A freeze of deployments expires soon."},
    {"freeze.bypassed", "Freeze bypassed", "A version passes a freeze of deployments."},
    {"bracket.stuck", "Bracket stuck", "A bracket group is stuck"},
    {"bracket.failed", "Bracket failed", "A bracket group has failed"},
    {"test", "Test message", "This is a test message. Messages of this workspace reach this channel."},
}};

// Members of an object that may be absent.
class Members {
 public:
  explicit Members(const bj::object* object) : object_(object) {}
  std::string text(std::string_view name) const {
    const bj::value* v = find(name);
    return v && v->is_string() ? std::string(std::string_view(v->get_string())) : std::string();
  }
  std::optional<int64_t> integer(std::string_view name) const {
    const bj::value* v = find(name);
    return v && v->is_int64() ? std::optional(v->get_int64()) : std::nullopt;
  }
  std::optional<bool> flag(std::string_view name) const {
    const bj::value* v = find(name);
    return v && v->is_bool() ? std::optional(v->get_bool()) : std::nullopt;
  }
  Members object(std::string_view name) const {
    const bj::value* v = find(name);
    return Members(v ? v->if_object() : nullptr);
  }

 private:
  const bj::value* find(std::string_view name) const {
    return object_ ? object_->if_contains(name) : nullptr;
  }
  const bj::object* object_;
};

std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

// Actors are users and "system"; people know users by their address.
std::string person(std::string actor) {
  return actor.starts_with("user:") ? actor.substr(5) : std::move(actor);
}

std::string scope_words(const Members& freeze) {
  std::string scope = freeze.text("scope"), entity = freeze.text("scopeEntityId");
  return entity.empty() ? scope : scope + " " + entity;
}

bool is_web_url(std::string_view url) {
  return (url.starts_with("https://") || url.starts_with("http://")) &&
         std::ranges::none_of(url, [](unsigned char c) { return c <= 0x20 || c == 0x7f; });
}

std::string bracket_advice(const Members& all, bool is_stuck) {
  if (is_stuck)
    return "It keeps the resource and its slots until somebody retries it, leaves the member out or aborts "
           "it.";
  if (!all.flag("quarantined").value_or(true))
    return "Its versions are not tried again there before there is a newer one.";
  return "Nothing new starts on the resource until somebody has looked at it and cleared its quarantine.";
}

// What there is to know of a bracket group, and what to do about it.
void tell_bracket(Message& m, const Members& all) {
  const std::string resource = all.text("resource"), note = all.text("note");
  const std::string on = resource.empty() ? "" : " on " + resource, why = note.empty() ? "" : ": " + note;
  const std::string advice = bracket_advice(all, m.type == "bracket.stuck");
  m.headline = one_line(m.headline + on + why);
  m.sentence += on + ".";
  if (!resource.empty()) m.facts.push_back({"Resource", resource});
  if (!note.empty()) m.facts.push_back({"Why", note});
  m.facts.push_back({"What now", advice});
}

void add_facts(Message& m, const Members& all) {
  Members freeze = all.object("freeze"), more = all.object("metadata");
  auto add = [&](std::string_view name, std::string value) {
    if (!value.empty()) m.facts.push_back({std::string(name), std::move(value)});
  };
  auto lasting = [&](std::string_view name) {
    auto seconds = all.integer(name);
    return seconds ? duration_words(*seconds) : std::string();
  };
  const bool ends = m.type == "freeze.thawed" || m.type == "freeze.expired";
  add("Scope", scope_words(freeze));
  add("Selector", freeze.text("selector"));
  add("Reason", freeze.text("reason"));
  add("By", person(all.text("actor")));
  if (std::string note = all.text("note"); note != freeze.text("reason")) add("Note", note);
  if (m.type == "freeze.bypassed") {
    add("Version", more.text("tag"));
    add("Deployment", more.text("deploymentId"));
    add("Published by", person(more.text("createdBy")));
    add("Skipped by", person(more.text("skippedBy")));
  }
  if (!ends) add("Expires", freeze.text("expiresAt"));
  add("Time to live", lasting("ttlSeconds"));
  if (ends) add("Lasted", lasting("durationSeconds"));
}

}  // namespace

std::string duration_words(int64_t seconds) {
  constexpr std::array<std::pair<int64_t, std::string_view>, 4> kUnits = {
      {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}};
  std::string words;
  int said = 0;
  for (const auto& [length, unit] : kUnits) {
    int64_t n = seconds / length;
    seconds -= n * length;
    if (n <= 0 || said == 2) continue;
    words += fmt::format("{}{} {}", said++ ? " " : "", n, unit);
  }
  return words.empty() ? "0 s" : words;
}

Result<Message> read_message(std::string_view payload) {
  bj::error_code error;
  bj::value parsed = bj::parse(payload, error);
  Members all(error ? nullptr : parsed.if_object());
  Message m{.type = one_line(all.text("type"))};
  if (m.type.empty()) return fail(ErrorCode::kInvalid, "the message has no type");
  m.audience = all.text("audience") == "deployers" ? Audience::kDeployers : Audience::kAdmins;
  m.workspace = WorkspaceId::parse(all.text("workspaceId")).value_or(WorkspaceId{});
  auto kind = std::ranges::find(kKinds, std::string_view(m.type), &Kind::type);
  m.headline = kind == kKinds.end() ? m.type : kind->headline;
  m.sentence = kind == kKinds.end() ? m.type : kind->sentence;
  Members freeze = all.object("freeze");
  if (std::string reason = one_line(freeze.text("reason")); !reason.empty()) m.headline += ": " + reason;
  m.type.starts_with("bracket.") ? tell_bracket(m, all) : add_facts(m, all);
  if (std::string url = freeze.text("incidentUrl"); is_web_url(url)) m.incident_url = url;
  m.context = fmt::format("Workspace {}", all.text("workspaceId"));
  if (std::string id = freeze.text("id"); !id.empty()) m.context += fmt::format(" · freeze {}", id);
  if (std::string id = all.text("groupId"); !id.empty()) m.context += fmt::format(" · bracket group {}", id);
  if (std::string at = all.text("at"); !at.empty()) m.context += fmt::format(" · {}", at);
  m.context = one_line(std::move(m.context));
  return m;
}

std::string subject_of(const Message& m) { return "[ctrlplane] " + m.headline; }

std::string plain_text(const Message& m) {
  std::string text = m.sentence + "\n";
  if (!m.facts.empty() || !m.incident_url.empty()) text += "\n";
  for (const Fact& f : m.facts) text += fmt::format("{}: {}\n", f.name, f.value);
  if (!m.incident_url.empty()) text += fmt::format("Incident: {}\n", m.incident_url);
  return text + "\n" + m.context + "\n";
}

}  // namespace ctrlplane::notify
