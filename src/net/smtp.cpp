#include "net/smtp.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <csignal>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/core.h>

#include "base/check.h"
#include "base/clock.h"
#include "net/curl_exchange.h"
#include "net/http.h"

namespace ctrlplane::net {
namespace {

constexpr long kConnectMs = 10'000;
constexpr long kReplySeconds = 10;  // to one command; also to QUIT, for which the client's thread waits
constexpr long kGoAhead = 354;      // the server's answer to DATA

bool is_control_or_blank(unsigned char c) { return c <= 0x20 || c == 0x7f; }

curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};

Status check_mail(const Mail& mail) {
  if (!is_mail_address(mail.from)) return fail(ErrorCode::kInvalid, "the sender is no e-mail address");
  if (mail.to.empty()) return fail(ErrorCode::kInvalid, "there is nobody to send it to");
  if (mail.to.size() > kMaxMailRecipients)
    return fail(ErrorCode::kInvalid, fmt::format("more than {} recipients", kMaxMailRecipients));
  if (!std::ranges::all_of(mail.to, is_mail_address))
    return fail(ErrorCode::kInvalid, "a recipient is no e-mail address");
  return {};
}

// ---- One mail under way ----------------------------------------------------------------------------------

class Parcel {
 public:
  Parcel(Mail mail, SmtpClient::Done done, Duration since)
      : since(since), mail_(std::move(mail)), done_(std::move(done)) {}

  CURL* open(const SmtpOptions& options);
  void end(CURLcode code, const std::string& origin);
  void end(ErrorCode code, std::string why, bool maybe_sent = false) {
    done_(std::unexpected(MailFailure{{code, std::move(why)}, maybe_sent}));
  }
  // The server has said that it wants the text.
  bool maybe_sent() const { return last_reply() == kGoAhead; }
  CURL* easy() const { return easy_.get(); }

  const Duration since;

 private:
  static size_t read(char* into, size_t, size_t room, void* self);
  long last_reply() const;
  void prepare_tls(const SmtpOptions& options);

  Mail mail_;
  SmtpClient::Done done_;
  size_t given_ = 0;  // bytes of the text
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::unique_ptr<curl_slist, FreeHeaderList> recipients_;
  std::unique_ptr<CURL, FreeEasy> easy_;
};

size_t Parcel::read(char* into, size_t, size_t room, void* self) {
  auto& parcel = *static_cast<Parcel*>(self);
  size_t n = std::min(room, parcel.mail_.text.size() - parcel.given_);
  std::memcpy(into, parcel.mail_.text.data() + parcel.given_, n);
  parcel.given_ += n;
  return n;
}

void Parcel::prepare_tls(const SmtpOptions& options) {
  CURL* easy = easy_.get();
  bool must_be = options.url.find('@') != std::string::npos || same_name(options.url.substr(0, 6), "smtps:");
  curl_easy_setopt(easy, CURLOPT_USE_SSL, static_cast<long>(must_be ? CURLUSESSL_ALL : CURLUSESSL_TRY));
  if (!options.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_file.c_str());
  if (must_be) return;
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
}

CURL* Parcel::open(const SmtpOptions& options) {
  easy_.reset(curl_easy_init());
  CHECK(easy_ != nullptr, "out of memory");
  CURL* easy = easy_.get();
  for (const std::string& address : mail_.to) {
    curl_slist* longer = curl_slist_append(recipients_.get(), ("<" + address + ">").c_str());
    CHECK(longer != nullptr, "out of memory");
    (void)recipients_.release();
    recipients_.reset(longer);
  }
  prepare_tls(options);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_.data());
  curl_easy_setopt(easy, CURLOPT_URL, options.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);  // a kept one that was closed would lose a mail
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
  curl_easy_setopt(easy, CURLOPT_SERVER_RESPONSE_TIMEOUT, kReplySeconds);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, whole_ms(options.timeout));
  curl_easy_setopt(easy, CURLOPT_MAIL_FROM, ("<" + mail_.from + ">").c_str());
  curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, recipients_.get());
  curl_easy_setopt(easy, CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1L);
  curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(mail_.text.size()));
  curl_easy_setopt(easy, CURLOPT_READFUNCTION, &Parcel::read);
  curl_easy_setopt(easy, CURLOPT_READDATA, this);
  return easy;
}

long Parcel::last_reply() const {
  long code = 0;
  if (easy_) curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &code);
  return code;
}

void Parcel::end(CURLcode code, const std::string& origin) {
  if (code == CURLE_OK) return done_({});
  std::string why = error_[0] ? error_.data() : curl_easy_strerror(code);
  long reply = last_reply();
  if (reply >= 400 && why.find(std::to_string(reply)) == std::string::npos)
    why = fmt::format("the mail server said {}", reply);
  // Somebody may yet set the password right.
  bool for_good = reply >= 500 && reply < 600 && code != CURLE_LOGIN_DENIED;
  end(for_good ? ErrorCode::kInvalid : ErrorCode::kUnavailable, origin + ": " + why, maybe_sent());
}

}  // namespace

// ---- Addresses -------------------------------------------------------------------------------------------

bool is_mail_address(std::string_view text) {
  constexpr std::string_view kSpecial = "<>()[],;:\\\"";
  size_t at = text.find('@');
  bool two_parts = at != text.npos && at > 0 && at + 1 < text.size() && text.find('@', at + 1) == text.npos;
  return two_parts && text.size() <= 254 && std::ranges::all_of(text, [&](unsigned char c) {
           return c > 0x20 && c < 0x7f && kSpecial.find(static_cast<char>(c)) == kSpecial.npos;
         });
}

