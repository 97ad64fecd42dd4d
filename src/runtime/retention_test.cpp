#include "runtime/retention.h"

#include <gtest/gtest.h>

#include "store/sim/sim_store.h"

namespace ctrlplane {
namespace {

constexpr Time kNow{1'800'000'000'000'000};

class RetentionTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(store.acquire(workspace, {Uuid::from_halves(1, 1)}, {}, token));
    store::Commit c{.workspace = workspace, .token = token, .seq = 1, .now = kNow};
    for (uint64_t i = 0; i < 10; ++i) {
      Time ended = kNow - hours(24 * static_cast<int64_t>(20 * i));  // today, 20, 40 … 180 days ago
      Job job{.id = {Uuid::from_halves(2, i)}, .status = JobStatus::kSuccessful, .live = false};
      job.ended_at = ended;
      c.changes.push_back(Change::put(job));
      c.changes.push_back(
          Change::put(AuditEntry{.id = {Uuid::from_halves(3, i)}, .at = ended - hours(24 * 300)}));
      OutboxItem item{.id = {Uuid::from_halves(4, i)}, .status = OutboxStatus::kDelivered};
      item.ended_at = ended;
      c.changes.push_back(Change::put(item));
    }
    Job alive{.id = {Uuid::from_halves(5, 5)}, .status = JobStatus::kSuccessful};  // its attempt goes on
    alive.ended_at = kNow - hours(24 * 200);
    c.changes.push_back(Change::put(alive));
    ASSERT_EQ(store.commit(std::span(&c, 1)).front(), store::CommitOutcome::kDurable);
  }
  size_t count(const store::Table& t) { return store.rows(workspace, t).size(); }

  store::SimStore store;
  WorkspaceId workspace{Uuid::from_halves(9, 9)};
  store::Token token{Uuid::from_halves(8, 8)};
};

TEST_F(RetentionTest, deletes_what_is_older_than_its_kind_is_kept) {
  auto gone = prune_history(store, workspace, kNow, {});
  ASSERT_TRUE(gone);
  EXPECT_EQ(count(store::table_for<Job>()), 5u + 1);     // 0 to 80 days, and the one that is live
  EXPECT_EQ(count(store::table_for<AuditEntry>()), 6u);  // 300 to 400 days
  EXPECT_EQ(count(store::table_for<OutboxItem>()), 2u);  // 0 and 20 days
  EXPECT_EQ(*gone, 5 + 4 + 8);
  EXPECT_EQ(*prune_history(store, workspace, kNow, {}), 0);
}

TEST_F(RetentionTest, deletes_context_parts_once_the_jobs_are_gone_that_could_need_them) {
  Job young{.id = {Uuid::from_halves(6, 6)}, .status = JobStatus::kSuccessful, .live = false};
  young.created_at = young.updated_at = kNow;
  young.ended_at = kNow;
  young.shared_part = digest_of("used");
  store::Commit c{.workspace = workspace, .token = token, .seq = 2, .now = kNow};
  c.changes = {Change::put(ContextPart{digest_of("used"), "used", kNow - kPartFresh}),
               Change::put(ContextPart{digest_of("recent"), "recent", kNow - hours(24 * 92)}),
               Change::put(ContextPart{digest_of("old"), "old", kNow - hours(24 * 94)}), Change::put(young)};
  ASSERT_EQ(store.commit(std::span(&c, 1)).front(), store::CommitOutcome::kDurable);
  ASSERT_GT(*prune_history(store, workspace, kNow, {}), 0);
  EXPECT_EQ(count(store::table_for<ContextPart>()), 3u) << "jobs first";
  EXPECT_EQ(*prune_history(store, workspace, kNow, {}), 1);
  EXPECT_EQ(count(store::table_for<ContextPart>()), 2u);
  EXPECT_EQ(*prune_history(store, workspace, kNow, {}), 0);
}

TEST_F(RetentionTest, takes_the_output_of_jobs_along) {
  const JobId old{Uuid::from_halves(2, 9)}, young{Uuid::from_halves(2, 0)};
  for (JobId job : {old, young})
    ASSERT_TRUE(store.append_output(workspace, std::vector<store::OutputChunk>{{job, 0, "printed"}}));
  ASSERT_TRUE(prune_history(store, workspace, kNow, {}));
  EXPECT_TRUE(store.read_output(workspace, old, 0, 100)->empty());
  EXPECT_EQ(store.read_output(workspace, young, 0, 100)->size(), 1u);
}

TEST_F(RetentionTest, works_in_small_batches) {
  Retention keep;
  keep.rows_per_batch = 2;
  EXPECT_EQ(*prune_history(store, workspace, kNow, keep), 6);
}

TEST_F(RetentionTest, leaves_other_workspaces_alone) {
  EXPECT_EQ(*prune_history(store, {Uuid::from_halves(7, 7)}, kNow, {}), 0);
}

}  // namespace
}  // namespace ctrlplane
