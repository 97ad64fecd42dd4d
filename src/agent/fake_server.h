// A server that speaks the pull agent's protocol, for tests: no engine, all in memory, and made to fail at
// will.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/api.h"
#include "agent/file_descriptor.h"
#include "net/testing.h"

namespace ctrlplane::agent {

// Real time, or a time that stands still; both set forward at will.
class SkewedClock final : public Clock {
 public:
  explicit SkewedClock(bool runs = true) : runs_(runs), start_(real_.boot()) {}
  Time wall() const override { return real_.wall(); }
  Duration boot() const override { return (runs_ ? real_.boot() : start_) + Duration{skew_us_}; }
  void skip(Duration d) { skew_us_ += d.us; }

 private:
  SystemClock real_;
  bool runs_;
  Duration start_;
  std::atomic<int64_t> skew_us_ = 0;
};

class FakeServer {
 public:
  struct Job {
    std::string id;
    std::string context = "{}";
    std::string status = "queued";
    std::string holder = {};
    std::string message = {};
    std::string output = {};
    bool fences_itself = false;
    bool stop = false;  // said with the next heartbeat
  };
  struct State {
    std::map<std::string, std::string> agents = {};  // name to id
    std::vector<Job> jobs = {};
    std::vector<std::string> requests = {};  // "POST /job-agents/a/claim": below the workspace
    std::vector<std::string> reports = {};   // "job status", those that were accepted
    std::vector<size_t> heartbeats = {};     // how many jobs each named
    int lease_seconds = 300, heartbeat_seconds = 30;
    bool refusing = false;  // 503 to everything
    // Asked first, where set; an answer replaces the usual one.
    std::function<std::optional<net::Response>(const std::string& request)> instead = {};

    Job& job(const std::string& id);
    size_t count(std::string_view request) const;
  };

  FakeServer();
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  ApiOptions api() const { return {.url = url(), .api_key = "key", .workspace = "w"}; }
  void add_job(Job job);

  // Under the lock; wakes those who wait.
  void change(const std::function<void(State&)>& how);
  template <class Read>
  auto read(Read how) {
    std::lock_guard lock(mutex_);
    return how(state_);
  }
  // True once it holds; false after 20 s.
  bool wait_until(const std::function<bool(State&)>& condition);
  bool wait_for_status(const std::string& job, const std::string& status);

  // Closes every connection and the port, as a process that ends does; up() is the next process.
  void down();
  void up();

 private:
  net::Response answer(const net::Request& request);
  net::Response route(const std::string& method, const std::vector<std::string>& path, JsonView body);
  net::Response agents(const std::string& method, const std::vector<std::string>& path, JsonView body);
  net::Response claim(const std::string& wanted, JsonView body);
  net::Response heartbeat(JsonView body);
  net::Response report(Job& job, JsonView body);
  net::Response append(Job& job, JsonView body);

  std::mutex mutex_;
  std::condition_variable changed_;
  State state_;
  Fd reserved_;  // holds the port while nobody listens
  uint16_t port_ = 0;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace ctrlplane::agent
