#include "describe.h"

#include "engine/explain.h"

namespace ctrlplane::scenario {
namespace {

constexpr size_t kVersionsShown = 10;

std::string quoted(const std::string& text) { return text.empty() ? "" : fmt::format(" \"{}\"", text); }

std::string describe_target(World& world, const State& state, TargetIx t) {
  const TargetSlot& slot = state.at(t);
  auto tag = [&](VersionIx v) { return v ? state.versions[v].row.tag : std::string("nothing"); };
  std::string out = world.names.of(state.key_of(t));
  if (!slot.exists) out += " (gone)";
  out += fmt::format(": desired {}, current {}", tag(slot.desired_version), tag(slot.current_version));
  std::vector<std::string> jobs;
  for (JobIx j = slot.first_job; j; j = state.jobs[j].next_on_target) {
    const Job& job = state.jobs[j].row;
    jobs.push_back(fmt::format(", {} {} via {}", world.names.tag(job.version), to_string(job.status),
                               world.names.of(job.agent)));
  }
  std::sort(jobs.begin(), jobs.end());
  for (const std::string& job : jobs) out += job;
  if (slot.attempts > 0) out += fmt::format(", {} failed", slot.attempts);
  return out;
}

std::map<JobId, std::string> names_of_jobs(World& world) {
  std::map<JobId, std::string> out;
  for (const Job& job : world.jobs())
    out[job.id] = fmt::format("{} {}", world.names.of(job.target), world.names.tag(job.version));
  return out;
}

// {"a":{...},"b":1} → `"a":{...}` and `"b":1`.
std::vector<std::string> members_of(const std::string& object) {
  std::vector<std::string> out;
  int depth = 0;
  bool in_string = false;
  std::string member;
  for (size_t i = 1; i + 1 < object.size(); ++i) {
    char c = object[i];
    if (c == '"' && object[i - 1] != '\\') in_string = !in_string;
    if (!in_string) depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (c == ',' && depth == 0 && !in_string)
      out.push_back(std::exchange(member, {}));
    else
      member += c;
  }
  if (!member.empty()) out.push_back(member);
  return out;
}

}  // namespace

std::string with_days(World& world, const std::string& text) {
  constexpr size_t kShortest = 20;  // 2024-01-01T00:00:00Z
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t z = text.compare(i, 2, "20") == 0 ? text.find('Z', i) : std::string::npos;
    size_t length = z == std::string::npos ? 0 : z - i + 1;
    auto time = length >= kShortest ? parse_rfc3339(std::string_view(text).substr(i, length)) : std::nullopt;
    out += time ? world.day_of(*time) : std::string(1, text[i]);
    i += time ? length : 1;
  }
  return out;
}

