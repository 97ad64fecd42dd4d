// What every store promises, run against each of them.
#include <atomic>
#include <thread>

#include "store/sim/faulty_store.h"
#include "stores_under_test.h"

namespace ctrlplane::store::test {
namespace {

class StoreConformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { under_test_ = make_store(GetParam()); }
  Store& store() { return under_test_->store(); }

  std::unique_ptr<StoreUnderTest> under_test_;
  Random random_{4711};
};

INSTANTIATE_TEST_SUITE_P(Stores, StoreConformance, testing::Values("sqlite", "postgres", "sim"),
                         [](const auto& info) { return info.param; });

// Of a random entity: what it says of a version is of none that there is.
bool is_hot(const Entity& e) {
  const Table& t = table_of(e);
  if (t.hot.kind != HotFilter::Kind::kWhere) return t.hot.kind == HotFilter::Kind::kAll;
  RowWriter w;
  const CellView cell = w.write(e)[t.column(t.hot.column)];
  return std::find(t.hot.values.begin(), t.hot.values.end(), cell) != t.hot.values.end();
}

Changes puts(const std::vector<Entity>& entities) {
  Changes out;
  for (const Entity& e : entities) out.push_back(Change::put(e));
  return out;
}

Resource resource(Random& random, std::string name) {
  return {.id = random.id<ResourceId>(), .identifier = name, .name = name};
}

// ---- Rows ------------------------------------------------------------------------------------------

TEST_P(StoreConformance, every_entity_comes_back_as_it_was_also_after_reopening) {
  Held held = acquire_new(store(), random_);
  std::vector<Entity> written;
  for (size_t t = 0; t < tables().size(); ++t)
    for (int i = 0; i < 30; ++i) written.push_back(random_entity(random_, t));
  commit_now(store(), held, puts(written));
  for (int round = 0; round < 2; ++round) {
    std::vector<Entity> hot, all;
    std::copy_if(written.begin(), written.end(), std::back_inserter(hot), is_hot);
    EXPECT_EQ(texts_of(load_rows(store(), held)), texts_of(hot));
    for (const Table& table : tables())
      for (Entity& e : read_all(store(), held.id, table)) all.push_back(std::move(e));
    EXPECT_EQ(all.size(), written.size());
    EXPECT_EQ(texts_of(all), texts_of(written));
    under_test_->reopen();
  }
}

TEST_P(StoreConformance, what_was_said_of_a_version_is_loaded_as_long_as_the_version_is) {
  Held held = acquire_new(store(), random_);
  const Version hot{.id = random_.id<VersionId>()};
  const Version retired{.id = random_.id<VersionId>(), .retired = true};
  std::vector<Entity> said;
  for (VersionId v : {hot.id, retired.id, random_.id<VersionId>()}) {
    said.push_back(Approval{.version = v, .environment = random_.id<EnvironmentId>(), .actor = "a"});
    said.push_back(VersionDependency{.version = v, .on = random_.id<DeploymentId>(), .selector = "true"});
  }
  commit_now(store(), held, puts(said));
  commit_now(store(), held, puts({hot, retired}));
  EXPECT_EQ(load_rows(store(), held), (std::vector<Entity>{hot, said[0], said[1]}));
  EXPECT_EQ(read_all(store(), held.id, table_for<Approval>()).size(), 3u) << "the others stay on record";
  // Another workspace's version does not count.
  Held other = acquire_new(store(), random_);
  commit_now(store(), other, puts({said[0]}));
  EXPECT_TRUE(load_rows(store(), other).empty());
}

TEST_P(StoreConformance, a_put_replaces_the_whole_row_and_an_erase_removes_it) {
  Held held = acquire_new(store(), random_);
  for (size_t t = 0; t < tables().size(); ++t) {
    if (tables()[t].write_once) continue;
    Entity first = random_entity(random_, t), second = random_entity(random_, t);
    const auto of_table = [&] { return read_all(store(), held.id, tables()[t]); };
    commit_now(store(), held, {Change::put(first), Change::put(second), Change::put(first)});
    EXPECT_EQ(texts_of(of_table()), texts_of({first, second})) << tables()[t].name;
    commit_now(store(), held, {Change::erase(first), Change::erase(random_entity(random_, t))});
    EXPECT_EQ(texts_of(of_table()), texts_of({second})) << tables()[t].name;
  }
  Resource r = resource(random_, "before");
  r.provider = random_.id<ProviderId>();
  r.metadata = {{"a", "b"}};
  commit_now(store(), held, {Change::put(r)});
  r = {.id = r.id, .identifier = "after"};
  commit_now(store(), held, {Change::put(r)});
  const std::vector<Entity> now = read_all(store(), held.id, table_for<Resource>());
  EXPECT_TRUE(std::find(now.begin(), now.end(), Entity(r)) != now.end());
}

TEST_P(StoreConformance, a_write_once_row_is_never_changed) {
  Held held = acquire_new(store(), random_);
  const Digest d = digest_of("body");
  commit_now(store(), held, {Change::put(ContextPart{d, "body"}), Change::put(ContextPart{d, "other"})});
  commit_now(store(), held, {Change::put(ContextPart{d, "third"})});
  EXPECT_EQ(read_all(store(), held.id, table_for<ContextPart>()),
            std::vector<Entity>{ContextPart(d, "body")});
}

TEST_P(StoreConformance, a_write_once_row_grows_younger_when_it_is_put_much_later) {
  Held held = acquire_new(store(), random_);
  const Digest d = digest_of("body");
  const Time first{1'700'000'000'000'000}, soon = first + kPartFresh, later = soon + microseconds(1);
  const auto stored_after = [&](std::optional<Time> put) {
    commit_now(store(), held, {Change::put(ContextPart{d, "body", put})});
    return std::get<ContextPart>(read_all(store(), held.id, table_for<ContextPart>()).at(0)).stored_at;
  };
  EXPECT_EQ(stored_after({}), std::nullopt) << "as the first release left it";
  EXPECT_EQ(stored_after(first), first);
  EXPECT_EQ(stored_after(soon), first) << "not worth a write";
  EXPECT_EQ(stored_after(later), later);
  EXPECT_EQ(stored_after(first), later);
  EXPECT_EQ(stored_after({}), later);
}

TEST_P(StoreConformance, rows_belong_to_their_workspace) {
  Held a = acquire_new(store(), random_), b = acquire_new(store(), random_);
  Resource r = resource(random_, "of a");
  commit_now(store(), a, {Change::put(r)});
  Resource same_id = r;
  same_id.name = "of b";
  commit_now(store(), b, {Change::put(same_id)});
  commit_now(store(), b, {Change::erase(r)});
  EXPECT_EQ(load_rows(store(), a), std::vector<Entity>{r});
  EXPECT_TRUE(load_rows(store(), b).empty());
}

TEST_P(StoreConformance, parents_are_loaded_before_children) {
  Held held = acquire_new(store(), random_);
  Changes changes;
  for (size_t t = tables().size(); t-- > 0;) changes.push_back(Change::put(random_entity(random_, t)));
  commit_now(store(), held, changes);
  size_t last = 0;
  for (const Entity& e : load_rows(store(), held)) {
    EXPECT_GE(e.index(), last);
    last = e.index();
  }
}

TEST_P(StoreConformance, a_row_leaves_memory_when_it_cools_down) {
  Held held = acquire_new(store(), random_);
  Job job{.id = random_.id<JobId>()};
  Version version{.id = random_.id<VersionId>()};
  OutboxItem item{.id = random_.id<OutboxId>(), .status = OutboxStatus::kSending};
  commit_now(store(), held, {Change::put(job), Change::put(version), Change::put(item)});
  EXPECT_EQ(load_rows(store(), held).size(), 3u);
  job.live = false;
  version.retired = true;
  item.status = OutboxStatus::kDelivered;
  commit_now(store(), held, {Change::put(job), Change::put(version), Change::put(item)});
  EXPECT_TRUE(load_rows(store(), held).empty());
  EXPECT_EQ(read_all(store(), held.id, table_for<Job>()), std::vector<Entity>{job});
}

// ---- Fence and acquire -----------------------------------------------------------------------------

TEST_P(StoreConformance, a_commit_that_does_not_fit_leaves_no_row) {
  Held held = acquire_new(store(), random_);
  commit_now(store(), held, {});
  const Changes rows = puts({resource(random_, "x"), resource(random_, "y")});
  Commit stale_token = held.next(rows), stale_seq = held.next(rows), gap = held.next(rows),
         nobody = held.next(rows);
  stale_token.token = random_.id<Token>();
  stale_seq.seq = held.seq;
  gap.seq = held.seq + 2;
  nobody.workspace = random_.id<WorkspaceId>();
  for (const Commit& c : {stale_token, stale_seq, gap, nobody}) {
    EXPECT_EQ(commit_one(store(), c), CommitOutcome::kFenced);
    EXPECT_TRUE(snapshot_rows(store(), held.id).empty());
  }
  EXPECT_EQ(commit_one(store(), held.next(rows)), CommitOutcome::kDurable);
  EXPECT_EQ(snapshot_rows(store(), held.id).size(), 2u);
  EXPECT_EQ(commit_one(store(), held.next(rows)), CommitOutcome::kFenced) << "the same commit twice";
}

TEST_P(StoreConformance, acquisitions_count_and_keep_what_was_committed) {
  const WorkspaceId w = random_.id<WorkspaceId>();
  const ReplicaId r1 = random_.id<ReplicaId>(), r2 = random_.id<ReplicaId>();
  const Token a = random_.id<Token>(), b = random_.id<Token>();
  EXPECT_EQ(store().acquire(w, r1, {}, a), (Owner{w, r1, a, 1, 0, {}, {}}));
  Commit c{.workspace = w, .token = a, .seq = 1, .now = Time{50}, .next_due_at = Time{60}, .changes = {}};
  EXPECT_EQ(commit_one(store(), c), CommitOutcome::kDurable);
  const Owner taken{w, r2, b, 2, 1, Time{50}, Time{60}};
  EXPECT_EQ(store().acquire(w, r2, a, b), taken);
  EXPECT_EQ(store().acquire(w, r2, a, b), taken) << "repeated";
  EXPECT_EQ(store().owners(), std::vector{taken});
  c = {.workspace = w, .token = b, .seq = 2, .now = Time{70}, .changes = {}};
  EXPECT_EQ(commit_one(store(), c), CommitOutcome::kDurable);
  EXPECT_EQ(store().acquire(w, r2, a, b), (Owner{w, r2, b, 2, 2, Time{70}, {}})) << "repeated after a commit";
}

TEST_P(StoreConformance, only_one_of_two_challengers_wins) {
  const WorkspaceId w = random_.id<WorkspaceId>();
  const ReplicaId r = random_.id<ReplicaId>();
  const Token a = random_.id<Token>(), b = random_.id<Token>(), c = random_.id<Token>();
  EXPECT_EQ(store().acquire(w, r, b, a).error().code, ErrorCode::kConflict)
      << "expected an owner, there is none";
  ASSERT_TRUE(store().acquire(w, r, {}, a));
  EXPECT_EQ(store().acquire(w, r, {}, b).error().code, ErrorCode::kConflict) << "first start lost";
  ASSERT_TRUE(store().acquire(w, r, a, b));
  EXPECT_EQ(store().acquire(w, r, a, c).error().code, ErrorCode::kConflict);
  EXPECT_EQ(store().load(w, a, [](Entity&&) {}).error().code, ErrorCode::kConflict);
  EXPECT_EQ(store().load(w, b, [](Entity&&) {})->epoch, 2);
  EXPECT_EQ(store().snapshot(random_.id<WorkspaceId>(), [](Entity&&) {}).error().code, ErrorCode::kNotFound);
}

TEST_P(StoreConformance, a_fenced_workspace_does_not_harm_the_others_of_the_call) {
  std::vector<Held> held;
  for (int i = 0; i < 5; ++i) held.push_back(acquire_new(store(), random_));
  std::vector<Commit> commits;
  for (const Held& h : held)
    commits.push_back(h.next(puts({resource(random_, "r"), resource(random_, "s")})));
  commits[0].seq = 7;
  commits[3].token = {};
  using enum CommitOutcome;
  EXPECT_EQ(store().commit(commits), (std::vector{kFenced, kDurable, kDurable, kFenced, kDurable}));
  for (size_t i = 0; i < held.size(); ++i)
    EXPECT_EQ(snapshot_rows(store(), held[i].id).size(), i == 0 || i == 3 ? 0u : 2u) << i;
  EXPECT_TRUE(store().commit({}).empty());
}

// A deposed owner keeps committing while somebody else acquires: what the new owner loads is the end.
TEST_P(StoreConformance, what_a_new_owner_loads_is_final) {
  for (int round = 0; round < 5; ++round) {
    Held held = acquire_new(store(), random_);
    std::atomic<int64_t> durable = 0;
    std::thread old_owner([&, held]() mutable {
      Random random(99);
      while (commit_one(store(), held.next(puts({resource(random, "r"), resource(random, "s")}))) ==
             CommitOutcome::kDurable)
        durable = ++held.seq;
    });
    while (durable < 3) std::this_thread::yield();
    Held next{.id = held.id, .token = random_.id<Token>()};
    auto owner = store().acquire(held.id, random_.id<ReplicaId>(), held.token, next.token);
    const size_t loaded = load_rows(store(), next).size();
    old_owner.join();
    ASSERT_TRUE(owner);
    EXPECT_EQ(owner->seq, durable);
    EXPECT_EQ(loaded, static_cast<size_t>(2 * durable));
    EXPECT_EQ(snapshot_rows(store(), held.id).size(), loaded);
  }
}

// Lost, unanswered and late commits: after acquiring, seq tells, and nothing comes later.
TEST_P(StoreConformance, an_acquisition_settles_what_was_in_doubt) {
  FaultyStore faulty(store());
  for (Fault fault : {Fault::kLost, Fault::kUnanswered, Fault::kLate}) {
    Held held = acquire_new(faulty, random_);
    faulty.script_commits([&](const Commit&) { return fault; });
    const Commit doubtful = held.next(puts({resource(random_, "r")}));
    EXPECT_EQ(commit_one(faulty, doubtful), CommitOutcome::kInDoubt);
    faulty.script_commits(nullptr);
    const Token token = random_.id<Token>();
    auto owner = faulty.acquire(held.id, random_.id<ReplicaId>(), held.token, token);
    ASSERT_TRUE(owner);
    EXPECT_EQ(owner->seq, fault == Fault::kUnanswered ? 1 : 0);
    if (fault == Fault::kLate) {
      EXPECT_EQ(faulty.land(0), CommitOutcome::kFenced);
    }
    EXPECT_EQ(snapshot_rows(faulty, held.id).size(), static_cast<size_t>(owner->seq));
  }
  EXPECT_EQ(faulty.held(), 0u);
  Held held = acquire_new(faulty, random_);
  faulty.script_commits([](const Commit&) { return Fault::kLate; });
  EXPECT_EQ(commit_one(faulty, held.next({})), CommitOutcome::kInDoubt);
  EXPECT_EQ(faulty.land(0), CommitOutcome::kDurable) << "it arrived before anybody acquired";
  faulty.set_down(true);
  EXPECT_EQ(faulty.owners().error().code, ErrorCode::kUnavailable);
}

// ---- Snapshots -------------------------------------------------------------------------------------

// Not for the simulated store: its calls are atomic, nothing can commit during one.
class SnapshotConformance : public StoreConformance {};
INSTANTIATE_TEST_SUITE_P(Stores, SnapshotConformance, testing::Values("sqlite", "postgres"),
                         [](const auto& info) { return info.param; });

TEST_P(SnapshotConformance, a_load_is_one_snapshot) {
  Held held = acquire_new(store(), random_);
  commit_now(store(), held, {Change::put(System{.id = random_.id<SystemId>()})});
  Held writer = held;
  std::vector<Entity> seen;
  auto owner = store().load(held.id, held.token, [&](Entity&& e) {
    if (seen.empty()) commit_now(store(), writer, {Change::put(resource(random_, "too late for this load"))});
    seen.push_back(std::move(e));
  });
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->seq, 1);
  EXPECT_EQ(seen.size(), 1u);
  EXPECT_EQ(load_rows(store(), held).size(), 2u);
}

// ---- Cold rows -------------------------------------------------------------------------------------

TEST_P(StoreConformance, cold_queries_filter_sort_and_page) {
  Held held = acquire_new(store(), random_);
  const DeploymentId d1 = random_.id<DeploymentId>(), d2 = random_.id<DeploymentId>();
  std::vector<Job> jobs;
  for (int i = 0; i < 40; ++i) {
    Job job{.id = random_.id<JobId>(), .target = {.deployment = i % 2 ? d1 : d2}, .live = i % 5 == 0};
    job.created_at = Time{i / 4};  // ties
    if (i % 3) job.ended_at = Time{100 - i};
    job.message = i % 7 ? "Über" : "uber";
    jobs.push_back(job);
  }
  commit_now(store(), held, puts({jobs.begin(), jobs.end()}));
  const auto ids = [&](const ColdQuery& q) {
    auto rows = store().read(held.id, q);
    EXPECT_TRUE(rows) << rows.error().message;
    std::vector<Job> out;
    for (const Entity& e : *rows) out.push_back(std::get<Job>(e));
    return out;
  };
  const auto expected = [&](auto keep, auto less, bool descending) {
    std::vector<Job> out;
    std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(out), keep);
    std::sort(out.begin(), out.end(), less);
    if (descending) std::reverse(out.begin(), out.end());
    return out;
  };
  const auto all = [](const Job&) { return true; };
  const auto by_created = [](const Job& a, const Job& b) {
    return std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
  };
  const auto by_ended = [](const Job& a, const Job& b) {
    return std::tie(a.ended_at, a.id) < std::tie(b.ended_at, b.id);
  };
  const auto by_message = [](const Job& a, const Job& b) {
    return std::tie(a.message, a.id) < std::tie(b.message, b.id);
  };
  const auto by_id = [](const Job& a, const Job& b) { return a.id < b.id; };
  const Table* table = &table_for<Job>();

