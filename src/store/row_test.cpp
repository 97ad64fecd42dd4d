#include "store/row.h"

#include <gtest/gtest.h>

namespace ctrlplane::store {
namespace {

Uuid uuid(uint64_t n) { return Uuid::from_halves(n, ~n); }

void expect_same(const Entity& e) {
  RowWriter writer;
  auto back = read_row(e.index(), writer.write(e));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, e) << table_of(e).name;
}

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
  job.group = GroupId{uuid(14)};
  job.slots = {{uuid(15)}, {uuid(16)}};
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
  for (const Entity& e : {Entity(job), Entity(target), Entity(resource), Entity(policy)}) expect_same(e);
}

TEST(Row, reads_back_brackets_and_slots_of_which_nothing_is_set) {
  for (const Entity& e : {Entity(BracketGroup{}), Entity(BracketMember{}), Entity(ConcurrencySlot{}),
                          Entity(Quarantine{}), Entity(Job{})})
    expect_same(e);
}

TEST(Row, reads_back_brackets_and_slots_of_which_everything_is_set) {
  BracketGroup group{.id = {uuid(1)}, .rule = {uuid(2)}, .resource = {uuid(3)}, .environment = {uuid(4)}};
  group.status = GroupStatus::kStuck;
  group.collection_started_at = Time{1};
  group.collection_ends_at = Time{2};
  group.ready_at = Time{3};
  group.started_at = Time{4};
  group.finished_at = Time{5};
  group.created_at = Time{-6};
  group.terms = Json::trusted(R"({"readinessMode":"immediate"})");
  group.course = GroupCourse::kWindDown;
  group.stuck_since = Time{7};
  group.handed_over_at = Time{8};
  group.closed_by = "it's \"me\"";
  group.finish_by = "b";
  group.note = "Zürich";
  group.merged_into = GroupId{uuid(5)};
  group.retired = true;
  expect_same(group);

  BracketMember member{.group = group.id, .deployment = {uuid(6)}};
  member.role = MemberRole::kPostHook;
  member.participation = Participation::kRedeploy;
  member.outcome = MemberOutcome::kRolledBack;
  member.version = VersionId{uuid(7)};
  member.locked_at = Time{9};
  member.next_version = VersionId{uuid(8)};
  member.previous = VersionId{uuid(9)};
  member.attempts = 3;
  member.last_job = JobId{uuid(10)};
  member.started_at = Time{10};
  member.finished_at = Time{11};
  member.depends_on = {{{uuid(11)}, {uuid(12)}}, {{uuid(11)}, {uuid(13)}}, {{uuid(14)}, {uuid(12)}}};
  member.retired = true;
  expect_same(member);
  member.depends_on.resize(1);
  expect_same(member);

  expect_same(ConcurrencySlot{group.rule, group.resource, group.id, Time{12}});
  expect_same(Quarantine{group.rule, group.resource, group.id, Time{13}, "somebody", Time{14}});
}

template <class E>
void expect_every_word(size_t words, auto with) {
  for (size_t i = 0; i < words; ++i) expect_same(with(static_cast<E>(i)));
}

TEST(Row, reads_back_every_word_of_a_bracket) {
  expect_every_word<GroupStatus>(8, [](GroupStatus s) { return BracketGroup{.status = s}; });
  expect_every_word<GroupCourse>(3, [](GroupCourse c) { return BracketGroup{.course = c}; });
  expect_every_word<MemberRole>(3, [](MemberRole r) { return BracketMember{.role = r}; });
  expect_every_word<Participation>(4, [](Participation p) { return BracketMember{.participation = p}; });
  expect_every_word<MemberOutcome>(8, [](MemberOutcome o) { return BracketMember{.outcome = o}; });
}

TEST(Row, writes_the_edges_of_a_member_as_json) {
  BracketMember member{.depends_on = {{{uuid(1)}, {uuid(2)}}}};
  const Entity e = member;
  RowWriter writer;
  EXPECT_EQ(writer.write(e)[table_of(e).column("depends_on")],
            CellView(R"([{"rule":"00000000-0000-0001-ffff-fffffffffffe",)"
                     R"("on":"00000000-0000-0002-ffff-fffffffffffd"}])"));
  const Entity none = BracketMember{};
  EXPECT_EQ(writer.write(none)[table_of(none).column("depends_on")], CellView(std::string_view("[]")));
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
  EXPECT_TRUE(refuses(Job{}, "slots", "0123456789"));
}

TEST(Row, refuses_edges_that_were_cut_or_are_none) {
  RowWriter writer;
  const Entity e = BracketMember{};
  std::vector<CellView> cells = writer.write(e);
  CellView& edges = cells[table_of(e).column("depends_on")];
  const std::string edge = R"({"rule":")" + uuid(8).str() + R"(","on":")" + uuid(9).str() + R"("})";
  const std::string two = "[" + edge + "," + edge + "]";
  edges = std::string_view(two);
  auto whole = read_row(e.index(), cells);
  ASSERT_TRUE(whole);
  EXPECT_EQ(std::get<BracketMember>(*whole).depends_on.size(), 2u);
  for (size_t n = 0; n < two.size(); ++n) {
    edges = std::string_view(two).substr(0, n);
    EXPECT_FALSE(read_row(e.index(), cells)) << two.substr(0, n);
  }
  for (const std::string& text :
       {two + "]", two + " ", "[" + edge + edge + "]", "[" + edge + ",]", "[,]" + edge, edge,
        std::string("{}"), std::string("null"), std::string(R"([{"rule":""}])"),
        R"([{"rule":")" + std::string(36, 'x') + R"(","on":")" + uuid(9).str() + R"("}])"}) {
    edges = std::string_view(text);
    EXPECT_FALSE(read_row(e.index(), cells)) << text;
  }
  edges = Null{};
  EXPECT_FALSE(read_row(e.index(), cells));
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
