// Copies of an SQLite store that is being written: each is one moment of it, whole, or not there at all.
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/log.h"
#include "store/sqlite/backup.h"
#include "store/sqlite/read_only_db.h"
#include "store/sqlite/sqlite_store.h"
#include "stores_under_test.h"
#include "support/temp_dir.h"

namespace ctrlplane::store::test {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

class SqliteBackupTest : public testing::Test {
 protected:
  SqliteBackupTest() { log::set_level(log::Level::kOff); }  // the errors here are wanted

  void open() {
    auto opened = SqliteStore::open(path_);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = *std::move(opened);
    ASSERT_TRUE(store_->migrate());
    for (int i = 0; i < 3; ++i) held_.push_back(acquire_new(*store_, random_));
  }

  // Commit n of a workspace puts row n, takes row n - 5 away, and writes n into row 0: so its rows tell
  // which commits they are of.
  static Changes changes(int64_t n) {
    auto row = [](int64_t number, const std::string& text) {
      return Resource{.id = {Uuid::from_halves(7, static_cast<uint64_t>(number))},
                      .identifier = std::to_string(number),
                      .name = text};
    };
    return {Change::put(row(n, std::string(3000, 'x'))), Change::erase(row(n - 5, "")),
            Change::put(row(0, std::to_string(n)))};
  }
  void commit_all() {
    for (Held& h : held_) commit_now(*store_, h, changes(h.seq + 1));
  }

  // Opened as a server would: the rows of every workspace are those of its first `seq` commits.
  void expect_consistent(const std::string& copy, const BackupReport& report) {
    auto restored = SqliteStore::open(copy);
    ASSERT_TRUE(restored) << restored.error().message;
    ASSERT_TRUE((*restored)->migrate());
    ASSERT_EQ(report.owners.size(), held_.size());
    for (const Owner& told : report.owners) {
      std::set<std::string> found, expected;
      std::string last;
      auto owner = (*restored)->snapshot(told.workspace, [&](Entity&& e) {
        const auto& r = std::get<Resource>(e);
        found.insert(r.identifier);
        if (r.identifier == "0") last = r.name;
      });
      ASSERT_TRUE(owner) << owner.error().message;
      EXPECT_EQ(owner->seq, told.seq);
      for (int64_t n = std::max<int64_t>(1, told.seq - 4); n <= told.seq; ++n)
        expected.insert(std::to_string(n));
      expected.insert("0");
      EXPECT_EQ(found, expected);
      EXPECT_EQ(last, std::to_string(told.seq));
    }
  }
  // Nothing but these stands in the folder.
  void expect_only(std::set<std::string> names) {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(copies_.path())) found.insert(entry.path().filename());
    EXPECT_EQ(found, names);
  }

  ctrlplane::test::TempDir dir_, copies_;
  std::string path_ = dir_.file("store.db"), copy_ = copies_.file("copy.db");
  Random random_{1};
  std::unique_ptr<SqliteStore> store_;
  std::vector<Held> held_;
};

