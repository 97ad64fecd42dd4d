// What only the SQLite store promises: one process per file, and clear errors from a failing disk.
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/log.h"
#include "store/sqlite/sqlite_store.h"
#include "stores_under_test.h"
#include "support/temp_dir.h"

namespace ctrlplane::store::test {
namespace {

std::unique_ptr<SqliteStore> open_migrated(const std::string& path) {
  auto store = SqliteStore::open(path);
  EXPECT_TRUE(store) << store.error().message;
  EXPECT_TRUE((*store)->migrate());
  return std::move(*store);
}

class SqliteStoreTest : public testing::Test {
 protected:
  SqliteStoreTest() { log::set_level(log::Level::kOff); }  // the errors here are wanted
  ctrlplane::test::TempDir dir_;
  std::string path_ = dir_.file("test.db");
  Random random_{1};
};

TEST_F(SqliteStoreTest, a_second_process_is_refused_and_told_which_file) {
  auto store = open_migrated(path_);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto second = SqliteStore::open(path_);
    const bool refused = !second && second.error().code == ErrorCode::kConflict &&
                         second.error().message.find(path_ + ".lock") != std::string::npos;
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(SqliteStore::open(path_).error().code, ErrorCode::kConflict)
      << "nor a second store of this process";
  store.reset();
  EXPECT_TRUE(SqliteStore::open(path_)) << "free again";
}

TEST_F(SqliteStoreTest, a_file_that_is_no_database_is_named) {
  std::ofstream(path_) << std::string(10000, 'x');
  auto store = SqliteStore::open(path_);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kInternal);
  EXPECT_NE(store.error().message.find(path_), std::string::npos) << store.error().message;
}

TEST_F(SqliteStoreTest, a_folder_that_is_not_there_is_an_error) {
  auto store = SqliteStore::open(dir_.file("none/test.db"));
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kUnavailable);
}

TEST_F(SqliteStoreTest, a_file_that_may_only_be_read_is_an_error) {
  open_migrated(path_);
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 0444), 0);
  ASSERT_EQ(::chmod((path_ + ".lock").c_str(), 0666), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);  // root may write anything
    auto store = SqliteStore::open(path_);
    const bool told = !store && store.error().code == ErrorCode::kUnavailable &&
                      store.error().message.find("read-only") != std::string::npos;
    ::_exit(told ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(SqliteStoreTest, damaged_pages_are_errors_not_crashes) {
  WorkspaceId id;
  {
    auto store = open_migrated(path_);
    Held held = acquire_new(*store, random_);
    id = held.id;
    Changes changes;
    for (int i = 0; i < 500; ++i)
      changes.push_back(Change::put(random_entity(random_, Entity(Resource{}).index())));
    commit_now(*store, held, changes);
  }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(0, std::ios::end);
  const auto size = static_cast<uint64_t>(file.tellg());
  for (uint64_t at = size / 4096 / 2 * 4096; at + 200 < size; at += 4096) {  // the schema is at the front
    file.seekp(static_cast<std::streamoff>(at));
    file << std::string(100, '\xff');
  }
  file.close();
  auto store = SqliteStore::open(path_);
  ASSERT_TRUE(store) << store.error().message;
  auto owner = (*store)->snapshot(id, [](Entity&&) {});
  ASSERT_FALSE(owner);
  EXPECT_EQ(owner.error().code, ErrorCode::kInternal) << owner.error().message;
}

TEST_F(SqliteStoreTest, a_full_disk_leaves_the_commit_in_doubt_and_the_store_usable) {
  auto store = open_migrated(path_);
  Held held = acquire_new(*store, random_);
  Changes big;
  for (int i = 0; i < 200; ++i)
    big.push_back(Change::put(ContextPart{digest_of(std::to_string(i)), std::string(50000, 'x')}));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{1 << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const CommitOutcome outcome = commit_one(*store, held.next(big));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(outcome, CommitOutcome::kInDoubt);
  const Token token = random_.id<Token>();
  auto owner = store->acquire(held.id, random_.id<ReplicaId>(), held.token, token);
  ASSERT_TRUE(owner) << owner.error().message;
  EXPECT_EQ(owner->seq, 0);
  held.token = token;
  commit_now(*store, held, big);
  EXPECT_EQ(read_all(*store, held.id, table_for<ContextPart>()).size(), 200u);
}

TEST_F(SqliteStoreTest, a_locked_file_leaves_the_commit_in_doubt) {
  auto opened = SqliteStore::open(path_, {.busy_timeout_ms = 1});
  ASSERT_TRUE(opened && (*opened)->migrate());
  Store& store = **opened;
  Held held = acquire_new(store, random_);
  sqlite3* intruder = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &intruder), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(intruder, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(commit_one(store, held.next({})), CommitOutcome::kInDoubt);
  EXPECT_EQ(store.acquire(held.id, {}, held.token, random_.id<Token>()).error().code,
            ErrorCode::kUnavailable);
  EXPECT_TRUE(store.snapshot(held.id, [](Entity&&) {})) << "readers do not wait for writers";
  EXPECT_TRUE(store.beat({.id = random_.id<ReplicaId>()})) << "nor do beats";
  sqlite3_close(intruder);
  commit_now(store, held, {});
}

}  // namespace
}  // namespace ctrlplane::store::test
