// A lock on a file for as long as this object lives, and no longer than its process: the kernel lets
// go of it however the process ends. It belongs to the open file, not to the process (OFD), so a second
// attempt inside the same process is refused too.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace ctrlplane::store {

class FileLock {
 public:
  // Creates the file if need be. kConflict: somebody holds it; the message names the file.
  static Result<FileLock> take(const std::string& path);

  FileLock(FileLock&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace ctrlplane::store
