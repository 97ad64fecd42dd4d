#include "sim/freezers.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/freeze_impact.h"
#include "sim/freezebook.h"

namespace ctrlplane::sim {
namespace {

constexpr size_t kMostOpen = 4;
constexpr Duration kEndsSoon = minutes(6);

// Some look at metadata that is not everywhere; the last fails.
const std::string kSelectors[] = {
    "environment.metadata['tier'] == 'gold'",
    "deployment.metadata['team'] in ['red', 'blue']",
    "!(deployment.metadata['team'] == 'red')",
    "deployment.name.startsWith('app-webhook')",
    "resource.metadata['ring'] == 'a'",
    "'ring' in resource.metadata && environment.name == 'prod'",
    "resource.metadata['env'] == 'prod' || resource.name.endsWith('2')",
    "version.metadata['channel'] == 'beta'",
    "version.metadata['channel'] == 'stable' && environment.name == 'prod'",
    "!version.tag.endsWith('3') || environment.metadata['tier'] == 'gold'",
    std::string(kFailingSelector),
};

// As the API answers: the jobs that agents have of those the freeze covers, by the state it has left.
std::string in_flight_of(const State& state, const Answer& answer) {
  const FreezeIx f = state.freezes.find(FreezeId{answer.id});
  auto outline = FreezeOutline::of(state.freezes[f].row);
  std::string text;
  for (JobIx j : jobs_in_flight_under(state, outline.value())) text += state.jobs[j].row.id.str() + "\n";
  return text;
}

std::set<JobId> parse_ids(const std::string& text) {
  std::set<JobId> ids;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    ids.insert(JobId{Uuid::parse(text.substr(at, end - at)).value()});
  return ids;
}

}  // namespace

Freezers::Freezers(World& world, WorkspaceId w, Client& client)
    : world_(world), w_(w), client_(client), have_freezes_(world.rng.chance(0.8)) {}

void Freezers::start() {
  if (!have_freezes_) return;
  play_with_a_system();
  act();
}

void Freezers::act() {
  if (world_.calm) {
    calm_since_ = world_.time.now();
    return end_all();
  }
  switch (world_.rng.below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      if (open_freezes().size() < kMostOpen) freeze();
      break;
    case 5:
    case 6: extend_or_shorten(); break;
    case 7: change(); break;
    case 8:
    case 9: thaw_one(); break;
    case 10: skip_a_freeze(); break;
    case 11:
    case 12: force(); break;
    case 13: redeploy(); break;
    case 14: play_with_a_system(); break;
    default: change_settings();
  }
  world_.time.after(world_.rng.between(seconds(4), seconds(32)), [this] { act(); });
}

// ---- Freezes -------------------------------------------------------------------------------------------

void Freezers::choose_scope(CreateFreeze& c) {
  switch (world_.rng.below(10)) {
    case 0:
    case 1:
      c.scope = FreezeScope::kWorkspace;
      if (world_.rng.chance(0.5)) c.selector = one_of(kSelectors);
      return;
    case 2:
    case 3:
      c.scope = FreezeScope::kSystem;
      c.entity = client_.system().uuid;
      if (!systems_.empty() && world_.rng.chance(0.7)) c.entity = one_of(systems_).uuid;
      break;
    case 4:
    case 5:
    case 6:
      c.scope = FreezeScope::kEnvironment;
      c.entity = one_of(client_.environments()).id->uuid;
      break;
    default: c.scope = FreezeScope::kDeployment; c.entity = one_of(client_.deployments()).uuid;
  }
  if (world_.rng.chance(0.4)) c.selector = one_of(kSelectors);
}

void Freezers::freeze() {
  CreateFreeze c{.reason = fmt::format("incident {}", ++counter_)};
  choose_scope(c);
  if (world_.rng.chance(0.25)) c.effective_at = world_.wall() + world_.rng.between(seconds(-20), minutes(3));
  if (world_.rng.chance(0.65)) c.expires_in = world_.rng.between(seconds(10), minutes(5));
  if (world_.rng.chance(0.3)) c.in_flight = InFlight::kCancel;
  if (world_.rng.chance(world_.has_brackets ? 0.4 : 0.1)) c.in_flight = InFlight::kFinishBrackets;
  const Duration patience = world_.rng.between(seconds(40), minutes(6));
  auto render = [](const State& state, Time, const Answer& answer) { return in_flight_of(state, answer); };
  client_.ask(c, somebody(), 10, render, [this, patience](Reply r) {
    if (!r) return;
    const FreezeId id{r->id};
    world_.checker.freeze_acknowledged(w_, id, parse_ids(r->text));
    // Those that do not expire, and some of those that do.
    world_.time.after(patience, [this, id] {
      for (const Freeze& f : open_freezes())
        if (!world_.calm && f.id == id && (!f.expires_at || world_.rng.chance(0.3))) thaw(f);
    });
  });
}

void Freezers::extend_or_shorten() {
  std::vector<Freeze> open = open_freezes();
  if (open.empty()) return;
  UpdateFreeze c{.id = one_of(open).id, .rights = {.extend = true, .thaw = true}};
  if (world_.rng.chance(0.1))
    c.expires_at = std::optional<Time>{};
  else if (world_.rng.chance(0.3))
    c.expires_at = world_.wall() + world_.rng.between(seconds(5), minutes(4));
  else
    c.expires_in = world_.rng.between(seconds(10), minutes(4));
  if (world_.rng.chance(0.5)) c.reason = "it takes as long as it takes";
  client_.ask(c, somebody(), 10);
}

void Freezers::change() {
  std::vector<Freeze> open = open_freezes();
  if (open.empty()) return;
  const Freeze& f = one_of(open);
  UpdateFreeze c{.id = f.id, .rights = {.extend = true, .thaw = true, .admin = true}};
  c.reason = fmt::format("incident {}", ++counter_);
  if (f.effective_at > world_.wall())
    c.effective_at = world_.wall() + world_.rng.between(seconds(1), minutes(2));
  else if (world_.rng.chance(0.3))
    c.selector = std::optional<std::string>{};
  else
    c.selector = one_of(kSelectors);
  client_.ask(c, somebody(), 10);
}

void Freezers::thaw_one() {
  if (std::vector<Freeze> open = open_freezes(); !open.empty()) thaw(one_of(open));
}

void Freezers::thaw(const Freeze& f) {
  ThawFreeze c{.id = f.id, .reason = "it is over", .rights = {.extend = true, .thaw = true, .admin = true}};
  c.cascade = world_.rng.chance(0.2);
  const int64_t paces[] = {30, 120, 600};
  if (world_.rng.chance(0.2)) c.resume_per_minute = one_of(paces);
  client_.ask(c, somebody(), world_.calm ? 50 : 10);
}

void Freezers::change_settings() {
  FreezeSettings s;
  s.thaw_needs_reason = world_.rng.chance(0.3);
  s.second_person_thaws = world_.rng.chance(0.3);
  s.warn_before = world_.rng.between(seconds(5), minutes(30));
  if (world_.rng.chance(0.2)) s.max_ttl = minutes(4);
  client_.ask(SetFreezeSettings{s}, somebody(), 5);
}

// A system of their own beside the first one: it decides nothing but whom its freezes cover. Sometimes it
// goes, and its freezes then cover nothing.
void Freezers::play_with_a_system() {
  if (systems_.empty() || (systems_.size() < 5 && world_.rng.chance(0.4))) {
    UpsertSystem c{.name = fmt::format("incident-{}-{}", client_.name(), ++counter_)};
    return client_.ask(c, somebody(), 20, [this](Reply r) {
      if (!r) return;
      systems_.push_back({r->id});
      client_.ask(LinkDeployment{systems_.back(), one_of(client_.deployments())}, somebody(), 20);
      client_.ask(LinkEnvironment{systems_.back(), *one_of(client_.environments()).id}, somebody(), 20);
    });
  }
  const SystemId s = one_of(systems_);
  if (world_.rng.chance(0.25)) return client_.ask(DeleteSystem{s}, somebody(), 10);
  const bool linked = world_.rng.chance(0.6);
  if (world_.rng.chance(0.5))
    client_.ask(LinkDeployment{s, one_of(client_.deployments()), linked}, somebody(), 10);
  else
    client_.ask(LinkEnvironment{s, *one_of(client_.environments()).id, linked}, somebody(), 10);
}

// ---- Passing -------------------------------------------------------------------------------------------

void Freezers::maybe_bypass(CreateVersion& version) {
  if (!have_freezes_) return;
  std::vector<Freeze> open = open_freezes();
  if (!world_.rng.chance(open.empty() ? 0.04 : 0.2)) return;
  version.bypass_freeze = true;
  if (!open.empty() && world_.rng.chance(0.4)) version.bypass_freeze_ids = {one_of(open).id};
}

void Freezers::skip_a_freeze() {
  std::vector<Freeze> open = open_freezes();
  auto version = a_late_version(one_of(client_.deployments()));
  if (open.empty() || !version) return;
  CreateSkip c{.rule = RuleId{one_of(open).id.uuid}, .version = *version};
  if (world_.rng.chance(0.4)) c.environment = one_of(client_.environments()).id;
  if (auto target = a_target(); target && world_.rng.chance(0.2)) c.resource = target->resource;
  if (world_.rng.chance(0.5)) c.expires_at = world_.wall() + world_.rng.between(seconds(10), minutes(4));
  const bool withdrawn = world_.rng.chance(0.2);
  client_.ask(c, somebody(), 10, [this, withdrawn](Reply r) {
    if (r && withdrawn) client_.ask(DeleteSkip{{r->id}}, somebody(), 10);
  });
}

void Freezers::force() {
  auto target = a_target();
  auto version = target ? a_late_version(target->deployment) : std::nullopt;
  if (!version) return;
  client_.ask(ForceDeploy{*target, *version, "it burns", world_.rng.chance(0.5)}, somebody(), 10);
}

void Freezers::redeploy() {
  if (auto target = a_target()) client_.ask(RedeployTarget{*target}, somebody(), 10);
}

// ---- The end -------------------------------------------------------------------------------------------

// What expires soon is left to expire, some of it after another extension.
void Freezers::end_all() {
  const Duration calm_for = world_.time.now() - calm_since_;
  if (calm_for > minutes(12)) return;
  const bool first = calm_for < seconds(30);
  for (const Freeze& f : open_freezes()) {
    if (!f.expires_at || *f.expires_at > world_.wall() + kEndsSoon)
      thaw(f);
    else if (first && *f.expires_at > world_.wall() + seconds(10) && world_.rng.chance(0.4))
      client_.ask(UpdateFreeze{.id = f.id,
                               .expires_in = world_.rng.between(minutes(1), minutes(4)),
                               .rights = {.extend = true, .thaw = true}},
                  somebody(), 10);
  }
  world_.time.after(seconds(40), [this] { end_all(); });
}

// ---- Choices -------------------------------------------------------------------------------------------

std::vector<Freeze> Freezers::open_freezes() const {
  std::vector<Freeze> open;
  for (const auto& [id, f] : world_.checker.ledger(w_).freezes)
    if (!f.thawed_at) open.push_back(f);
  return open;
}

std::optional<VersionId> Freezers::a_late_version(DeploymentId d) {
  std::vector<const Version*> all;
  for (const auto& [id, v] : world_.checker.ledger(w_).versions)
    if (v.deployment == d && !v.retired) all.push_back(&v);
  if (all.empty()) return std::nullopt;
  std::sort(all.begin(), all.end(), [](const Version* a, const Version* b) { return is_newer(*a, *b); });
  return all[world_.rng.below(std::min<size_t>(all.size(), 4))]->id;
}

std::optional<TargetKey> Freezers::a_target() {
  const auto& targets = world_.checker.ledger(w_).targets;
  if (targets.empty()) return std::nullopt;
  return std::next(targets.begin(), static_cast<long>(world_.rng.below(targets.size())))->first;
}

std::string Freezers::somebody() {
  const std::string people[] = {"ann", "dora", "emil"};
  return one_of(people);
}

}  // namespace ctrlplane::sim
