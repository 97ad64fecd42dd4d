#include "net/asio.h"

#include "net/server.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/session.h"

namespace ctrlplane::net {
namespace {

using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, Executor>;
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, Executor>;

Response plain_error(int status) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain"}},
          .body = std::string(reason_phrase(status)) + "\n"};
}

}  // namespace

struct HttpServer::Impl {
  asio::io_context io{1};
  asio::executor_work_guard<Executor> work{io.get_executor()};
  Acceptor acceptor{io.get_executor()};
  Timer accept_again{io.get_executor()};
  std::unique_ptr<TlsContext> tls;
  SessionHost host;
  std::unordered_map<Session*, std::shared_ptr<Session>> sessions;
  bool stopping = false;
  uint16_t port = 0;
  SystemClock clock;
  int64_t date_second = -1;
  std::string date;

  std::mutex mutex;
  std::condition_variable changed;
  bool empty = false;  // stopping, and the last session has gone

  std::atomic<uint64_t> open = 0, accepted = 0, refused = 0;
  std::thread thread;

  Status listen();
  void accept();
  void take(Socket socket);
  void refuse(Socket socket);
  void session_closed(Session& session);
  std::string_view date_now();
  void stop_accepting();
  void each_session(void (Session::*act)());
  void note_if_empty();
};

Status HttpServer::Impl::listen() {
  const HttpOptions& o = host.options;
  boost::system::error_code ec;
  auto failed = [&](std::string_view what) {
    return fail(ErrorCode::kUnavailable, fmt::format("{} {}:{}: {}", what, o.address, o.port, ec.message()));
  };
  auto address = asio::ip::make_address(o.address, ec);
  if (ec) return fail(ErrorCode::kInvalid, "not an IP address: " + o.address);
  asio::ip::tcp::endpoint endpoint(address, o.port);
  acceptor.open(endpoint.protocol(), ec);
  if (ec) return failed("cannot open a socket for");
  acceptor.set_option(Acceptor::reuse_address(true), ec);
  acceptor.bind(endpoint, ec);
  if (ec) return failed("cannot bind");
  acceptor.listen(Acceptor::max_listen_connections, ec);
  if (ec) return failed("cannot listen on");
  port = acceptor.local_endpoint(ec).port();
  return {};
}

void HttpServer::Impl::accept() {
  acceptor.async_accept([this](auto ec, Socket socket) {
    if (stopping) return;
    if (!ec) {
      take(std::move(socket));
      return accept();
    }
    // Mostly that we are out of file descriptors; trying on at once would only burn the processor.
    log::warn("cannot accept a connection", {{"error", ec.message()}});
    accept_again.expires_after(std::chrono::milliseconds(100));
    accept_again.async_wait([this](auto cancelled) {
      if (!cancelled && !stopping) accept();
    });
  });
}

void HttpServer::Impl::take(Socket socket) {
  boost::system::error_code ec;
  auto peer = socket.remote_endpoint(ec);
  if (ec) return;  // gone already
  socket.set_option(asio::ip::tcp::no_delay(true), ec);
  if (sessions.size() >= host.options.max_connections) return refuse(std::move(socket));
  auto stream = tls ? tls->wrap(std::move(socket)) : plain_stream(std::move(socket));
  auto session =
      std::make_shared<Session>(host, std::move(stream), io.get_executor(), peer.address().to_string());
  sessions.emplace(session.get(), session);
  ++accepted;
  ++open;
  session->start();
}

// A word on the way out, as far as the socket takes it at once.
void HttpServer::Impl::refuse(Socket socket) {
  ++refused;
  if (tls) return;
  std::string bytes;
  append_response(bytes, host.error_response(503), {.close = true, .date = date_now()});
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(bytes), ignored);
}

void HttpServer::Impl::session_closed(Session& session) {
  sessions.erase(&session);
  --open;
  note_if_empty();
}

std::string_view HttpServer::Impl::date_now() {
  Time now = clock.wall();
  if (int64_t second = now.us / 1'000'000; second != date_second) {
    date_second = second;
    date = format_http_date(now);
  }
  return date;
}

void HttpServer::Impl::stop_accepting() {
  stopping = true;
  boost::system::error_code ignored;
  acceptor.close(ignored);
  accept_again.cancel();
}

void HttpServer::Impl::each_session(void (Session::*act)()) {
  std::vector<std::shared_ptr<Session>> all;  // they leave the map as they close
  for (auto& [key, session] : sessions) all.push_back(session);
  for (auto& session : all) (*session.*act)();
}

void HttpServer::Impl::note_if_empty() {
  if (!stopping || !sessions.empty()) return;
  std::lock_guard lock(mutex);
  empty = true;
  changed.notify_all();
}

// ---- HttpServer ----------------------------------------------------------------------------------------

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpOptions options, Handler handler) {
  CHECK(handler, "a server needs a handler");
  auto impl = std::make_unique<Impl>();
  SessionHost& host = impl->host;
  host.options = std::move(options);
  host.handler = std::move(handler);
  host.body_limit = host.options.body_limit;
  if (!host.body_limit)
    host.body_limit = [limit = host.options.max_body_bytes](const Request&) { return limit; };
  host.error_response = host.options.error_response ? host.options.error_response : plain_error;
  host.on_closed = [i = impl.get()](Session& session) { i->session_closed(session); };
  host.date = [i = impl.get()] { return i->date_now(); };
  if (const auto& files = host.options.tls)
    impl->tls = TRY(TlsContext::load(files->certificate_file, files->key_file));
  if (Status listening = impl->listen(); !listening) return std::unexpected(listening.error());

  host.gate = std::make_shared<Gate>(impl->io, host.options.max_stream_unsent_bytes);
  impl->thread = std::thread([i = impl.get()] {
    i->host.gate->set_thread(std::this_thread::get_id());
    i->accept();
    i->io.run();
  });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::~HttpServer() {
  shutdown({});
  impl_->host.gate->shut();
  impl_->work.reset();
  impl_->thread.join();
}

uint16_t HttpServer::port() const { return impl_->port; }

HttpStats HttpServer::stats() const {
  const SessionHost& h = impl_->host;
  return {.connections_open = impl_->open,
          .connections_accepted = impl_->accepted,
          .connections_refused = impl_->refused,
          .requests = h.requests,
          .requests_refused = h.requests_refused,
          .timeouts = h.timeouts,
          .streams_cut = h.streams_cut};
}

bool HttpServer::shutdown(Duration deadline) {
  Impl& i = *impl_;
  CHECK(std::this_thread::get_id() != i.thread.get_id(), "shutdown would wait for its own thread");
  i.host.gate->post([&i] {
    i.stop_accepting();
    i.each_session(&Session::drain);
    i.note_if_empty();
  });
  std::unique_lock lock(i.mutex);
  if (i.changed.wait_for(lock, std::chrono::microseconds(deadline.us), [&] { return i.empty; })) return true;
  lock.unlock();
  i.host.gate->post([&i] { i.each_session(&Session::abort); });
  lock.lock();
  i.changed.wait(lock, [&] { return i.empty; });
  return false;
}

}  // namespace ctrlplane::net
