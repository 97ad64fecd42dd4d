// The output of jobs, in each store.
#include <atomic>
#include <thread>

#include "base/log.h"
#include "store/output.h"
#include "stores_under_test.h"

namespace ctrlplane::store::test {
namespace {

class OutputConformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { under_test_ = make_store(GetParam()); }
  Store& store() { return under_test_->store(); }
  void append(const std::vector<OutputChunk>& chunks) {
    const Status done = store().append_output(workspace_, chunks);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::vector<OutputChunk> read(JobId job, int64_t from = 0, int64_t max_bytes = 64 << 20) {
    auto chunks = store().read_output(workspace_, job, from, max_bytes);
    EXPECT_TRUE(chunks) << chunks.error().message;
    return chunks ? *chunks : std::vector<OutputChunk>{};
  }
  std::string text(JobId job) {
    std::string out;
    for (const OutputChunk& c : read(job)) out += c.text;
    return out;
  }

  std::unique_ptr<StoreUnderTest> under_test_;
  Random random_{4712};
  const WorkspaceId workspace_ = random_.id<WorkspaceId>();
  const JobId job_ = random_.id<JobId>(), other_ = random_.id<JobId>();
};

INSTANTIATE_TEST_SUITE_P(Stores, OutputConformance, testing::Values("sqlite", "postgres", "sim"),
                         [](const auto& info) { return info.param; });

TEST_P(OutputConformance, comes_back_in_the_order_of_its_offsets_also_after_reopening) {
  append({{job_, 6, "two "}, {other_, 0, "other"}, {job_, 0, "one   "}});
  append({{job_, 10, "three"}, {job_, 10, "Three"}});
  const std::vector<OutputChunk> all = {{job_, 0, "one   "}, {job_, 6, "two "}, {job_, 10, "Three"}};
  EXPECT_EQ(read(job_), all);
  under_test_->reopen();
  EXPECT_EQ(read(job_), all);
  EXPECT_EQ(text(other_), "other");
  EXPECT_TRUE(read(random_.id<JobId>()).empty());
}

TEST_P(OutputConformance, is_read_from_an_offset_and_in_portions) {
  append({{job_, 0, "0123"}, {job_, 4, "4567"}, {job_, 8, "89"}});
  EXPECT_EQ(read(job_, 4), (std::vector<OutputChunk>{{job_, 4, "4567"}, {job_, 8, "89"}}));
  EXPECT_EQ(read(job_, 6), (std::vector<OutputChunk>{{job_, 6, "67"}, {job_, 8, "89"}}));
  EXPECT_EQ(read(job_, 0, 8), (std::vector<OutputChunk>{{job_, 0, "0123"}, {job_, 4, "4567"}}));
  EXPECT_EQ(read(job_, 0, 7), (std::vector<OutputChunk>{{job_, 0, "0123"}}));
  EXPECT_EQ(read(job_, 3, 0), (std::vector<OutputChunk>{{job_, 3, "3"}})) << "one at least: reading goes on";
  EXPECT_TRUE(read(job_, 10).empty());
  EXPECT_TRUE(read(job_, INT64_MAX).empty());
  EXPECT_EQ(read(job_, INT64_MIN).size(), 3u);
}

TEST_P(OutputConformance, sent_again_in_other_portions_is_not_doubled) {
  append({{job_, 0, "0123456789"}});
  append({{job_, 5, "56789ab"}, {job_, 8, "89"}, {job_, 12, "cd"}});
  EXPECT_EQ(text(job_), "0123456789abcd");
  append({{job_, 0, "0123456789"}});
  EXPECT_EQ(text(job_), "0123456789abcd");
}

TEST_P(OutputConformance, need_not_be_text) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  append({{job_, 0, bytes}, {job_, 256, ""}});
  EXPECT_EQ(read(job_), (std::vector<OutputChunk>{{job_, 0, bytes}}));
}

TEST_P(OutputConformance, is_not_cut_inside_a_character) {
  std::string euros = "x";
  while (std::ssize(euros) < 3 * kOutputPiece) euros += "€";
  append({{job_, 0, euros}});
  const auto pieces = read(job_);
  EXPECT_GT(pieces.size(), 3u);
  for (const OutputChunk& c : pieces) EXPECT_TRUE(c.text.starts_with("€") || c.offset == 0) << c.offset;
  EXPECT_EQ(text(job_), euros);
  EXPECT_EQ(read(job_, 2).front().offset, 4) << "the next whole one";
}

TEST_P(OutputConformance, keeps_the_first_and_the_last_half) {
  constexpr int64_t kChunk = 10'000, kChunks = 200;
  const auto body = [&](int64_t i) { return std::string(kChunk, static_cast<char>('a' + i % 26)); };
  for (int64_t i = 0; i < kChunks; i += 4) {
    std::vector<OutputChunk> chunks;
    for (int64_t j = i; j < i + 4; ++j) chunks.push_back({job_, j * kChunk, body(j)});
    append(chunks);
  }
  const auto kept = read(job_);
  int64_t end = 0, gaps = 0, bytes = 0;
  for (const OutputChunk& c : kept) {
    if (c.offset != end) {
      ++gaps;
      EXPECT_GE(end, kOutputHalf);
      EXPECT_LT(end, kOutputHalf + kChunk);
      EXPECT_LE(c.offset, kChunk * kChunks - kOutputHalf);
      EXPECT_GT(c.offset, kChunk * kChunks - kOutputHalf - kChunk);
    }
    EXPECT_EQ(c.text, body(c.offset / kChunk));
    end = c.offset + std::ssize(c.text);
    bytes += std::ssize(c.text);
  }
  EXPECT_EQ(gaps, 1);
  EXPECT_EQ(end, kChunk * kChunks);
  EXPECT_LT(bytes, 2 * (kOutputHalf + kChunk));
  append({{job_, 80 * kChunk, body(80)}});
  EXPECT_EQ(read(job_), kept) << "what comes late into the gap goes at once";
}

TEST_P(OutputConformance, one_huge_chunk_is_kept_like_many_small_ones) {
  append({{job_, 0, std::string(5 << 20, 'x')}});
  int64_t bytes = 0;
  for (const OutputChunk& c : read(job_)) bytes += std::ssize(c.text);
  EXPECT_GE(bytes, 2 * kOutputHalf);
  EXPECT_LE(bytes, 2 * (kOutputHalf + kOutputPiece));
  EXPECT_EQ(read(job_).back().offset + std::ssize(read(job_).back().text), 5 << 20);
}

TEST_P(OutputConformance, belongs_to_its_workspace) {
  append({{job_, 0, "mine"}});
  const WorkspaceId stranger = random_.id<WorkspaceId>();
  EXPECT_TRUE(store().read_output(stranger, job_, 0, 1000)->empty());
  ASSERT_TRUE(store().append_output(stranger, std::vector<OutputChunk>{{job_, 0, "theirs"}}));
  EXPECT_EQ(text(job_), "mine");
}

TEST_P(OutputConformance, at_an_impossible_offset_is_refused_whole) {
  for (int64_t offset : {int64_t{-1}, INT64_MIN, INT64_MAX}) {
    const std::vector<OutputChunk> chunks = {{job_, 0, "good"}, {job_, offset, "bad"}};
    EXPECT_EQ(store().append_output(workspace_, chunks).error().code, ErrorCode::kInvalid);
  }
  EXPECT_TRUE(read(job_).empty());
  EXPECT_TRUE(store().append_output(workspace_, {}));
}

TEST_P(OutputConformance, goes_with_its_job) {
  Held held = acquire_new(store(), random_);
  Changes changes;
  std::vector<Job> jobs;
  for (int i = 0; i < 4; ++i) {
    Job job{.id = random_.id<JobId>(), .live = i == 0};
    job.ended_at = Time{i};
    jobs.push_back(job);
    changes.push_back(Change::put(job));
    ASSERT_TRUE(store().append_output(held.id, std::vector<OutputChunk>{{job.id, 0, "a"}, {job.id, 1, "b"}}));
  }
  commit_now(store(), held, changes);
  EXPECT_EQ(store().prune(held.id, table_for<Job>(), "ended_at", 3, 100), 2);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(store().read_output(held.id, jobs[static_cast<size_t>(i)].id, 0, 100)->size(),
              i == 0 || i == 3 ? 2u : 0u)
        << i;
}

TEST_P(OutputConformance, of_many_threads_arrives_beside_commits) {
  Held held = acquire_new(store(), random_);
  constexpr int kThreads = 6, kEach = 40;
  std::vector<JobId> jobs;
  for (int i = 0; i < kThreads; ++i) jobs.push_back(random_.id<JobId>());
  std::atomic<int> failures = 0, running = kThreads;
  std::vector<std::thread> threads;
  for (const JobId& job : jobs)
    threads.emplace_back([&, job] {
      for (int64_t i = 0; i < kEach; ++i)
        if (!store().append_output(held.id, std::vector<OutputChunk>{{job, 2 * i, "ab"}})) ++failures;
      --running;
    });
  int commits = 0;
  for (; running > 0; ++commits)
    commit_now(store(), held, {Change::put(Resource{.id = random_.id<ResourceId>()})});
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failures, 0);
  for (const JobId& job : jobs) EXPECT_EQ(store().read_output(held.id, job, 0, 1000)->size(), size_t{kEach});
  EXPECT_EQ(std::ssize(load_rows(store(), held)), commits);
}

}  // namespace
}  // namespace ctrlplane::store::test
