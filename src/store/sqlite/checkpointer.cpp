#include "store/sqlite/checkpointer.h"

#include "base/log.h"

namespace ctrlplane::store {
namespace {

constexpr int kPassPages = 400;      // worth a pass
constexpr int kLongLog = 4000;       // 16 MB: time to start over ...
constexpr int kSmallRest = 600;      // ... if the rest takes no longer than a commit
constexpr int kTooLongLog = 40'000;  // or whatever it takes

}  // namespace

Checkpointer::~Checkpointer() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Checkpointer::log_has(int pages) {
  std::lock_guard lock(mutex_);
  if (pages < pages_) {
    done_ = 0;
    started_over_ = true;
  }
  pages_ = pages;
  if (running_ || pages_ - done_ < kPassPages) return;
  wanted_ = true;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake_.notify_one();
}

bool Checkpointer::rest_is_due() {
  std::lock_guard lock(mutex_);
  if (running_ || pages_ < kLongLog) return false;
  return pages_ - done_ <= kSmallRest || pages_ >= kTooLongLog;
}

void Checkpointer::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return wanted_ || stopping_; });
    if (stopping_) return;
    wanted_ = false;
    running_ = true;
    started_over_ = false;
    const int pages = pages_;
    lock.unlock();
    const bool passed = pass();
    lock.lock();
    running_ = false;
    if (passed && !started_over_) done_ = pages;
  }
}

// A pass that fails loses nothing: the log keeps what it did not carry over, and the next one tries again.
bool Checkpointer::pass() {
  if (!db_) {
    auto opened = Db::open(path_, vfs_, 5000);
    if (!opened) {
      log::warn("cannot checkpoint", {{"error", opened.error().message}});
      return false;
    }
    db_ = *std::move(opened);
  }
  auto done = db_->exec("PRAGMA wal_checkpoint(PASSIVE)");
  if (!done) log::warn("cannot checkpoint", {{"error", done.error().message}});
  return done.has_value();
}

}  // namespace ctrlplane::store
