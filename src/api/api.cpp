#include "api/api.h"

#include <fmt/core.h>

#include "api/openapi.h"
#include "api/secret.h"
#include "api/shapes.h"
#include "base/log.h"

namespace ctrlplane::api {
namespace {

constexpr Duration kSlow = seconds(1);
constexpr Duration kOwnerPatience = seconds(3);
constexpr Duration kOwnerPoll = milliseconds(5);
constexpr Duration kLookPause = milliseconds(50);

Error no_owner() {
  return {ErrorCode::kUnavailable, "the workspace has no owner just now, or is being loaded: try again"};
}

}  // namespace

Api::Api(Executor& executor, StorePort& port, Replica& replica, store::Store& store, ApiOptions options)
    : executor_(executor),
      replica_(replica),
      store_(store),
      options_(std::move(options)),
      shapes_(kShapes),
      router_(families(), shapes_),
      accounts_(executor, port, replica, directory_),
      events_(executor, directory_),
      forwarder_(options_.cluster_secret),
      openapi_(openapi_document(router_, shapes_, options_.version)),
      pool_(std::make_unique<WorkPool>(options_.pool_threads, options_.pool_bound)) {
  init_secrets();
  for (size_t i = 0; i < router_.routes().size(); ++i) stats_.push_back(std::make_unique<RouteStats>());
}

Api::~Api() = default;

void Api::stop() {
  forwarder_.stop();
  pool_->stop();
}

void Api::handle(net::Request request, net::Responder responder) {
  std::make_shared<Call>(*this, std::move(request), std::move(responder))->run();
}

size_t Api::body_limit(const net::Request& head) const {
  // Most requests have no body, and which way they go is found out later.
  if (!head.headers.find("content-length") && !head.headers.find("transfer-encoding"))
    return options_.max_body_bytes;
  auto segments = head.path_segments();
  if (!segments) return options_.max_body_bytes;
  RouteMatch m = router_.match(head.method, *segments);
  return m.route && m.route->route->bulk ? options_.max_bulk_body_bytes : options_.max_body_bytes;
}

void Api::join(Replica& replica) {
  replica.listen(directory_);
  replica.listen(accounts_);
  replica.listen(events_);
  replica.on_view([this](const View& view) {
    accounts_.see(view);
    forwarder_.abandon_strays(replica_, boot());
  });
}

void Api::submit(std::shared_ptr<Call> call, WorkspaceId workspace, ctrlplane::Request request,
                 ReplyFn done) {
  executor_.post([this, call = std::move(call), workspace, request = std::move(request),
                  done = std::move(done)]() mutable {
    find_owner(std::move(call), workspace, std::move(request), std::move(done));
  });
}

// A workspace that was made or is changing its owner just now is somewhere in a moment: better a short wait
// than a client's error.
void Api::find_owner(std::shared_ptr<Call> call, WorkspaceId workspace, ctrlplane::Request request,
                     ReplyFn done) {
  if (replica_.serves(workspace)) return replica_.submit(workspace, std::move(request), std::move(done));
  if (call->was_forwarded()) return call->disown();  // one hop, not two
  if (auto peer = replica_.owner_of(workspace)) return call->pass_on(*peer, workspace);
  if (boot() >= call->began() + kOwnerPatience) return call->refuse(no_owner());
  if (boot() >= last_look_ + kLookPause) {
    last_look_ = boot();
    replica_.look();
  }
  executor_.post_after(kOwnerPoll, [this, call = std::move(call), workspace, request = std::move(request),
                                    done = std::move(done)]() mutable {
    find_owner(std::move(call), workspace, std::move(request), std::move(done));
  });
}

void Api::note(const Call& call, int status, Duration took) {
  if (!call.route_) {
    ++unmatched_;
    return;
  }
  RouteStats& stats = *stats_[static_cast<size_t>(call.route_ - router_.routes().data())];
  ++stats.by_class[static_cast<size_t>(status / 100) % 6];
  stats.total_us += static_cast<uint64_t>(took.us);
  if (status < 500 && took < kSlow) return;
  log::warn(status >= 500 ? "request failed" : "slow request", {{"operation", std::string(call.route().id)},
                                                                {"status", std::to_string(status)},
                                                                {"ms", std::to_string(took.us / 1000)},
                                                                {"actor", call.who().email}});
}

std::string Api::metrics() const {
  std::string out =
      "# HELP ctrlplane_http_requests_total Requests by operation and class of status.\n"
      "# TYPE ctrlplane_http_requests_total counter\n";
  for (size_t i = 0; i < stats_.size(); ++i)
    for (size_t c = 1; c < 6; ++c)
      if (uint64_t n = stats_[i]->by_class[c])
        out += fmt::format("ctrlplane_http_requests_total{{operation=\"{}\",status=\"{}xx\"}} {}\n",
                           router_.routes()[i].route->id, c, n);
  out +=
      "# HELP ctrlplane_http_request_seconds_total Time spent until answered, by operation.\n"
      "# TYPE ctrlplane_http_request_seconds_total counter\n";
  for (size_t i = 0; i < stats_.size(); ++i)
    if (uint64_t us = stats_[i]->total_us)
      out += fmt::format("ctrlplane_http_request_seconds_total{{operation=\"{}\"}} {:.6f}\n",
                         router_.routes()[i].route->id, static_cast<double>(us) / 1e6);
  out += fmt::format("# TYPE ctrlplane_http_unmatched_total counter\nctrlplane_http_unmatched_total {}\n",
                     unmatched_.load());
  out += fmt::format("# TYPE ctrlplane_pool_waiting gauge\nctrlplane_pool_waiting {}\n", pool_->waiting());
  out += fmt::format(
      "# HELP ctrlplane_forwarded_total Requests passed on to the replica that owns their workspace.\n"
      "# TYPE ctrlplane_forwarded_total counter\nctrlplane_forwarded_total {}\n",
      forwarder_.passed());
  for (const auto& source : metric_sources_) source(out);
  return out;
}

}  // namespace ctrlplane::api
