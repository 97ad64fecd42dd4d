// An SQLite VFS whose disk forgets. It stands before the default one and keeps what was written apart
// from what was synced. At a crash every unsynced write survives whole, in part, or not at all, and all
// further calls fail; recover() then leaves on disk what survived.
//
// Not modelled: a directory entry that is lost (files appear and vanish at once).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "entities.h"

namespace ctrlplane::store::test {

class ForgetfulVfs {
 public:
  explicit ForgetfulVfs(const std::string& name);
  ~ForgetfulVfs();
  ForgetfulVfs(const ForgetfulVfs&) = delete;

  const std::string& name() const { return name_; }

  // The crash comes in place of the n-th write, truncation or sync from now.
  void crash_after(int64_t operations, uint64_t seed);
  bool crashed() const;
  // Only after a crash, with all files closed.
  void recover();
  int64_t syncs() const;

  struct Write {
    int64_t at;
    std::string bytes;
    bool truncate = false;  // to `at`
  };
  struct File {
    std::string synced;
    std::vector<Write> unsynced;
  };

  // For the callbacks SQLite makes. False: the crash is here.
  bool opened(const std::string& path);
  bool written(const std::string& path, Write write);
  bool synced(const std::string& path);
  bool removed(const std::string& path);

 private:
  bool count_operation();
  void crash();

  struct Registration;
  const std::string name_;
  std::unique_ptr<Registration> registration_;
  mutable std::mutex mutex_;
  std::map<std::string, File> files_;
  std::map<std::string, std::string> survived_;
  Random random_{0};
  int64_t until_crash_ = INT64_MAX;
  int64_t syncs_ = 0;
  bool crashed_ = false;
};

}  // namespace ctrlplane::store::test
