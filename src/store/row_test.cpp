#include "store/row.h"

#include <gtest/gtest.h>

namespace ctrlplane::store {
namespace {

Uuid uuid(uint64_t n) { return Uuid::from_halves(n, ~n); }

TEST(Row, reads_back_what_it_wrote) {
  Job job{.id = {uuid(1)},
          .target = {{uuid(2)}, {uuid(3)}, {uuid(4)}},
          .release = {uuid(5)},
          .version = {uuid(6)}};
  job.status = JobStatus::kInProgress;
  job.message = "it's \"fine\"";
  job.timeout = seconds(30);
  job.handed_over_at = Time{77};
  job.live = false;
  TargetState target{.key = job.target};
  target.past = {{{uuid(8)}, Time{5}}, {{uuid(9)}, Time{-6}}};
  target.last_status = JobStatus::kFailure;
  target.denied = {{uuid(8)}, {uuid(10)}};
  target.last_version = VersionId{uuid(8)};
  target.endings = {{{uuid(8)}, JobStatus::kSkipped, Time{-7}}, {{uuid(10)}, JobStatus::kFailure, Time{8}}};
  Policy policy{.id = {uuid(11)}, .name = "p", .selector = "true"};
  policy.rules = {{.id = {uuid(12)}, .created_at = Time{-3}, .type = "retry"},
                  {.id = {uuid(13)}, .type = "t"}};
  Resource resource{.id = {uuid(2)}, .identifier = "a/b", .metadata = {{"zone", "eu"}}};
  RowWriter writer;
  for (const Entity& e : {Entity(job), Entity(target), Entity(resource), Entity(policy)}) {
    auto back = read_row(e.index(), writer.write(e));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, e);
  }
}

TEST(Row, names_table_and_column_of_a_foreign_value) {
  RowWriter writer;
  Entity e = Version{};
  std::vector<CellView> cells = writer.write(e);
  cells[table_of(e).column("status")] = std::string_view("shiny");
  auto r = read_row(e.index(), cells);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().message,
            "table deployment_version: column status holds a value this program never writes");
}

TEST(Row, refuses_lists_that_were_cut) {
  RowWriter writer;
  auto refuses = [&](const Entity& e, std::string_view column, std::string_view value) {
    std::vector<CellView> cells = writer.write(e);
    cells[table_of(e).column(column)] = value;
    return !read_row(e.index(), cells);
  };
  EXPECT_TRUE(refuses(Policy{}, "rules", "[{"));
  EXPECT_TRUE(refuses(Policy{}, "rules", ""));
  EXPECT_TRUE(refuses(TargetState{}, "denied", "0123456789"));
  EXPECT_TRUE(refuses(TargetState{}, "past", "0123456789"));
  const std::string version = uuid(8).str();
  EXPECT_FALSE(refuses(TargetState{}, "endings", version + " skipped 12\n"));
  for (const std::string& line :
       {version + " skipped 12", version + " skipped \n", version + " skipped 1x\n", version + " shiny 12\n",
        version + " 12\n", version + "\n", std::string("x skipped 12\n"), std::string("\n")})
    EXPECT_TRUE(refuses(TargetState{}, "endings", line)) << line;
}

TEST(Tables, have_their_keys_first_and_distinct_names) {
  ASSERT_EQ(tables().size(), std::variant_size_v<Entity>);
  for (const Table& t : tables()) {
    EXPECT_GT(t.key_count(), 0u) << t.name;
    for (size_t i = t.key_count(); i < t.columns.size(); ++i) EXPECT_FALSE(t.columns[i].key) << t.name;
    EXPECT_EQ(&table_named(t.name), &t);
  }
}

}  // namespace
}  // namespace ctrlplane::store
