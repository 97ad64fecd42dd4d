#include "world.h"

#include <tuple>

#include "base/check.h"
#include "engine/notify.h"
#include "model/agent_type.h"

namespace ctrlplane::scenario {
namespace {

constexpr Duration kStep = milliseconds(1);
constexpr size_t kMaxEvents = 1'000'000;  // at one instant: more is a loop that never rests

}  // namespace

World::World(const std::string& store_kind)
    : executor_(std::make_unique<VirtualExecutor>(time_, kDayOne)),
      place_(store::test::make_store(store_kind)) {
  for (const AgentType& type : agent_types())
    if (type.delivery == Delivery::kPush) receiver(std::string(type.name));
  receiver("operators");
  receiver(outbox_channel(ChannelKind::kWebhook));
  open();
}

World::~World() = default;

void World::open() {
  store_ = std::make_unique<store::FaultyStore>(place_->store());
  store_->script_commits([this](const store::Commit&) {
    return std::exchange(next_fault_, std::nullopt).value_or(store::Fault::kNone);
  });
  port_ = std::make_unique<InlineStorePort>(*store_, *executor_);
  pump_ = std::make_unique<OutboxPump>(
      [this](WorkspaceId, Request request, ReplyFn done) {
        loop_->submit(std::move(request), std::move(done));
      },
      *executor_);
  for (auto& [channel, receiver] : receivers_) pump_->add_receiver(channel, *receiver);
  WorkspaceLoop::Host host{.executor = *executor_,
                           .store = *port_,
                           .replica = store::ReplicaId{fresh_uuid()},
                           .may_answer_reads = [] { return true; },
                           .new_token = [this] { return store::Token{fresh_uuid()}; },
                           .lost = [] { CHECK(false, "nobody else is here to own the workspace"); },
                           .listeners = {pump_.get()}};
  loop_ = std::make_unique<WorkspaceLoop>(std::move(host), kWorkspace);
  store::Token present;
  auto owners = store_->owners();
  CHECK(owners, owners ? "" : owners.error().message);
  for (const store::Owner& o : *owners)
    if (o.workspace == kWorkspace) present = o.token;
  loop_->start(present);
  settle();
}

void World::close() {
  loop_.reset();
  pump_.reset();
  port_.reset();
  store_.reset();
}

void World::restart() {
  close();
  place_->reopen();
  open();
}

void World::settle() {
  for (size_t i = 0; time_.step(time_.now()); ++i) CHECK(i < kMaxEvents, "the world does not come to rest");
}

void World::pass(Duration d) {
  settle();
  time_.run_until(time_.now() + d);
}

Reply World::send(Request request) {
  auto reply = std::make_shared<std::optional<Reply>>();
  loop_->submit(std::move(request), [reply](Reply r) { *reply = std::move(r); });
  settle();
  pass(kStep);
  if (!*reply) return fail(ErrorCode::kInternal, "no answer came");
  return **reply;
}

std::string World::day_of(Time t) {
  const int64_t s = (t - kDayOne).us / 1'000'000;
  return fmt::format("day {} {:02}:{:02}:{:02}", s / 86400 + 1, s / 3600 % 24, s / 60 % 60, s % 60);
}

void World::fail_next_commit(store::Fault fault) { next_fault_ = fault; }

store::CommitOutcome World::land_late_commit() {
  store::CommitOutcome outcome = store_->land(0);
  pass(kStep);
  return outcome;
}

const State& World::state() const {
  CHECK(loop_->state(), "the workspace is not loaded");
  return *loop_->state();
}

ScriptedReceiver& World::receiver(const std::string& channel) {
  auto& slot = receivers_[channel];
  if (!slot) slot = std::make_unique<ScriptedReceiver>(*executor_, channel);
  return *slot;
}

std::vector<Entity> World::read(const store::Table& table) {
  auto rows = store_->read(kWorkspace, {.table = &table, .limit = 100'000});
  CHECK(rows, rows ? "" : rows.error().message);
  return std::move(*rows);
}

std::vector<Job> World::jobs() {
  std::vector<Job> out = rows<Job>();
  auto order = [&](const Job& j) {
    return std::tuple(j.created_at, names.of(j.target), names.tag(j.version), names.of(j.agent));
  };
  std::sort(out.begin(), out.end(), [&](const Job& a, const Job& b) { return order(a) < order(b); });
  return out;
}

std::unique_ptr<State> World::state_from_store() {
  auto loaded = load_state(*store_, kWorkspace, std::nullopt);
  CHECK(loaded, loaded ? "" : loaded.error().message);
  return std::move(loaded->state);
}

}  // namespace ctrlplane::scenario