TEST_F(SqliteBackupTest, a_copy_made_between_commits_is_one_moment) {
  open();
  for (int i = 0; i < 20; ++i) commit_all();
  int steps = 0;
  BackupOptions options{.pages_per_step = 3};
  options.progress = [&](int64_t done, int64_t pages) {
    if (done < pages) ++steps, commit_all();
    return steps < 1000;  // a copy that starts over with each commit would never end
  };
  auto report = backup_sqlite(path_, copy_, options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GT(steps, 10) << "commits must have come in between";
  for (const Owner& o : report->owners) EXPECT_EQ(o.seq, 20) << "the moment is the beginning";
  EXPECT_EQ(report->bytes, static_cast<int64_t>(fs::file_size(copy_)));
  expect_only({"copy.db"});
  expect_consistent(copy_, *report);
}

TEST_F(SqliteBackupTest, copies_made_while_a_thread_commits_are_each_one_moment) {
  open();
  for (int i = 0; i < 10; ++i) commit_all();
  std::atomic<bool> enough = false;
  std::atomic<int> rounds = 0;
  std::thread writer([&] {
    while (!enough) commit_all(), ++rounds, rounds.notify_all();
  });
  rounds.wait(0);
  std::vector<BackupReport> reports;
  for (int i = 0; i < 5; ++i) {
    auto report = backup_sqlite(path_, copies_.file(std::to_string(i)), {.pages_per_step = 2});
    EXPECT_TRUE(report) << report.error().message;
    if (report) reports.push_back(*report);
    rounds.wait(rounds);  // so that the next one is of another moment
  }
  enough = true;
  writer.join();
  ASSERT_EQ(reports.size(), 5u);
  EXPECT_LT(reports.front().owners.front().seq, reports.back().owners.front().seq);
  for (size_t i = 0; i < reports.size(); ++i) expect_consistent(copies_.file(std::to_string(i)), reports[i]);
}

TEST_F(SqliteBackupTest, a_server_that_was_killed_leaves_a_file_that_can_be_copied) {
  open();
  commit_all();
  // As after kill -9: the log is there and has not been carried over.
  const std::string killed = dir_.file("killed.db");
  fs::copy_file(path_, killed);
  fs::copy_file(path_ + "-wal", killed + "-wal");
  auto report = backup_sqlite(killed, copy_);
  ASSERT_TRUE(report) << report.error().message;
  expect_consistent(copy_, *report);
}

TEST_F(SqliteBackupTest, the_copy_names_workspaces_and_is_readable_by_its_owner_alone) {
  open();
  commit_now(*store_, held_[0], {Change::put(Workspace{held_[1].id, "Acme", "acme", Time{1}})});
  auto report = backup_sqlite(path_, copy_);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->slugs, (std::map<WorkspaceId, std::string>{{held_[1].id, "acme"}}));
  struct stat info{};
  ASSERT_EQ(::stat(copy_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u) << "it has password hashes in it";
}

TEST_F(SqliteBackupTest, a_file_that_is_there_stays_unless_told_otherwise) {
  open();
  commit_all();
  write_file(copy_, "something dear");
  auto refused = backup_sqlite(path_, copy_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_EQ(bytes_of(copy_), "something dear");
  expect_only({"copy.db"});
  auto forced = backup_sqlite(path_, copy_, {.overwrite = true});
  ASSERT_TRUE(forced) << forced.error().message;
  expect_only({"copy.db"});
  expect_consistent(copy_, *forced);
}

TEST_F(SqliteBackupTest, a_file_that_appears_meanwhile_stays) {
  open();
  BackupOptions options;
  options.progress = [&](int64_t, int64_t) { return write_file(copy_, "mine"), true; };
  auto refused = backup_sqlite(path_, copy_, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_EQ(bytes_of(copy_), "mine");
  expect_only({"copy.db"});
}

TEST_F(SqliteBackupTest, never_goes_over_a_database_that_is_in_use) {
  open();
  const BackupOptions force{.overwrite = true};
  EXPECT_EQ(backup_sqlite(path_, path_, force).error().code, ErrorCode::kConflict) << "its own log is there";
  auto other = SqliteStore::open(copy_);
  ASSERT_TRUE(other);
  EXPECT_EQ(backup_sqlite(path_, copy_, force).error().code, ErrorCode::kConflict);
  other->reset();
  write_file(copy_ + "-journal", "of a crash");
  EXPECT_EQ(backup_sqlite(path_, copy_, force).error().code, ErrorCode::kConflict);
  store_.reset();
  ASSERT_EQ(::link(path_.c_str(), copies_.file("link.db").c_str()), 0);
  EXPECT_EQ(backup_sqlite(path_, copies_.file("link.db"), force).error().code, ErrorCode::kInvalid);
}

TEST_F(SqliteBackupTest, a_disk_that_is_full_leaves_nothing) {
  open();
  for (int i = 0; i < 30; ++i) commit_all();
  write_file(copy_, "the backup of yesterday");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{64 << 10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  auto failed = backup_sqlite(path_, copy_, {.overwrite = true, .pages_per_step = 4});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable) << failed.error().message;
  EXPECT_EQ(bytes_of(copy_), "the backup of yesterday");
  expect_only({"copy.db"});
  commit_all();
  EXPECT_TRUE(backup_sqlite(path_, copy_, {.overwrite = true})) << "and the next one is made";
}

TEST_F(SqliteBackupTest, a_folder_that_is_not_there_or_a_name_that_is_one_is_an_error) {
  open();
  EXPECT_EQ(backup_sqlite(path_, copies_.file("none/copy.db")).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(backup_sqlite(path_, copies_.path(), {.overwrite = true}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(backup_sqlite(path_, "").error().code, ErrorCode::kInvalid);
  expect_only({});
}

TEST_F(SqliteBackupTest, what_is_no_database_of_ours_is_not_copied) {
  EXPECT_EQ(backup_sqlite(path_, copy_).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(path_)) << "nor is it made";
  write_file(path_, "");
  EXPECT_EQ(backup_sqlite(path_, copy_).error().code, ErrorCode::kInvalid);
  write_file(path_, std::string(10000, 'x'));
  EXPECT_EQ(backup_sqlite(path_, copy_).error().code, ErrorCode::kInternal);
  const std::string foreign = dir_.file("foreign.db");
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(foreign.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "CREATE TABLE recipes (name TEXT)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  EXPECT_EQ(backup_sqlite(foreign, copy_).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(backup_sqlite(dir_.path(), copy_).error().code, ErrorCode::kInvalid);
  expect_only({});
}

TEST_F(SqliteBackupTest, a_damaged_database_is_told_and_replaces_no_good_copy) {
  open();
  for (int i = 0; i < 30; ++i) commit_all();
  store_.reset();
  const auto size = fs::file_size(path_);
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  for (uint64_t at = size / 4096 / 2 * 4096; at + 200 < size; at += 4096) {  // the schema is at the front
    file.seekp(static_cast<std::streamoff>(at));
    file << std::string(100, '\xff');
  }
  file.close();
  write_file(copy_, "the backup of yesterday");
  auto failed = backup_sqlite(path_, copy_, {.overwrite = true});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInternal) << failed.error().message;
  EXPECT_EQ(bytes_of(copy_), "the backup of yesterday");
  expect_only({"copy.db"});
}

TEST_F(SqliteBackupTest, stops_when_told_and_leaves_nothing) {
  open();
  for (int i = 0; i < 10; ++i) commit_all();
  BackupOptions options{.pages_per_step = 2};
  options.progress = [](int64_t done, int64_t) { return done < 6; };
  auto ended = backup_sqlite(path_, copy_, options);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kConflict);
  expect_only({});
}

TEST_F(SqliteBackupTest, a_lock_is_asked_for_without_taking_it) {
  EXPECT_FALSE(in_use_by_a_server(path_));
  open();
  EXPECT_TRUE(in_use_by_a_server(path_));
  store_.reset();
  EXPECT_FALSE(in_use_by_a_server(path_));
  EXPECT_TRUE(SqliteStore::open(path_)) << "asking holds nothing";
}

}  // namespace
}  // namespace ctrlplane::store::test
