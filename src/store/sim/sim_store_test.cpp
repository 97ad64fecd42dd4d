#include "store/sim/sim_store.h"

#include <gtest/gtest.h>

namespace ctrlplane::store {
namespace {

const WorkspaceId kWorkspace{Uuid::from_halves(1, 1)};
const Token kToken{Uuid::from_halves(2, 2)};

TEST(SimStore, shows_its_rows_and_each_applied_commit_to_a_checker) {
  SimStore store;
  std::vector<int64_t> seen;
  store.observe([&](const Commit& commit, const Owner& owner) {
    EXPECT_EQ(owner.seq, commit.seq);
    EXPECT_EQ(store.rows(kWorkspace, table_for<Job>()).size(), seen.size() + 1) << "already applied";
    EXPECT_EQ(store.owners()->size(), 1u) << "an observer may read through the interface";
    seen.push_back(commit.seq);
  });
  ASSERT_TRUE(store.acquire(kWorkspace, {}, {}, kToken));
  for (int64_t seq : {1, 3, 2}) {  // 3 does not fit
    Job job{.id = {Uuid::from_halves(3, static_cast<uint64_t>(10 - seq))}, .live = false};
    Commit commit{.workspace = kWorkspace, .token = kToken, .seq = seq, .changes = {Change::put(job)}};
    store.commit({&commit, 1});
  }
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 2}));
  const Table& table = table_for<Job>();
  std::vector<Uuid> ids;
  for (const auto& [key, row] : store.rows(kWorkspace, table)) {
    EXPECT_EQ(row.size(), table.columns.size());
    EXPECT_EQ(row[table.column("live")], Cell(int64_t{0})) << "cold rows too";
    ids.push_back(std::get<Uuid>(key[0]));
  }
  EXPECT_EQ(ids, (std::vector{Uuid::from_halves(3, 8), Uuid::from_halves(3, 9)})) << "in key order";
  EXPECT_TRUE(store.rows({}, table).empty());
}

}  // namespace
}  // namespace ctrlplane::store
