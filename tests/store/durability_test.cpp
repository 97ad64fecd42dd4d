// Power cuts. A store writes over a disk that forgets what was not synced; after each crash everything
// that was reported durable must be there, and each commit as a whole or not at all.
#include <map>

#include "base/log.h"
#include "forgetful_vfs.h"
#include "store/sqlite/sqlite_store.h"
#include "support/temp_dir.h"

namespace ctrlplane::store::test {
namespace {

// What one workspace was told, and what it asked for.
struct Told {
  WorkspaceId id;
  Token token;  // of the last acquisition that was answered
  int64_t epoch = 0;
  int64_t durable = 0;           // last commit reported durable
  std::vector<Changes> commits;  // asked for, by seq - 1
};

class PowerCuts {
 public:
  PowerCuts(uint64_t seed, size_t rows_per_commit, size_t row_bytes)
      : random_(seed), vfs_("forgetful"), rows_(rows_per_commit), row_bytes_(row_bytes) {
    for (int i = 0; i < 2; ++i) told_.push_back({.id = random_.id<WorkspaceId>()});
  }

  // Opens, works, closes; somewhere on the way the power may go.
  void one_life(int64_t operations, int commits) {
    vfs_.crash_after(operations, random_.next());
    if (auto store = SqliteStore::open(dir_.file("test.db"), {.readers = 1, .vfs = vfs_.name()})) {
      if ((*store)->migrate()) work(**store, commits);
      store->reset();
    }
    if (!vfs_.crashed()) return;
    ++crashes;
    vfs_.recover();
  }

  // With the power on: everything that was told is true.
  void check() {
    vfs_.crash_after(INT64_MAX, 0);
    auto store = SqliteStore::open(dir_.file("test.db"), {.readers = 1, .vfs = vfs_.name()});
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE((*store)->migrate());
    for (Told& t : told_) check(**store, t);
  }

  int crashes = 0;
  int64_t durable_commits = 0;

 private:
  void work(Store& store, int commits) {
    for (Told& t : told_) {
      const Token token = random_.id<Token>();
      auto owner = store.acquire(t.id, random_.id<ReplicaId>(), t.token, token);
      if (!owner) return;
      t.token = token;
      t.epoch = owner->epoch;
    }
    for (int i = 0; i < commits; ++i) {
      std::vector<Commit> batch;
      for (Told& t : told_) {
        t.commits.push_back(changes(t));
        batch.push_back(
            {t.id, t.token, static_cast<int64_t>(t.commits.size()), Time{i}, {}, t.commits.back()});
      }
      const auto outcomes = store.commit(batch);
      for (size_t w = 0; w < told_.size(); ++w) {
        ASSERT_NE(outcomes[w], CommitOutcome::kFenced);
        if (outcomes[w] != CommitOutcome::kDurable) return;
        told_[w].durable = batch[w].seq;
        ++durable_commits;
      }
    }
  }

  Changes changes(const Told& t) {
    Changes out;
    for (size_t i = 0; i < rows_; ++i) {
      const Uuid id = Uuid::from_halves(t.id.uuid.high(), random_.below(rows_ * 3));
      Resource r{
          .id = {id}, .identifier = std::to_string(random_.next()), .name = std::string(row_bytes_, 'x')};
      out.push_back(random_.one_in(4) ? Change::erase(r) : Change::put(r));
    }
    return out;
  }

  void check(Store& store, Told& t) {
    std::map<ResourceId, Entity> found, expected;
    auto owner = store.snapshot(t.id, [&](Entity&& e) { found.emplace(std::get<Resource>(e).id, e); });
    if (!owner) {
      ASSERT_EQ(owner.error().code, ErrorCode::kNotFound) << owner.error().message;
      ASSERT_EQ(t.epoch, 0) << "an acquisition was answered and is gone";
      return;
    }
    ASSERT_GE(owner->seq, t.durable) << "a commit was reported durable and is gone";
    ASSERT_LE(owner->seq, static_cast<int64_t>(t.commits.size()));
    ASSERT_GE(owner->epoch, t.epoch) << "an acquisition was answered and is gone";
    t.commits.resize(static_cast<size_t>(owner->seq));
    for (const Changes& commit : t.commits)
      for (const Change& c : commit) {
        const ResourceId id = std::get<Resource>(c.entity).id;
        expected.erase(id);
        if (c.op == Change::Op::kPut) expected.emplace(id, c.entity);
      }
    ASSERT_TRUE(found == expected) << "rows are not those of the first " << owner->seq << " commits";
    t.token = owner->token;
    t.epoch = owner->epoch;
    t.durable = owner->seq;
  }

  Random random_;
  ctrlplane::test::TempDir dir_;
  ForgetfulVfs vfs_;
  const size_t rows_, row_bytes_;
  std::vector<Told> told_;
};

TEST(Durability, what_was_reported_durable_survives_power_cuts) {
  log::set_level(log::Level::kOff);  // the errors here are wanted
  int crashes = 0;
  int64_t durable = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    PowerCuts world(seed, 4, 100);
    Random lives(seed * 1000);
    for (int life = 0; life < 5; ++life) {
      world.one_life(static_cast<int64_t>(lives.below(life == 0 ? 300 : 120)), 12);
      world.check();
      if (HasFatalFailure()) return;
    }
    crashes += world.crashes;
    durable += world.durable_commits;
  }
  EXPECT_GT(crashes, 500) << "the power must go often enough for this to mean something";
  EXPECT_GT(durable, 5000);
}

// Commits large enough that the log is copied back into the database in the middle of the work.
TEST(Durability, also_while_the_log_is_copied_back) {
  log::set_level(log::Level::kOff);
  int crashes = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    PowerCuts world(seed, 300, 8000);
    world.one_life(6000 + static_cast<int64_t>(Random(seed).below(20000)), 10);
    world.check();
    if (HasFatalFailure()) return;
    crashes += world.crashes;
  }
  EXPECT_GT(crashes, 4);
}

}  // namespace
}  // namespace ctrlplane::store::test