std::string lines_or_nothing(const std::vector<std::string>& lines) {
  if (lines.empty()) return "nothing\n";
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

std::string describe_targets(World& world, const State& state, const std::string& deployment) {
  std::vector<std::string> lines;
  state.resources.each([&](ResourceIx, const ResourceSlot& r) {
    for (TargetIx t : r.targets)
      if (deployment.empty() || world.names.of(state.key_of(t).deployment) == deployment)
        lines.push_back(describe_target(world, state, t));
  });
  std::sort(lines.begin(), lines.end());
  return lines_or_nothing(lines);
}

std::string describe_jobs(World& world, const std::string& deployment) {
  std::vector<std::string> lines;
  for (const Job& job : world.jobs()) {
    if (!deployment.empty() && world.names.of(job.target.deployment) != deployment) continue;
    std::string line =
        fmt::format("{} {} via {}: {}", world.names.of(job.target), world.names.tag(job.version),
                    world.names.of(job.agent), to_string(job.status));
    if (job.cause != JobCause::kPolicy) line += fmt::format(", {}", to_string(job.cause));
    if (!job.holder.empty()) line += fmt::format(", held by {}", job.holder);
    if (job.cancel_requested_at && !is_terminal(job.status)) line += ", asked to stop";
    lines.push_back(line + quoted(world.names.readable(job.message)));
  }
  return lines_or_nothing(lines);
}

std::string describe_versions(World& world, const std::string& deployment) {
  std::vector<Version> versions = world.rows<Version>();
  std::sort(versions.begin(), versions.end(), [](const Version& a, const Version& b) {
    return std::tie(a.created_at, a.id) > std::tie(b.created_at, b.id);
  });
  std::vector<std::string> lines;
  for (const Version& v : versions) {
    std::string of = world.names.of(v.deployment);
    if (!deployment.empty() && of != deployment) continue;
    lines.push_back(fmt::format("{} {} {}{}", of, v.tag, to_string(v.status), v.retired ? ", retired" : "") +
                    quoted(v.message));
  }
  return lines_or_nothing(lines);
}

std::string describe_outbox(World& world) {
  std::map<JobId, std::string> jobs = names_of_jobs(world);
  std::vector<OutboxItem> items = world.rows<OutboxItem>();
  auto order = [&](const OutboxItem& i) {
    return std::tuple(i.created_at, i.kind, i.job ? jobs[*i.job] : "");
  };
  std::sort(items.begin(), items.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  std::vector<std::string> lines;
  for (const OutboxItem& i : items)
    lines.push_back(fmt::format("{}{} to {}: {}, attempt {}", to_string(i.kind),
                                i.job ? " " + jobs[*i.job] : "", i.channel, to_string(i.status), i.attempt) +
                    quoted(i.last_error));
  return lines_or_nothing(lines);
}

std::string describe_deliveries(World& world) {
  std::map<JobId, std::string> jobs = names_of_jobs(world);
  std::vector<std::string> lines;
  for (const auto& [channel, receiver] : world.receivers())
    for (const ScriptedReceiver::Message& m : receiver->heard()) {
      std::string what = m.mode == SendMode::kAsk ? "asked about" : std::string(to_string(m.kind));
      lines.push_back(fmt::format("{}: {} {}", channel, what,
                                  m.job ? jobs[*m.job] : with_days(world, world.names.readable(m.payload))));
    }
  return lines_or_nothing(lines);
}

std::string describe_audit(World& world) {
  for (const Job& job : world.jobs()) world.names.learn<JobId>(world.names.of(job.target), job.id.uuid);
  std::vector<AuditEntry> entries = world.rows<AuditEntry>();
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return std::tie(a.at, a.id) < std::tie(b.at, b.id); });
  std::vector<std::string> lines;
  for (const AuditEntry& e : entries) {
    std::string line = fmt::format("{}: {} {}", e.actor, e.action, world.names.readable(e.subject));
    lines.push_back(e.details == "{}" ? line
                                      : line + " " + with_days(world, world.names.readable(e.details)));
  }
  return lines_or_nothing(lines);
}

std::string describe_policies(World& world) {
  std::vector<std::string> lines;
  for (const Policy& p : world.rows<Policy>()) {
    std::string line = fmt::format("{} where {}", p.name, p.selector);
    if (!p.enabled) line += " disabled";
    if (p.priority != 0) line += fmt::format(" priority {}", p.priority);
    line += ":";
    for (const PolicyRule& r : p.rules)
      line += fmt::format(" {} {} since {}", r.type, r.body.text(), world.day_of(r.created_at));
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines_or_nothing(lines);
}

std::string describe_scope(World& world, VersionIx version) {
  const State& state = world.state();
  if (!version) return "no version\n";
  const VersionScope* scope = state.versions[version].scope.get();
  if (!scope) return "all targets\n";
  std::vector<std::string> lines;
  for (uint32_t n : scope->targets | scope->undetermined) {
    std::string line = world.names.of(state.key_of({n}));
    if (!scope->targets.contains(n)) line += " left out";
    if (scope->undetermined.contains(n)) line += " undetermined";
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines_or_nothing(lines);
}

std::string describe_why(World& world, const TargetKey& key) {
  const State& state = world.state();
  TargetIx t = state.target(key);
  if (!t) return "no target\n";
  TargetExplained e = explain_target(state, world.now(), t, kVersionsShown);
  std::vector<std::string> lines{e.summary};
  for (const VersionExplained& v : e.versions) {
    std::string line = fmt::format("{}: {}", state.versions[v.version].row.tag, policy::to_string(v.verdict));
    if (!v.not_deployable.empty())
      line += ", " + v.not_deployable;
    else if (v.first_blocker)
      line += fmt::format(" by {}, {}", v.rules[*v.first_blocker].type,
                          v.rules[*v.first_blocker].evaluation.message);
    lines.push_back(line);
  }
  std::string out;
  for (const std::string& line : lines) out += with_days(world, world.names.readable(line)) + "\n";
  return out;
}

std::string describe_context(World& world, const Job& job) {
  std::vector<std::string> lines;
  for (const ContextPart& part : world.rows<ContextPart>()) {
    std::string body = world.names.readable(part.body);
    if (part.digest == job.resource_part) lines.push_back("\"resource\":" + body);
    if (part.digest == job.shared_part)
      for (std::string& member : members_of(body)) lines.push_back(std::move(member));
  }
  std::sort(lines.begin(), lines.end());
  return lines_or_nothing(lines);
}

}  // namespace ctrlplane::scenario