  EXPECT_EQ(ids({.table = table}), expected(all, by_id, false));
  EXPECT_EQ(ids({.table = table, .order_by = "created_at"}), expected(all, by_created, false));
  EXPECT_EQ(ids({.table = table, .order_by = "message"}), expected(all, by_message, false));
  for (bool down : {false, true})
    EXPECT_EQ(ids({.table = table, .order_by = "ended_at", .descending = down}),
              expected(all, by_ended, down));
  const auto cold_of_d1 =
      expected([&](const Job& j) { return j.target.deployment == d1 && !j.live; }, by_created, true);
  ColdQuery q{.table = table,
              .equals = {{"deployment_id", d1.uuid}, {"live", int64_t{0}}},
              .order_by = "created_at",
              .descending = true};
  EXPECT_EQ(ids(q), cold_of_d1);
  q.limit = 5;
  q.offset = 3;
  EXPECT_EQ(ids(q), std::vector<Job>(cold_of_d1.begin() + 3, cold_of_d1.begin() + 8));
  EXPECT_EQ(ids({.table = table, .equals = {{"ended_at", Null{}}, {"message", std::string_view("uber")}}}),
            expected([](const Job& j) { return !j.ended_at && j.message == "uber"; }, by_id, false));
  EXPECT_TRUE(ids({.table = table, .offset = 40}).empty());
}

