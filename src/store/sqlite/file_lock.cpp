#include "store/sqlite/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/core.h>

namespace ctrlplane::store {

Result<FileLock> FileLock::take(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0)
    return fail(ErrorCode::kUnavailable, fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  FileLock lock(fd);
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(fd, F_OFD_SETLK, &whole) == 0) return lock;
  if (errno == EAGAIN || errno == EACCES)
    return fail(ErrorCode::kConflict, fmt::format("{}: held by another process; one database file serves one "
                                                  "process at a time",
                                                  path));
  return fail(ErrorCode::kUnavailable, fmt::format("{}: cannot be locked: {}", path, std::strerror(errno)));
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace ctrlplane::store
