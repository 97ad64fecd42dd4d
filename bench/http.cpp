// What does the API cost over plain HTTP? Point reads and writes over loopback by wrk, beside an empty
// handler on the same server with the same hop to the loop's thread and back. 1 and 64 writers: grouped
// commits should carry many for the price of one.
//
// Aim: reads at 70 % of the empty handler; 64 writers at least 4 × one writer.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <regex>

#include "api/secret.h"
#include "app/server.h"
#include "base/log.h"
#include "bench/databases.h"
#include "bench/harness.h"
#include "net/client.h"

namespace ctrlplane::bench {
namespace {

const std::string kKey = std::string(16, 'a') + "." + std::string(64, 'b');

// ---- wrk -------------------------------------------------------------------------------------------------

struct Load {
  std::string url;
  int connections = 64;
  int seconds = 5;
  std::string script = {};  // Lua
};

struct Figures {
  double per_second = 0;
  std::string p50, p99;
  long errors = 0;
};

double figure(const std::string& text, const std::string& pattern) {
  std::smatch m;
  return std::regex_search(text, m, std::regex(pattern)) ? std::stod(m[1]) : 0;
}
std::string word(const std::string& text, const std::string& pattern) {
  std::smatch m;
  return std::regex_search(text, m, std::regex(pattern)) ? m[1].str() : "-";
}

Figures run_wrk(const Load& load, const std::string& folder) {
  std::string script = folder + "/wrk.lua";
  std::ofstream(script) << "wrk.headers['x-api-key'] = '" << kKey << "'\n"
                        << "wrk.headers['content-type'] = 'application/json'\n"
                        << load.script;
  std::string command = fmt::format("wrk -t1 -c{} -d{}s --latency -s {} '{}' 2>&1", load.connections,
                                    load.seconds, script, load.url);
  FILE* pipe = ::popen(command.c_str(), "r");
  CHECK(pipe, "wrk does not start");
  std::string text;
  char buffer[4096];
  while (size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
  int status = ::pclose(pipe);
  CHECK(status == 0, "wrk failed: is it installed?");
  return {.per_second = figure(text, "Requests/sec:\\s+([0-9.]+)"),
          .p50 = word(text, "50%\\s+(\\S+)"),
          .p99 = word(text, "99%\\s+(\\S+)"),
          .errors = static_cast<long>(figure(text, "Non-2xx or 3xx responses: ([0-9]+)"))};
}

// ---- The empty handler
// -------------------------------------------------------------------------------------

class EmptyServer {
 public:
  EmptyServer() : executor_(std::make_unique<ThreadExecutor>(clock_)) {
    auto handler = [this](net::Request, net::Responder responder) {
      executor_->post([r = std::move(responder)]() mutable {
        r.respond({.headers = {{"Content-Type", "application/json"}}, .body = std::string(200, 'x')});
      });
    };
    server_ = must(net::HttpServer::start({}, handler));
  }
  ~EmptyServer() {
    server_.reset();
    executor_.reset();
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}/", server_->port()); }

 private:
  SystemClock clock_;
  std::unique_ptr<ThreadExecutor> executor_;
  std::unique_ptr<net::HttpServer> server_;
};

// ---- The product
// -------------------------------------------------------------------------------------------

class Product {
 public:
  explicit Product(const std::string& database) {
    app::ServeSettings settings;
    settings.listen = "127.0.0.1:0";
    settings.database = database;
    settings.admin_key = kKey;
    settings.admin_password = "not a secret here";
    server_ = must(app::Server::start(settings));
    send("POST", "/api/v1/workspaces", R"({"name":"bench","slug":"bench"})");
    send("PUT", system_path(), R"({"name":"shop"})");
    send("PUT", resource_path(),
         R"({"name":"n1","kind":"Node","version":"v1","metadata":{"env":"prod","region":"eu-west-1"}})");
  }
  ~Product() { server_->stop(seconds(5)); }

  std::string url(const std::string& path) const { return server_->url() + path; }
  static std::string system_path() {
    return "/api/v1/workspaces/bench/systems/11111111-1111-4111-8111-111111111111";
  }
  static std::string resource_path() { return "/api/v1/workspaces/bench/resources/identifier/org%2Fn1"; }

 private:
  void send(const std::string& method, const std::string& path, const std::string& body) {
    net::HttpClient client;
    net::ClientRequest request{.method = method, .url = server_->url() + path, .body = body};
    request.headers = {{"x-api-key", kKey}, {"content-type", "application/json"}};
    auto response = must(client.send(request));
    CHECK(response.status < 300, response.body);
  }
  std::unique_ptr<app::Server> server_;
};

std::string upserts() {
  return "local n = 0\n"
         "function request()\n"
         "  n = n + 1\n"
         "  local path = '/api/v1/workspaces/bench/resources/identifier/node-' .. (n % 1000)\n"
         "  local body = '{\"name\":\"n' .. n .. '\",\"kind\":\"Node\",\"version\":\"v1\"}'\n"
         "  return wrk.format('PUT', path, nil, body)\n"
         "end\n";
}

void row(const std::string& what, const Figures& f, double against, const std::string& whom) {
  fmt::print("{:<34} {:>10.0f}/s  p50 {:>9} p99 {:>9}  {:>6} of {}{}\n", what, f.per_second, f.p50, f.p99,
             against > 0 ? fmt::format("{:.2f}", f.per_second / against) : "-", whom,
             f.errors ? fmt::format("  {} ERRORS", f.errors) : "");
  std::fflush(stdout);
}

void run(const std::string& only, int duration) {
  test::TempDir scratch;
  Databases databases;
  Figures empty;
  {
    EmptyServer server;
    run_wrk({.url = server.url(), .seconds = 1}, scratch.path());
    empty = run_wrk({.url = server.url(), .seconds = duration}, scratch.path());
    row("empty handler, 64 connections", empty, empty.per_second, "itself");
  }
  for (Kind kind : kinds(only)) {
    std::string address = databases.fresh(kind);
    Product product(kind == Kind::kSqlite ? "sqlite:" + address : address);
    auto named = [&](const char* what) { return fmt::format("{} {}", name_of(kind), what); };
    row(named("read a system, 64"),
        run_wrk({.url = product.url(Product::system_path()), .seconds = duration}, scratch.path()),
        empty.per_second, "empty");
    row(named("read a resource, 64"),
        run_wrk({.url = product.url(Product::resource_path()), .seconds = duration}, scratch.path()),
        empty.per_second, "empty");
    Figures one =
        run_wrk({.url = product.url("/"), .connections = 1, .seconds = duration, .script = upserts()},
                scratch.path());
    row(named("upsert, 1 writer"), one, one.per_second, "itself");
    Figures many =
        run_wrk({.url = product.url("/"), .connections = 64, .seconds = duration, .script = upserts()},
                scratch.path());
    row(named("upsert, 64 writers"), many, one.per_second, "one writer");
  }
}

}  // namespace
}  // namespace ctrlplane::bench

int main(int argc, char** argv) {
  std::string only = argc > 1 ? argv[1] : "";
  ctrlplane::log::set_level(ctrlplane::log::Level::kWarning);
  ctrlplane::bench::run(only == "all" ? "" : only, argc > 2 ? std::stoi(argv[2]) : 5);
}
