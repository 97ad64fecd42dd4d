#include "support/temp_postgres.h"

#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/core.h>

#include "base/check.h"
#include "base/log.h"
#include "store/postgres/postgres_store.h"

namespace ctrlplane::test {
namespace {

namespace fs = std::filesystem;

std::string bin_dir() {
  if (FILE* p = ::popen("pg_config --bindir 2>/dev/null", "r")) {
    char line[512] = {};
    const bool got = std::fgets(line, sizeof line, p) != nullptr;
    ::pclose(p);
    std::string dir = got ? line : "";
    while (!dir.empty() && dir.back() == '\n') dir.pop_back();
    if (fs::exists(dir + "/initdb")) return dir;
  }
  const std::string fallback = "/usr/lib/postgresql/15/bin";
  CHECK(fs::exists(fallback + "/initdb"), "PostgreSQL 15 is not installed; the tests need it");
  return fallback;
}

const passwd* server_user() {
  if (::geteuid() != 0) return nullptr;
  const passwd* user = ::getpwnam("postgres");
  CHECK(user, "running as root, but there is no user postgres to run the server as");
  return user;
}

// PostgreSQL refuses to run as root.
void become_server_user() {
  const passwd* user = server_user();
  if (!user) return;
  if (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0)
    ::_exit(126);
}

// Runs a shell command as the server's user; output goes to `log`.
int run_command(const std::string& command, const std::string& log) {
  const pid_t child = ::fork();
  CHECK(child >= 0, "fork");
  if (child == 0) {
    become_server_user();
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    const int in = ::open("/dev/null", O_RDONLY);
    ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    if (::chdir("/") != 0) ::_exit(126);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

bool has_room(const fs::path& dir) {
  std::error_code error;
  const fs::space_info space = fs::space(dir, error);
  return !error && space.available > (2ull << 30) && ::access(dir.c_str(), W_OK) == 0;
}

std::string tail_of(const std::string& file) {
  std::ifstream in(file);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  return text.size() > 2000 ? text.substr(text.size() - 2000) : text;
}

}  // namespace

TempPostgres& TempPostgres::shared() {
  static TempPostgres server(Place::kMemory);
  return server;
}

TempPostgres::TempPostgres(Place place) {
  const fs::path base =
      place == Place::kMemory && has_room("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
  std::string name = (base / "ctrlplane-pg-XXXXXX").string();
  CHECK(::mkdtemp(name.data()) != nullptr, "no temporary folder");
  dir_ = name;
  if (const passwd* user = server_user())
    CHECK(::chown(dir_.c_str(), user->pw_uid, user->pw_gid) == 0, "chown");
  const std::string bin = bin_dir();

  int ends[2];
  CHECK(::pipe2(ends, O_CLOEXEC) == 0, "pipe");
  watcher_ = ::fork();
  CHECK(watcher_ >= 0, "fork");
  if (watcher_ == 0) {
    ::close(ends[1]);
    ::setsid();  // a Ctrl-C meant for the test must not end its watcher
    char byte;
    while (::read(ends[0], &byte, 1) < 0 && errno == EINTR) {
    }
    run_command(fmt::format("{}/pg_ctl stop -D {}/data -m immediate -w", bin, dir_), dir_ + "/log");
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
    ::_exit(0);
  }
  ::close(ends[0]);
  keep_alive_ = ends[1];

  const int made = run_command(
      fmt::format("{}/initdb -D {}/data -U postgres -A trust -E UTF8 --locale=C --no-sync", bin, dir_),
      dir_ + "/log");
  CHECK(made == 0, "initdb failed: " + tail_of(dir_ + "/log"));
  std::ofstream conf(dir_ + "/data/postgresql.conf", std::ios::app);
  conf << "listen_addresses = ''\nunix_socket_directories = '" << dir_
       << "'\nshared_buffers = 64MB\nmax_connections = 60\nautovacuum = off\n";
  conf.close();
  start();
}

TempPostgres::~TempPostgres() {
  ::close(keep_alive_);
  ::waitpid(watcher_, nullptr, 0);
}

int TempPostgres::control(const std::string& arguments) const {
  return run_command(fmt::format("{}/pg_ctl -D {}/data -w -l {}/log {}", bin_dir(), dir_, dir_, arguments),
                     dir_ + "/log");
}

void TempPostgres::start(const std::string& options) {
  CHECK(control(fmt::format("start -o '{}'", options)) == 0,
        "PostgreSQL does not start: " + tail_of(dir_ + "/log"));
}

void TempPostgres::stop_immediately() {
  CHECK(control("stop -m immediate") == 0, "PostgreSQL does not stop: " + tail_of(dir_ + "/log"));
}

void TempPostgres::restart_immediately(const std::string& options) {
  stop_immediately();
  start(options);
}

std::string TempPostgres::conninfo(const std::string& database) const {
  return fmt::format("host={} user=postgres dbname={}", dir_, database);
}

void TempPostgres::run(const std::string& conninfo, const std::string& sql) {
  PGconn* c = PQconnectdb(conninfo.c_str());
  PGresult* r = PQexec(c, sql.c_str());
  const ExecStatusType status = PQresultStatus(r);
  CHECK(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, PQerrorMessage(c));
  PQclear(r);
  PQfinish(c);
}

std::string TempPostgres::empty_database() {
  const std::string name = fmt::format("empty{}", ++databases_);
  run(conninfo("postgres"), "CREATE DATABASE " + name);
  return conninfo(name);
}

std::string TempPostgres::fresh_database() {
  if (!template_made_) {
    run(conninfo("postgres"), "CREATE DATABASE migrated");
    log::set_level(log::Level::kError);  // there is no standby here, and every test would say so
    auto store = store::PostgresStore::open(conninfo("migrated"));
    CHECK(store, store ? "" : store.error().message);
    auto done = (*store)->migrate();
    CHECK(done, done ? "" : done.error().message);
    template_made_ = true;
  }
  const std::string name = fmt::format("test{}", ++databases_);
  run(conninfo("postgres"), fmt::format("CREATE DATABASE {} TEMPLATE migrated", name));
  return conninfo(name);
}

}  // namespace ctrlplane::test
