#include "net/async_client_transfer.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/check.h"

namespace ctrlplane::net {
namespace {

// Less than a server of ours keeps a silent connection (HttpOptions::idle_timeout), so that a request is not
// sent into one that is just being closed.
constexpr long kLongestRestSeconds = 30;

// A time-out of centuries is none; moments must not overflow.
Duration bounded(Duration d) { return d < hours(24 * 365 * 100) ? d : Duration{}; }

Headers without_those_of_one_connection(const Headers& headers) {
  constexpr std::array<std::string_view, 6> kLeftOut = {"Connection", "Content-Length", "Expect",
                                                        "Keep-Alive", "Trailer",        "Transfer-Encoding"};
  Headers kept;
  for (const Header& h : headers.items())
    if (std::ranges::none_of(kLeftOut, [&](std::string_view name) { return same_name(name, h.name); }))
      kept.add(h.name, h.value);
  return kept;
}

CURL* new_easy() {
  CURL* easy = curl_easy_init();
  CHECK(easy, "out of memory");
  return easy;
}

}  // namespace

void tell(Receiver& receiver, std::expected<Response, Failure> result) {
  if (auto* done = std::get_if<AsyncClient::Done>(&receiver)) return (*done)(std::move(result));
  auto& on_end = std::get<StreamEvents>(receiver).on_end;
  if (result)
    on_end({});
  else
    on_end(std::unexpected(std::move(result).error()));
}

Transfer::Transfer(uint64_t id, const AsyncClientOptions& options, ClientRequest request, Duration idle,
                   Receiver receiver)
    : id(id),
      easy_(new_easy()),
      request_(std::move(request)),
      receiver_(std::move(receiver)),
      exchange_(easy_.get(), options.client, request_, bounded(idle)),
      begun_(clock_.boot()),
      last_byte_(begun_) {
  request_.timeout = bounded(request_.timeout);
  request_.headers = without_those_of_one_connection(request_.headers);
  prepare(options);
}

void Transfer::prepare(const AsyncClientOptions& options) {
  CURL* easy = easy_.get();
  exchange_.prepare();
  if (!options.use_proxy) curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, kLongestRestSeconds);
  // Giving up on a name that is being looked up must not wait for the look-up.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &Transfer::before_request);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, this);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
}

// libcurl calls this each time it has a connection and is about to write the request: a second time only if
// it takes the first connection for dead, and that is no reason for us to write the request again.
int Transfer::before_request(void* self, char*, char*, int, int) {
  auto& transfer = *static_cast<Transfer*>(self);
  if (transfer.maybe_sent_) {
    transfer.exchange_.stop = Stop::kBroken;
    return CURL_PREREQFUNC_ABORT;
  }
  transfer.maybe_sent_ = true;
  return CURL_PREREQFUNC_OK;
}

size_t Transfer::on_header(char* data, size_t, size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  CurlExchange& exchange = transfer.exchange_;
  transfer.last_byte_ = transfer.clock_.boot();
  bool had_head = exchange.head_is_complete;
  if (!exchange.take_header({data, size})) return 0;
  if (had_head || !exchange.head_is_complete) return size;
  exchange.response.headers = without_those_of_one_connection(exchange.response.headers);
  if (auto* events = std::get_if<StreamEvents>(&transfer.receiver_))
    events->on_head(std::move(exchange.response));
  return size;
}

size_t Transfer::on_body(char* data, size_t, size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.last_byte_ = transfer.clock_.boot();
  if (!transfer.exchange_.head_is_complete) return CURL_WRITEFUNC_ERROR;
  if (auto* events = std::get_if<StreamEvents>(&transfer.receiver_)) {
    if (events->on_data({data, size})) return size;
    transfer.exchange_.stop = Stop::kSinkIsDone;
    return CURL_WRITEFUNC_ERROR;
  }
  return transfer.exchange_.keep({data, size}) ? size : CURL_WRITEFUNC_ERROR;
}

Duration Transfer::due() const {
  Duration due{std::numeric_limits<int64_t>::max()};
  bool timeout_holds = request_.timeout.us > 0 && !(is_stream() && exchange_.head_is_complete);
  if (timeout_holds) due = begun_ + request_.timeout;
  if (exchange_.idle.us > 0) due = std::min(due, last_byte_ + exchange_.idle);
  return due;
}

Stop Transfer::reason_at_due() const {
  if (exchange_.idle.us > 0 && due() == last_byte_ + exchange_.idle) return Stop::kSilent;
  return added ? Stop::kLate : Stop::kNoneFree;
}

void Transfer::finish(CURLcode code) {
  bool complete = code == CURLE_OK && exchange_.head_is_complete;
  if (complete || exchange_.stop == Stop::kSinkIsDone) return tell(receiver_, std::move(exchange_.response));
  if (code == CURLE_OK) exchange_.stop = Stop::kBroken;
  tell(receiver_, std::unexpected(Failure{exchange_.error(code), maybe_sent_}));
}

void Transfer::finish(Stop why) {
  exchange_.stop = why;
  finish(CURLE_ABORTED_BY_CALLBACK);
}

Mailbox::Mailbox() : wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(wake_fd_ >= 0, "out of descriptors");
}
Mailbox::~Mailbox() { ::close(wake_fd_); }

bool Mailbox::start(std::unique_ptr<Transfer>& transfer) {
  std::lock_guard lock(mutex_);
  if (mail_.closed) return false;
  wake();
  mail_.starts.push_back(std::move(transfer));
  return true;
}

void Mailbox::cancel(uint64_t id) {
  std::lock_guard lock(mutex_);
  wake();
  mail_.cancels.push_back(id);
}

void Mailbox::close() {
  std::lock_guard lock(mutex_);
  wake();
  mail_.closed = true;
}

// Before the first letter only: the client's thread takes all at once.
void Mailbox::wake() {
  if (!mail_.starts.empty() || !mail_.cancels.empty()) return;
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(wake_fd_, &one, sizeof one);
}

Mailbox::Mail Mailbox::take() {
  std::lock_guard lock(mutex_);
  Mail all = std::exchange(mail_, {});
  mail_.closed = all.closed;
  return all;
}

}  // namespace ctrlplane::net
