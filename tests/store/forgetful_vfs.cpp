#include "forgetful_vfs.h"

#include <sqlite3.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/check.h"

namespace ctrlplane::store::test {
namespace {

// What SQLite allocates for each open file; the default VFS's own file follows behind it.
struct OpenFile {
  sqlite3_file base;
  ForgetfulVfs* vfs;
  const std::string* path;  // null: a temporary file, which no crash needs to spare
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

OpenFile* of(sqlite3_file* f) { return reinterpret_cast<OpenFile*>(f); }
sqlite3_file* real(sqlite3_file* f) { return of(f)->real(); }
sqlite3_vfs* real(sqlite3_vfs* v);

int on_close(sqlite3_file* f) {
  const int rc = real(f)->pMethods->xClose(real(f));
  delete of(f)->path;
  return rc;
}
int on_read(sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
  if (of(f)->vfs->crashed()) return SQLITE_IOERR_READ;
  return real(f)->pMethods->xRead(real(f), to, n, at);
}
int on_write(sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
  if (of(f)->path && !of(f)->vfs->written(*of(f)->path, {at, std::string(static_cast<const char*>(from),
                                                                         static_cast<size_t>(n))}))
    return SQLITE_IOERR_WRITE;
  return real(f)->pMethods->xWrite(real(f), from, n, at);
}
int on_truncate(sqlite3_file* f, sqlite3_int64 size) {
  if (of(f)->path && !of(f)->vfs->written(*of(f)->path, {size, "", true})) return SQLITE_IOERR_TRUNCATE;
  return real(f)->pMethods->xTruncate(real(f), size);
}
int on_sync(sqlite3_file* f, int) {
  // The real disk is not asked: what it would keep is decided here.
  return !of(f)->path || of(f)->vfs->synced(*of(f)->path) ? SQLITE_OK : SQLITE_IOERR_FSYNC;
}
int on_size(sqlite3_file* f, sqlite3_int64* size) { return real(f)->pMethods->xFileSize(real(f), size); }
int on_lock(sqlite3_file* f, int kind) { return real(f)->pMethods->xLock(real(f), kind); }
int on_unlock(sqlite3_file* f, int kind) { return real(f)->pMethods->xUnlock(real(f), kind); }
int on_check_lock(sqlite3_file* f, int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); }
int on_control(sqlite3_file* f, int op, void* arg) {
  return real(f)->pMethods->xFileControl(real(f), op, arg);
}
int on_sector_size(sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); }
int on_characteristics(sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); }
int on_shm_map(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
}
int on_shm_lock(sqlite3_file* f, int offset, int n, int flags) {
  return real(f)->pMethods->xShmLock(real(f), offset, n, flags);
}
void on_shm_barrier(sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); }
int on_shm_unmap(sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); }

const sqlite3_io_methods kMethods = {2,
                                     on_close,
                                     on_read,
                                     on_write,
                                     on_truncate,
                                     on_sync,
                                     on_size,
                                     on_lock,
                                     on_unlock,
                                     on_check_lock,
                                     on_control,
                                     on_sector_size,
                                     on_characteristics,
                                     on_shm_map,
                                     on_shm_lock,
                                     on_shm_barrier,
                                     on_shm_unmap,
                                     nullptr,
                                     nullptr};

void overlay(std::string& content, const ForgetfulVfs::Write& w) {
  const auto at = static_cast<size_t>(w.at);
  if (w.truncate) {
    content.resize(at);
    return;
  }
  if (content.size() < at + w.bytes.size()) content.resize(at + w.bytes.size());
  content.replace(at, w.bytes.size(), w.bytes);
}

}  // namespace

struct ForgetfulVfs::Registration {
  sqlite3_vfs vfs;    // a copy of the default one with some calls replaced
  void* app_data[2];  // the default one, the ForgetfulVfs
};

namespace {

sqlite3_vfs* real(sqlite3_vfs* v) { return static_cast<sqlite3_vfs*>(static_cast<void**>(v->pAppData)[0]); }
ForgetfulVfs* owner(sqlite3_vfs* v) {
  return static_cast<ForgetfulVfs*>(static_cast<void**>(v->pAppData)[1]);
}

int on_open(sqlite3_vfs* v, const char* name, sqlite3_file* f, int flags, int* out_flags) {
  OpenFile* file = of(f);
  file->base.pMethods = nullptr;
  const bool kept = name && (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL));
  if (kept && !owner(v)->opened(name)) return SQLITE_CANTOPEN;
  const int rc = real(v)->xOpen(real(v), name, file->real(), flags, out_flags);
  if (rc != SQLITE_OK) return rc;
  file->base.pMethods = &kMethods;
  file->vfs = owner(v);
  file->path = kept ? new std::string(name) : nullptr;
  return SQLITE_OK;
}

