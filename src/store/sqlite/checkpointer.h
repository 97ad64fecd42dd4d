// Carries the write-ahead log into the database file beside the commits, on a thread and a connection of
// its own. Left to itself SQLite does that inside whichever commit makes the log long, and that commit
// takes several times as long as all others.
//
// While commits keep coming the log never ends where a pass ended, so it could not start over: once it is
// long, the committing side does the small rest between two commits.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "store/sqlite/db.h"

namespace ctrlplane::store {

class Checkpointer {
 public:
  // Starts nothing yet: most stores in tests never have a long log.
  Checkpointer(std::string path, std::string vfs) : path_(std::move(path)), vfs_(std::move(vfs)) {}
  // Returns when a running pass is done.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;

  // After a commit: the log has so many pages.
  void log_has(int pages);
  // Is the log long and nearly all of it in the file, or far too long? Then the caller should checkpoint.
  bool rest_is_due();

 private:
  void run();
  bool pass();

  const std::string path_, vfs_;
  std::unique_ptr<Db> db_;  // the thread's
  std::mutex mutex_;        // guards what follows
  std::condition_variable wake_;
  int pages_ = 0;              // in the log
  int done_ = 0;               // of them in the file, after the last pass
  bool started_over_ = false;  // the log, during a pass
  bool wanted_ = false, running_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace ctrlplane::store
