// The front: takes requests from the HTTP server, finds out who asks for what, checks it, and has it done.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "api/accounts_follower.h"
#include "api/call.h"
#include "api/directory.h"
#include "api/events.h"
#include "api/forwarder.h"
#include "api/router.h"
#include "api/shape.h"
#include "api/throttle.h"
#include "api/work_pool.h"
#include "base/clock.h"
#include "net/responder.h"
#include "runtime/replica.h"

namespace ctrlplane::api {

struct ApiOptions {
  std::string version = "0.1.0";
  Duration session_life = hours(24 * 7);
  bool secure_cookies = false;  // the server is reached by HTTPS only
  size_t pool_threads = 2;
  size_t pool_bound = 1000;
  size_t max_body_bytes = 1024 * 1024;
  size_t max_bulk_body_bytes = 100 * 1024 * 1024;
  std::string cluster_secret;  // of all replicas on one store
};

struct RouteStats {
  std::array<std::atomic<uint64_t>, 6> by_class = {};  // 1xx … 5xx; [0] unused
  std::atomic<uint64_t> total_us = 0;
};

class Api {
 public:
  Api(Executor& executor, StorePort& port, Replica& replica, store::Store& store, ApiOptions options);
  ~Api();

  // For HttpServer, on its I/O thread.
  void handle(net::Request request, net::Responder responder);
  size_t body_limit(const net::Request& head) const;
  net::Response error_response(int status) const;

  // Registers with the replica, before it starts.
  void join(Replica& replica);
  Directory& directory() { return directory_; }
  Events& events() { return events_; }
  AccountsFollower& accounts() { return accounts_; }
  const Replica& replica() const { return replica_; }  // on the loops' thread

  // Ready to serve: accounts known, beats fresh, not about to end.
  bool ready() const { return directory_.ready() && healthy_.load() && !leaving_.load(); }
  bool leaving() const { return leaving_.load(); }
  void note_leaving() { leaving_.store(true); }
  // Called regularly by whoever runs the replica, on the executor's thread.
  void note_health(bool beats_are_fresh) { healthy_.store(beats_are_fresh); }

  const std::string& openapi() const { return openapi_; }
  const ApiOptions& options() const { return options_; }
  std::string metrics() const;  // on the loops' thread
  // More lines for /metrics.
  void add_metrics(std::function<void(std::string&)> source) { metric_sources_.push_back(std::move(source)); }

  // Lets accepted slow work end; call after the HTTP server has stopped.
  void stop();

  Throttle& sign_in_throttle() { return sign_in_throttle_; }
  Duration boot() const { return executor_.clock().boot(); }
  void post(Task task) { executor_.post(std::move(task)); }  // to the loops' thread

 private:
  friend class Call;
  // To the workspace's loop if it is here. Otherwise the call goes to the replica that owns it, whole, and
  // `request` and `done` are dropped: nothing has been done yet.
  void submit(std::shared_ptr<Call> call, WorkspaceId workspace, ctrlplane::Request request, ReplyFn done);
  void find_owner(std::shared_ptr<Call> call, WorkspaceId workspace, ctrlplane::Request request,
                  ReplyFn done);
  void note(const Call& call, int status, Duration took);

  Executor& executor_;
  Replica& replica_;
  store::Store& store_;
  ApiOptions options_;
  Shapes shapes_;
  Router router_;
  Directory directory_;
  AccountsFollower accounts_;
  Events events_;
  Forwarder forwarder_;
  Duration last_look_;  // for somebody who waits; on the loops' thread
  Throttle sign_in_throttle_;
  std::string openapi_;
  std::atomic<bool> healthy_ = false, leaving_ = false;
  std::vector<std::unique_ptr<RouteStats>> stats_;  // by route
  std::atomic<uint64_t> unmatched_ = 0;
  std::vector<std::function<void(std::string&)>> metric_sources_;
  std::unique_ptr<WorkPool> pool_;
};

}  // namespace ctrlplane::api