Status check_smtp_url(std::string_view url) {
  size_t scheme = same_name(url.substr(0, 7), "smtp://")    ? 7
                  : same_name(url.substr(0, 8), "smtps://") ? 8
                                                            : 0;
  if (scheme == 0) return fail(ErrorCode::kInvalid, "must begin with smtp:// or smtps://");
  if (std::ranges::any_of(url, is_control_or_blank))
    return fail(ErrorCode::kInvalid, "has a space or a control character in it");
  std::string_view rest = url.substr(scheme);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find_first_of("/?#") != rest.npos)
    return fail(ErrorCode::kInvalid, "ends with the port; in a password write / as %2F");
  if (std::ranges::count(rest, '@') > 1) return fail(ErrorCode::kInvalid, "in a password write @ as %40");
  std::string_view host = rest.substr(rest.find('@') + 1);  // npos + 1 is 0
  if (host.empty() || host.starts_with(':')) return fail(ErrorCode::kInvalid, "names no host");
  return {};
}

// ---- The client ------------------------------------------------------------------------------------------

struct SmtpClient::Impl {
  explicit Impl(SmtpOptions given) : options(std::move(given)), multi(curl_multi_init()) {
    CHECK(multi != nullptr, "out of memory");
  }
  ~Impl() { curl_multi_cleanup(multi); }

  void run();
  void begin_some();
  void end_some();
  void drop_impatient();
  void end_all();

  const SmtpOptions options;
  CURLM* const multi;
  SystemClock clock;
  std::mutex mutex;  // for the next three
  std::deque<std::unique_ptr<Parcel>> waiting;
  size_t accepted = 0;
  bool closed = false;
  std::map<CURL*, std::unique_ptr<Parcel>> active;
  std::thread thread;
};

void SmtpClient::Impl::begin_some() {
  std::lock_guard lock(mutex);
  while (!waiting.empty() && active.size() < options.max_connections) {
    CURL* easy = waiting.front()->open(options);
    active.emplace(easy, std::move(waiting.front()));
    waiting.pop_front();
    CHECK(curl_multi_add_handle(multi, easy) == CURLM_OK);
  }
}

void SmtpClient::Impl::end_some() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURLcode code = message->data.result;
    auto parcel = std::move(active.extract(message->easy_handle).mapped());
    curl_multi_remove_handle(multi, parcel->easy());
    {
      std::lock_guard lock(mutex);
      --accepted;
    }
    parcel->end(code, origin_of(options.url));
  }
}

void SmtpClient::Impl::drop_impatient() {
  std::vector<std::unique_ptr<Parcel>> late;
  {
    std::lock_guard lock(mutex);
    while (!waiting.empty() && waiting.front()->since + options.patience <= clock.boot()) {
      late.push_back(std::move(waiting.front()));
      waiting.pop_front();
      --accepted;
    }
  }
  for (auto& parcel : late)
    parcel->end(ErrorCode::kUnavailable, origin_of(options.url) + ": no connection was free in time");
}

void SmtpClient::Impl::end_all() {
  constexpr std::string_view kWhy = "the client was closed before the mail was taken";
  for (auto& [easy, parcel] : active) {
    bool maybe_sent = parcel->maybe_sent();
    curl_multi_remove_handle(multi, easy);
    parcel->end(ErrorCode::kUnavailable, std::string(kWhy), maybe_sent);
  }
  active.clear();
  std::deque<std::unique_ptr<Parcel>> rest;
  {
    std::lock_guard lock(mutex);
    rest.swap(waiting);
  }
  for (auto& parcel : rest) parcel->end(ErrorCode::kUnavailable, std::string(kWhy));
}

void SmtpClient::Impl::run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (;;) {
    drop_impatient();
    begin_some();
    int running = 0;
    curl_multi_perform(multi, &running);
    end_some();
    bool some_wait = false;
    {
      std::lock_guard lock(mutex);
      if (closed) break;
      some_wait = !waiting.empty();
      if (some_wait && active.size() < options.max_connections) continue;
    }
    curl_multi_poll(multi, nullptr, 0, some_wait ? 1000 : 60'000, nullptr);
  }
  end_all();
}

SmtpClient::SmtpClient(SmtpOptions options) {
  init_curl_once();
  impl_ = std::make_unique<Impl>(std::move(options));
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

SmtpClient::~SmtpClient() {
  CHECK(std::this_thread::get_id() != impl_->thread.get_id(), "a callback may not destroy its client");
  {
    std::lock_guard lock(impl_->mutex);
    impl_->closed = true;
  }
  curl_multi_wakeup(impl_->multi);
  impl_->thread.join();
}

void SmtpClient::send(Mail mail, Done done) {
  auto parcel = std::make_unique<Parcel>(mail, std::move(done), impl_->clock.boot());
  if (Status fine = check_mail(mail); !fine) return parcel->end(ErrorCode::kInvalid, fine.error().message);
  std::unique_lock lock(impl_->mutex);
  bool closed = impl_->closed;
  if (closed || impl_->accepted >= impl_->options.max_mails) {
    lock.unlock();
    return closed ? parcel->end(ErrorCode::kUnavailable, "the client is closed")
                  : parcel->end(ErrorCode::kBusy, "too many mails are under way at once");
  }
  ++impl_->accepted;
  impl_->waiting.push_back(std::move(parcel));
  lock.unlock();
  curl_multi_wakeup(impl_->multi);
}

}  // namespace ctrlplane::net
