#include "api/forwarder.h"

#include <algorithm>
#include <array>
#include <optional>

namespace ctrlplane::api {
namespace {

constexpr Duration kTimeout = minutes(3);      // the longest a bulk write may take
constexpr Duration kStreamIdle = seconds(60);  // a stream says something every quarter of a minute
constexpr Duration kStrayPatience = seconds(3);
constexpr size_t kMaxRefusal = 1 << 20;  // of a stream

// Of one connection only, or replaced by what the sender found out, or not for outsiders to say.
constexpr std::array<std::string_view, 13> kNotPassedOn = {"connection",
                                                           "keep-alive",
                                                           "transfer-encoding",
                                                           "te",
                                                           "trailer",
                                                           "upgrade",
                                                           "content-length",
                                                           "host",
                                                           "expect",
                                                           "authorization",
                                                           "x-api-key",
                                                           "proxy-connection",
                                                           "proxy-authorization"};

bool is_passed_on(const net::Header& header) {
  auto is = [&](std::string_view name) { return net::same_name(header.name, name); };
  return std::none_of(kNotPassedOn.begin(), kNotPassedOn.end(), is) && !is("cookie") &&
         !is(kForwardedHeader) && !is(kSignatureHeader);
}

net::ClientRequest outgoing(const Peer& peer, const net::Request& request, const Forwarded& what,
                            const Seal& seal) {
  net::Request out{.method = request.method,
                   .target = request.target,
                   .path = request.path,
                   .query = request.query,
                   .body = request.body};
  for (const net::Header& h : request.headers.items())
    if (is_passed_on(h)) out.headers.add(h.name, h.value);
  seal.close(out, what);
  std::string url = peer.address + out.path + (out.query.empty() ? "" : "?" + out.query);
  return {.method = std::move(out.method),
          .url = std::move(url),
          .headers = std::move(out.headers),
          .body = std::move(out.body),
          .timeout = kTimeout};
}

// Not enough connections to one replica are a reason to wait, not to refuse.
net::AsyncClientOptions client_options() { return {.max_requests = 4096, .max_connections_per_host = 256}; }

}  // namespace

struct Forwarder::Passing : std::enable_shared_from_this<Passing> {
  Peer peer;
  WorkspaceId home;
  Ends ends;
  std::atomic<bool> over = false;
  std::optional<Duration> stray_since;  // on the executor

  void answer(net::Response response) {
    if (response.headers.find(kNotOwnerHeader)) return fail(false);
    if (!over.exchange(true)) ends.answered(std::move(response));
  }
  void fail(bool maybe_done) {
    if (!over.exchange(true)) ends.failed(maybe_done);
  }

  // ---- Streams: on the client's thread, but for `handle` ----
  std::optional<net::Response> head;  // of an answer that is no stream, with what came of its body
  std::shared_ptr<net::EventStream> stream;
  std::mutex mutex;
  net::AsyncClient::Stream handle;

  void cancel() {
    std::lock_guard lock(mutex);
    handle.cancel();
  }
  void begin(net::Response response) {
    if (response.status != 200 || response.headers.find(kNotOwnerHeader) || over.exchange(true)) {
      head = std::move(response);
      return;
    }
    stream = std::make_shared<net::EventStream>(ends.streamed(std::move(response)));
    stream->on_close([weak = weak_from_this()] {
      if (auto self = weak.lock()) self->cancel();
    });
  }
  bool take(std::string_view piece) {
    if (stream) return stream->send(piece);
    head->body += piece;
    return head->body.size() <= kMaxRefusal;
  }
  void end(const std::expected<void, net::Failure>& how) {
    if (stream) return stream->close();
    how&& head ? answer(*std::move(head)) : fail(!how && how.error().maybe_sent);
  }
};

Forwarder::Forwarder(std::string cluster_secret)
    : seal_(std::move(cluster_secret)), client_(std::make_shared<net::AsyncClient>(client_options())) {}

Forwarder::~Forwarder() { stop(); }

std::shared_ptr<net::AsyncClient> Forwarder::client() const {
  std::lock_guard lock(client_mutex_);
  return client_;
}

void Forwarder::stop() {
  std::shared_ptr<net::AsyncClient> last;
  {
    std::lock_guard lock(client_mutex_);
    last = std::move(client_);
  }
  // Not under the lock: its callbacks may want to pass on again.
  last.reset();
}

std::shared_ptr<Forwarder::Passing> Forwarder::begin(const Peer& peer, WorkspaceId home, Ends ends) {
  ++passed_;
  auto passing = std::make_shared<Passing>();
  passing->peer = peer;
  passing->home = home;
  passing->ends = std::move(ends);
  std::lock_guard lock(mutex_);
  if (passed_ % 256 == 0) std::erase_if(under_way_, [](const auto& p) { return p.expired(); });
  under_way_.push_back(passing);
  return passing;
}

void Forwarder::pass(const Peer& peer, WorkspaceId home, const net::Request& request, const Forwarded& what,
                     Ends ends) {
  auto passing = begin(peer, home, std::move(ends));
  auto client = this->client();
  if (!client) return passing->fail(false);
  client->send(outgoing(peer, request, what, seal_), [passing](std::expected<net::Response, net::Failure> r) {
    r ? passing->answer(*std::move(r)) : passing->fail(r.error().maybe_sent);
  });
}

void Forwarder::pass_stream(const Peer& peer, WorkspaceId home, const net::Request& request,
                            const Forwarded& what, Ends ends) {
  auto passing = begin(peer, home, std::move(ends));
  auto client = this->client();
  if (!client) return passing->fail(false);
  net::StreamEvents events{.on_head = [passing](net::Response head) { passing->begin(std::move(head)); },
                           .on_data = [passing](std::string_view piece) { return passing->take(piece); },
                           .on_end = [passing](std::expected<void, net::Failure> how) { passing->end(how); }};
  auto handle = client->stream(outgoing(peer, request, what, seal_), kStreamIdle, std::move(events));
  std::lock_guard lock(passing->mutex);
  passing->handle = std::move(handle);
}

void Forwarder::abandon_strays(const Replica& replica, Duration now) {
  std::vector<std::shared_ptr<Passing>> strays;
  {
    std::lock_guard lock(mutex_);
    for (const auto& weak : under_way_) {
      auto p = weak.lock();
      if (!p) continue;
      if (replica.owner_of(p->home) == p->peer) {
        p->stray_since.reset();
        continue;
      }
      if (!p->stray_since) p->stray_since = now;
      if (!replica.lives(p->peer.id) || now - *p->stray_since > kStrayPatience)
        strays.push_back(std::move(p));
    }
  }
  for (const auto& p : strays) {
    p->cancel();
    p->fail(true);
  }
}

}  // namespace ctrlplane::api