int on_delete(sqlite3_vfs* v, const char* name, int sync_dir) {
  if (!owner(v)->removed(name)) return SQLITE_IOERR_DELETE;
  return real(v)->xDelete(real(v), name, sync_dir);
}

}  // namespace

ForgetfulVfs::ForgetfulVfs(const std::string& name)
    : name_(name), registration_(std::make_unique<Registration>()) {
  sqlite3_vfs* base = sqlite3_vfs_find(nullptr);
  CHECK(base, "SQLite has no default VFS");
  registration_->vfs = *base;
  registration_->app_data[0] = base;
  registration_->app_data[1] = this;
  sqlite3_vfs& vfs = registration_->vfs;
  vfs.pNext = nullptr;
  vfs.zName = name_.c_str();
  vfs.szOsFile = static_cast<int>(sizeof(OpenFile)) + base->szOsFile;
  vfs.pAppData = registration_->app_data;
  vfs.xOpen = on_open;
  vfs.xDelete = on_delete;
  // The others take the VFS itself as argument and would read its pAppData as their own.
  vfs.xAccess = [](sqlite3_vfs* v, const char* n, int flags, int* out) {
    return real(v)->xAccess(real(v), n, flags, out);
  };
  vfs.xFullPathname = [](sqlite3_vfs* v, const char* n, int size, char* out) {
    return real(v)->xFullPathname(real(v), n, size, out);
  };
  CHECK(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK, "registering the VFS");
}

ForgetfulVfs::~ForgetfulVfs() { sqlite3_vfs_unregister(&registration_->vfs); }

void ForgetfulVfs::crash_after(int64_t operations, uint64_t seed) {
  std::lock_guard hold(mutex_);
  until_crash_ = operations;
  random_ = Random(seed);
}

bool ForgetfulVfs::crashed() const {
  std::lock_guard hold(mutex_);
  return crashed_;
}

int64_t ForgetfulVfs::syncs() const {
  std::lock_guard hold(mutex_);
  return syncs_;
}

bool ForgetfulVfs::opened(const std::string& path) {
  std::lock_guard hold(mutex_);
  if (crashed_) return false;
  files_[path];
  return true;
}

bool ForgetfulVfs::count_operation() {
  if (!crashed_ && --until_crash_ < 0) crash();
  return !crashed_;
}

bool ForgetfulVfs::written(const std::string& path, Write write) {
  std::lock_guard hold(mutex_);
  if (crashed_) return false;
  files_[path].unsynced.push_back(std::move(write));  // of the last write, too, a part may survive
  return count_operation();
}

bool ForgetfulVfs::synced(const std::string& path) {
  std::lock_guard hold(mutex_);
  if (!count_operation()) return false;
  File& file = files_[path];
  for (const Write& w : file.unsynced) overlay(file.synced, w);
  file.unsynced.clear();
  ++syncs_;
  return true;
}

bool ForgetfulVfs::removed(const std::string& path) {
  std::lock_guard hold(mutex_);
  if (crashed_) return false;
  files_.erase(path);
  return true;
}

void ForgetfulVfs::crash() {
  crashed_ = true;
  // A disk that lost all, one that lost only the end of the last write, or (half of them) any mixture.
  const uint64_t kind = random_.below(4);
  for (const auto& [path, file] : files_) {
    std::string content = file.synced;
    for (const Write& w : file.unsynced) {
      const bool last = &w == &file.unsynced.back();
      const uint64_t fate = kind == 0 ? 0 : kind == 1 ? (last ? 2 : 1) : random_.below(3);
      if (fate == 0) continue;
      Write part = w;
      if (fate == 2 && !w.truncate && !w.bytes.empty()) part.bytes.resize(random_.below(w.bytes.size()));
      overlay(content, part);
    }
    survived_[path] = std::move(content);
  }
}

void ForgetfulVfs::recover() {
  std::lock_guard hold(mutex_);
  CHECK(crashed_, "nothing to recover from");
  files_.clear();
  for (auto& [path, content] : survived_) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    std::filesystem::remove(path + "-shm");
    files_[path].synced = std::move(content);
  }
  survived_.clear();
  crashed_ = false;
  until_crash_ = INT64_MAX;
}

}  // namespace ctrlplane::store::test