TEST_P(StoreConformance, cold_queries_take_lists_and_are_counted) {
  Held held = acquire_new(store(), random_), other = acquire_new(store(), random_);
  const AgentId a = random_.id<AgentId>(), b = random_.id<AgentId>(), c = random_.id<AgentId>();
  std::vector<Job> jobs;
  for (int i = 0; i < 60; ++i) {
    Job job{.id = random_.id<JobId>(), .agent = i % 3 == 0 ? a : i % 3 == 1 ? b : c};
    job.status = i % 2 ? JobStatus::kFailure : i % 4 ? JobStatus::kQueued : JobStatus::kSuccessful;
    if (i % 5) job.ended_at = Time{i % 5};
    jobs.push_back(job);
  }
  commit_now(store(), held, puts({jobs.begin(), jobs.end()}));
  commit_now(store(), other, puts({jobs.begin(), jobs.end()}));
  const auto check = [&](ColdQuery q, auto keep) {
    q.table = &table_for<Job>();
    q.limit = 7;
    q.offset = 2;
    const auto expected = std::count_if(jobs.begin(), jobs.end(), keep);
    EXPECT_EQ(store().count(held.id, q), expected);
    q.limit = 1000;
    q.offset = 0;
    auto rows = store().read(held.id, q);
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(std::ssize(*rows), expected);
    for (const Entity& e : *rows) EXPECT_TRUE(keep(std::get<Job>(e)));
  };
  const std::string_view failure = "failure", queued = "queued", nothing = "no such word";
  check({}, [](const Job&) { return true; });
  check({.equals = {{"agent_id", a.uuid}}}, [&](const Job& j) { return j.agent == a; });
  check({.among = {{"status", {failure}}}}, [](const Job& j) { return j.status == JobStatus::kFailure; });
  check({.among = {{"agent_id", {a.uuid, b.uuid}}, {"status", {failure, queued, nothing}}}},
        [&](const Job& j) {
          return j.agent != c && (j.status == JobStatus::kFailure || j.status == JobStatus::kQueued);
        });
  check({.equals = {{"agent_id", b.uuid}}, .among = {{"ended_at", {Null{}, int64_t{3}}}}},
        [&](const Job& j) { return j.agent == b && (!j.ended_at || j.ended_at->us == 3); });
  check({.among = {{"ended_at", {Null{}}}}}, [](const Job& j) { return !j.ended_at; });
  check({.among = {{"status", {}}}}, [](const Job&) { return false; });
  check({.equals = {{"agent_id", a.uuid}}, .present = {"ended_at"}},
        [&](const Job& j) { return j.agent == a && j.ended_at; });
  std::vector<CellView> many(kMaxAmong, CellView(nothing));
  many.back() = queued;
  check({.among = {{"status", many}}}, [](const Job& j) { return j.status == JobStatus::kQueued; });
  many.push_back(nothing);
  const ColdQuery too_many{.table = &table_for<Job>(), .among = {{"status", many}}};
  EXPECT_EQ(store().read(held.id, too_many).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(store().count(held.id, too_many).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(store().count(random_.id<WorkspaceId>(), {.table = &table_for<Job>()}), 0);
}

TEST_P(StoreConformance, pruning_takes_the_oldest_cold_rows_and_no_other) {
  Held held = acquire_new(store(), random_), other = acquire_new(store(), random_);
  std::vector<Job> jobs;
  for (int i = 0; i < 20; ++i) {
    Job job{.id = random_.id<JobId>(), .live = i < 4};
    if (i % 10 != 9) job.ended_at = Time{i};
    jobs.push_back(job);
  }
  commit_now(store(), held, puts({jobs.begin(), jobs.end()}));
  commit_now(store(), other, puts({jobs.begin(), jobs.end()}));
  const Table& table = table_for<Job>();
  EXPECT_EQ(store().prune(held.id, table, "ended_at", 15, 3), 3);
  std::erase_if(jobs, [](const Job& j) { return !j.live && j.ended_at && j.ended_at->us < 7; });
  EXPECT_EQ(texts_of(read_all(store(), held.id, table)), texts_of({jobs.begin(), jobs.end()}));
  EXPECT_EQ(store().prune(held.id, table, "ended_at", 15, 100), 7);
  EXPECT_EQ(store().prune(held.id, table, "ended_at", 15, 100), 0);
  EXPECT_EQ(read_all(store(), held.id, table).size(), 10u);
  EXPECT_EQ(read_all(store(), other.id, table).size(), 20u);
  AuditEntry old{.id = random_.id<AuditId>(), .at = Time{1}},
      young{.id = random_.id<AuditId>(), .at = Time{2}};
  IdempotencyRecord key{.key = digest_of("k"), .created_at = Time{1}};
  commit_now(store(), held, puts({old, young, key}));
  EXPECT_EQ(store().prune(held.id, table_for<AuditEntry>(), "at", 2, 10), 1);
  EXPECT_EQ(read_all(store(), held.id, table_for<AuditEntry>()), std::vector<Entity>{young});
  EXPECT_EQ(store().prune(held.id, table_for<IdempotencyRecord>(), "created_at", 2, 10), 1);
}

TEST_P(StoreConformance, context_parts_go_when_they_are_old_and_no_job_refers_to_them) {
  Held held = acquire_new(store(), random_), other = acquire_new(store(), random_);
  const Time now{1'700'000'000'000'000};
  const Duration age = hours(24 * 30);
  const auto part = [&](const char* name, Duration old) {
    return ContextPart{digest_of(name), name, now - old};
  };
  const auto job = [&](const char* shared, const char* resource, bool live) {
    Job j{.id = random_.id<JobId>(), .live = live};
    j.shared_part = digest_of(shared);
    j.resource_part = digest_of(resource);
    j.created_at = now - age - hours(1);
    return j;
  };
  const std::vector<Entity> rows = {part("old 1", age + hours(3)),
                                    part("old 2", age + hours(2)),
                                    part("old 3", age + hours(1)),
                                    part("young", age),
                                    part("shared", age + hours(9)),
                                    part("resource", age + hours(9)),
                                    ContextPart{digest_of("ageless"), "ageless"},
                                    job("shared", "none", true),
                                    job("none", "resource", false)};
  for (Held* h : {&held, &other}) {
    ASSERT_EQ(commit_one(store(), h->next(puts(rows), now)), CommitOutcome::kDurable);
    ++h->seq;
  }
  const auto left = [&](const Held& h) {
    std::set<std::string> names;
    for (const Entity& e : read_all(store(), h.id, table_for<ContextPart>()))
      names.insert(std::get<ContextPart>(e).body);
    return names;
  };
  EXPECT_EQ(store().prune_parts(held.id, age, 2), 2) << "the oldest first";
  EXPECT_TRUE(left(held).contains("old 3"));
  EXPECT_EQ(store().prune_parts(held.id, age, 100), 1);
  EXPECT_EQ(store().prune_parts(held.id, age, 100), 0);
  EXPECT_EQ(left(held), (std::set<std::string>{"young", "shared", "resource", "ageless"}));
  EXPECT_EQ(left(other).size(), 7u);
  EXPECT_EQ(store().prune_parts(random_.id<WorkspaceId>(), age, 100), 0);
}

// ---- Replicas --------------------------------------------------------------------------------------

TEST_P(StoreConformance, beats_count_up) {
  Replica a{random_.id<ReplicaId>(), "10.0.0.1:80", "1.0"}, b{random_.id<ReplicaId>(), "10.0.0.2:80", "1.1"};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store().beat(a));
  ASSERT_TRUE(store().beat(b));
  a.version = "1.2";
  ASSERT_TRUE(store().beat(a));
  a.beat = 4;
  b.beat = 1;
  std::vector<Replica> expected = {a, b};
  std::sort(expected.begin(), expected.end(), [](const Replica& x, const Replica& y) { return x.id < y.id; });
  EXPECT_EQ(store().replicas(), expected);
}

TEST_P(StoreConformance, owners_of_all_workspaces_are_listed_in_order) {
  std::vector<WorkspaceId> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(acquire_new(store(), random_).id);
  std::sort(ids.begin(), ids.end());
  under_test_->reopen();
  auto owners = store().owners();
  ASSERT_TRUE(owners);
  ASSERT_EQ(owners->size(), ids.size());
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ((*owners)[i].workspace, ids[i]);
}

TEST_P(StoreConformance, migrating_again_changes_nothing) {
  Held held = acquire_new(store(), random_);
  commit_now(store(), held, puts({resource(random_, "r")}));
  ASSERT_TRUE(store().migrate());
  EXPECT_EQ(load_rows(store(), held).size(), 1u);
}

}  // namespace
}  // namespace ctrlplane::store::test
