// A private PostgreSQL for tests: its own data folder, reachable over a Unix socket in it and nowhere
// else, with fsync on as in production. If PostgreSQL is not installed or does not start, the test
// process aborts with the reason: such a test fails, it is never skipped.
//
// A watcher process stops the server and removes the folder when this process ends, however it ends.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

namespace ctrlplane::test {

class TempPostgres {
 public:
  // Where the data lies. In memory every sync is free and a thousand files are gone at once, which is
  // what tests want (where /dev/shm is too small it is the disk after all); a benchmark of durable
  // commits wants the disk.
  enum class Place { kMemory, kDisk };

  // The server of this test process, started at the first call; in memory.
  static TempPostgres& shared();

  explicit TempPostgres(Place place);
  ~TempPostgres();
  TempPostgres(const TempPostgres&) = delete;

  // A new database with the current schema; returns its conninfo. Databases go with the server.
  std::string fresh_database();
  // The same without any schema.
  std::string empty_database();
  // Runs statements through a connection of their own, as the superuser.
  void run(const std::string& conninfo, const std::string& sql);

  // Kills the server as a power cut would (no shutdown checkpoint) and starts it again, with extra
  // command line options such as "-c fsync=off".
  void restart_immediately(const std::string& options = "");

  // For one that is to be stopped for a while.
  void stop_immediately();
  void start(const std::string& options = "");

 private:
  std::string conninfo(const std::string& database) const;
  int control(const std::string& arguments) const;

  std::string dir_;
  int keep_alive_ = -1;  // the watcher acts when this end of its pipe closes
  pid_t watcher_ = -1;
  int databases_ = 0;
  bool template_made_ = false;
};

}  // namespace ctrlplane::test
