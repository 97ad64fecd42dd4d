#include "api/events.h"

#include <fmt/core.h>

#include "model/json_writer.h"
#include "runtime/workspace_loop.h"

namespace ctrlplane::api {
namespace {

// What a change is about, in the API's words. Null for what is nobody's business outside.
struct Naming {
  JsonWriter& w;

  void operator()(const System& e) { named("system", e.id); }
  void operator()(const Environment& e) { named("environment", e.id); }
  void operator()(const Deployment& e) { named("deployment", e.id); }
  void operator()(const SystemDeployment& e) { named("system", e.system); }
  void operator()(const SystemEnvironment& e) { named("system", e.system); }
  void operator()(const Version& e) { named("version", e.id); }
  void operator()(const Provider& e) { named("resourceProvider", e.id); }
  void operator()(const Resource& e) { named("resource", e.id); }
  void operator()(const JobAgent& e) { named("jobAgent", e.id); }
  void operator()(const Release& e) { named("release", e.id); }
  void operator()(const Job& e) {
    named("job", e.id);
    w.member("status", to_string(e.status));
  }
  void operator()(const Freeze& e) {
    named("freeze", e.id);
    if (e.ended()) w.member("ended", true);
  }
  void operator()(const BracketGroup& e) {
    named("bracketGroup", e.id);
    w.member("status", to_string(e.status));
  }
  void operator()(const BracketMember& e) { named("bracketGroup", e.group); }
  void operator()(const Quarantine& e) { named("bracketGroup", e.group); }
  void operator()(const ConcurrencySlot& e) { named("concurrency", e.rule); }
  void operator()(const TargetState& e) { w.member("entity", "releaseTarget").member("id", e.key.str()); }
  template <class E>
  void operator()(const E&) {}

  template <class Id>
  void named(std::string_view entity, const Id& id) {
    w.member("entity", entity).member("id", id);
  }
};

std::string event_of(int64_t seq, Time now, const Changes& changes) {
  JsonWriter w;
  w.open().member("seq", seq).member("at", now).key("changes").open_array();
  for (const Change& c : changes) {
    JsonWriter one;
    std::visit(Naming{one}, c.entity);
    if (one.text().empty()) continue;
    w.raw(fmt::format(R"({{{},"op":"{}"}})", one.text(), c.op == Change::Op::kPut ? "put" : "delete"));
  }
  w.close_array().close();
  return fmt::format("id: {}\nevent: commit\ndata: {}\n\n", seq, w.text());
}

}  // namespace

Events::Events(Executor& executor, const Directory& directory) : executor_(executor), directory_(directory) {
  tick();
}

Events::~Events() { *alive_ = false; }

bool Events::can_subscribe(WorkspaceId workspace) const {
  auto it = channels_.find(workspace);
  return it != channels_.end() && it->second.readers.size() < kMaxReaders;
}

size_t Events::readers() const {
  size_t n = 0;
  for (const auto& [id, channel] : channels_) n += channel.readers.size();
  return n;
}

void Events::subscribe(WorkspaceId workspace, Principal who, std::optional<int64_t> last_seen,
                       net::EventStream stream) {
  Channel& channel = channels_.at(workspace);
  bool all_held =
      last_seen && *last_seen <= channel.seq &&
      (*last_seen == channel.seq || (!channel.held.empty() && channel.held.front().seq <= *last_seen + 1));
  std::string first;
  if (!last_seen || !all_held)
    first = fmt::format("id: {}\nevent: {}\ndata: {{\"seq\":{}}}\n\n", channel.seq,
                        last_seen ? "reset" : "ready", channel.seq);
  else
    for (const Held& h : channel.held)
      if (h.seq > *last_seen) first += h.text;
  if (first.empty()) first = ": nothing missed\n\n";
  if (stream.send(first)) channel.readers.push_back({std::move(who), std::move(stream)});
}

void Events::loaded(WorkspaceLoop& loop) {
  if (loop.workspace() == kInstanceWorkspace) return;
  Channel& channel = channels_[loop.workspace()];
  int64_t seq = loop.durable_seq();
  // The same state as before goes on; anything else may have a gap, so what is held is worthless and those
  // who read along must start over.
  if (channel.seq == seq) return;
  channel.seq = seq;
  channel.held.clear();
  channel.bytes = 0;
  std::string reset = fmt::format("id: {}\nevent: reset\ndata: {{\"seq\":{}}}\n\n", seq, seq);
  std::erase_if(channel.readers, [&](Reader& r) { return !r.stream.send(reset); });
}

void Events::committed(WorkspaceId workspace, int64_t seq, Time now, const Changes& changes) {
  auto it = channels_.find(workspace);
  if (it == channels_.end()) return;
  Channel& channel = it->second;
  channel.seq = seq;
  channel.held.push_back({seq, event_of(seq, now, changes)});
  channel.bytes += channel.held.back().text.size();
  while (channel.held.size() > kMaxEvents || channel.bytes > kMaxBytes) {
    channel.bytes -= channel.held.front().text.size();
    channel.held.pop_front();
  }
  if (channel.readers.empty() || channel.held.empty()) return;
  const std::string& text = channel.held.back().text;
  std::erase_if(channel.readers, [&](Reader& r) { return !r.stream.send(text); });
}

void Events::lost(WorkspaceLoop& loop) { channels_.erase(loop.workspace()); }

void Events::tick() {
  bool comment = ++ticks_ % kTicksPerComment == 0;
  Time now = executor_.clock().wall();
  for (auto& [workspace, channel] : channels_) {
    std::erase_if(channel.readers, [&](Reader& r) {
      if (!directory_.holds(r.who, now) || !directory_.allows(r.who, permission::kRead, workspace))
        return true;
      return comment && !r.stream.send(": still here\n\n");
    });
  }
  executor_.post_after(kTick, [this, alive = alive_] {
    if (*alive) tick();
  });
}

}  // namespace ctrlplane::api
