#include "net/async_client.h"

#include <csignal>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "net/async_client_loop.h"
#include "net/async_client_transfer.h"
#include "net/curl_exchange.h"

namespace ctrlplane::net {

struct AsyncClient::Impl {
  explicit Impl(AsyncClientOptions given)
      : options(std::move(given)), loop(mailbox->wake_fd(), options.max_requests + options.max_streams) {}

  // By any thread. The id of the transfer, or 0 if it was refused and the receiver told so.
  uint64_t accept(ClientRequest request, Duration idle, Receiver receiver);
  std::atomic<size_t>& count_of(bool stream) { return stream ? streams : requests; }

  // By the client's thread.
  void run();
  void begin(std::unique_ptr<Transfer> transfer);
  void add(Transfer& transfer);
  void watch(Transfer& transfer);
  void end_late_ones();
  Duration until_next_deadline() const;
  // Takes it out of all books, before the receiver hears of it and may send again.
  std::unique_ptr<Transfer> take_out(Transfer& transfer);
  void leave_host(Transfer& transfer);
  void end_all(Mailbox::Mail mail);

  const AsyncClientOptions options;
  const std::shared_ptr<Mailbox> mailbox = std::make_shared<Mailbox>();
  std::atomic<uint64_t> last_id = 0;
  std::atomic<size_t> requests = 0, streams = 0;
  std::thread thread;

  SystemClock clock;
  CurlLoop loop;
  std::map<uint64_t, std::unique_ptr<Transfer>> transfers;
  std::set<std::pair<Duration, uint64_t>> deadlines;  // not later than Transfer::due()
  Hosts hosts;
};

uint64_t AsyncClient::Impl::accept(ClientRequest request, Duration idle, Receiver receiver) {
  auto refuse = [](Receiver& to, Error error) {
    tell(to, std::unexpected(Failure{std::move(error), false}));
    return 0;
  };
  if (Status fine = check_request(request); !fine) return refuse(receiver, fine.error());
  bool stream = std::holds_alternative<StreamEvents>(receiver);
  std::atomic<size_t>& count = count_of(stream);
  if (count.fetch_add(1) >= (stream ? options.max_streams : options.max_requests)) {
    --count;
    return refuse(receiver, {ErrorCode::kBusy, stream ? "too many streams are open at once"
                                                      : "too many requests are under way at once"});
  }
  uint64_t id = ++last_id;
  auto transfer = std::make_unique<Transfer>(id, options, std::move(request), idle, std::move(receiver));
  if (mailbox->start(transfer)) return id;
  --count;
  transfer->finish(Stop::kClientClosed);
  return 0;
}

void AsyncClient::Impl::run() {
  // Signals are for other threads; a broken pipe is an error code here.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (;;) {
    Mailbox::Mail mail = mailbox->take();
    if (mail.closed) return end_all(std::move(mail));
    for (auto& transfer : mail.starts) begin(std::move(transfer));
    for (uint64_t id : mail.cancels)
      if (auto found = transfers.find(id); found != transfers.end())
        take_out(*found->second)->finish(Stop::kInterrupted);
    loop.turn(until_next_deadline());
    while (auto ended = loop.next_ended()) {
      Transfer* transfer = nullptr;
      curl_easy_getinfo(ended->first, CURLINFO_PRIVATE, &transfer);
      take_out(*transfer)->finish(ended->second);
    }
    end_late_ones();
  }
}

void AsyncClient::Impl::begin(std::unique_ptr<Transfer> given) {
  Transfer& transfer = *given;
  transfers.emplace(transfer.id, std::move(given));
  watch(transfer);
  if (transfer.is_stream()) return add(transfer);
  transfer.host = hosts.try_emplace(origin_of(transfer.request().url)).first;
  Host& host = transfer.host->second;
  if (host.active >= std::max<size_t>(options.max_connections_per_host, 1))
    return host.waiting.push_back(&transfer);
  ++host.active;
  add(transfer);
}

void AsyncClient::Impl::add(Transfer& transfer) {
  transfer.added = true;
  if (!loop.add(transfer.easy())) take_out(transfer)->finish(CURLE_FAILED_INIT);
}

void AsyncClient::Impl::watch(Transfer& transfer) {
  transfer.watched_for = transfer.due();
  if (transfer.watched_for < Duration{std::numeric_limits<int64_t>::max()})
    deadlines.emplace(transfer.watched_for, transfer.id);
}

Duration AsyncClient::Impl::until_next_deadline() const {
  return deadlines.empty() ? seconds(60) : deadlines.begin()->first - clock.boot();
}

void AsyncClient::Impl::end_late_ones() {
  Duration now = clock.boot();
  while (!deadlines.empty() && deadlines.begin()->first <= now) {
    Transfer& transfer = *transfers.at(deadlines.begin()->second);
    if (transfer.due() <= now) {
      Stop why = transfer.reason_at_due();
      take_out(transfer)->finish(why);
    } else {
      deadlines.erase(deadlines.begin());
      watch(transfer);
    }
  }
}

std::unique_ptr<Transfer> AsyncClient::Impl::take_out(Transfer& transfer) {
  if (transfer.added) loop.remove(transfer.easy());
  deadlines.erase({transfer.watched_for, transfer.id});
  if (!transfer.is_stream()) leave_host(transfer);
  --count_of(transfer.is_stream());
  return std::move(transfers.extract(transfer.id).mapped());
}

void AsyncClient::Impl::leave_host(Transfer& transfer) {
  auto at = transfer.host;
  Host& host = at->second;
  if (!transfer.added) {
    std::erase(host.waiting, &transfer);
  } else if (host.waiting.empty()) {
    --host.active;
  } else {
    Transfer* next = host.waiting.front();
    host.waiting.pop_front();
    add(*next);  // in its place
    return;
  }
  if (host.active == 0 && host.waiting.empty()) hosts.erase(at);
}

void AsyncClient::Impl::end_all(Mailbox::Mail mail) {
  deadlines.clear();
  hosts.clear();  // nothing that waits begins any more
  for (auto& [id, transfer] : std::exchange(transfers, {})) {
    if (transfer->added) loop.remove(transfer->easy());
    transfer->finish(Stop::kClientClosed);
  }
  for (auto& transfer : mail.starts) transfer->finish(Stop::kClientClosed);
}

AsyncClient::AsyncClient(AsyncClientOptions options) {
  init_curl_once();
  impl_ = std::make_unique<Impl>(std::move(options));
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

AsyncClient::~AsyncClient() {
  CHECK(std::this_thread::get_id() != impl_->thread.get_id(), "a callback may not destroy its client");
  impl_->mailbox->close();
  impl_->thread.join();
}

void AsyncClient::send(ClientRequest request, Done done) {
  impl_->accept(std::move(request), {}, std::move(done));
}

AsyncClient::Stream AsyncClient::stream(ClientRequest request, Duration idle, StreamEvents events) {
  Stream handle;
  handle.id_ = impl_->accept(std::move(request), idle, std::move(events));
  if (handle.id_ != 0) handle.mailbox_ = impl_->mailbox;
  return handle;
}

void AsyncClient::Stream::cancel() {
  if (auto mailbox = mailbox_.lock()) mailbox->cancel(id_);
}

}  // namespace ctrlplane::net
