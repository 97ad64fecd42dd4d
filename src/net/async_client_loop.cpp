#include "net/async_client_loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace ctrlplane::net {

CurlLoop::CurlLoop(int wake_fd, size_t max_connections)
    : wake_fd_(wake_fd), epoll_(::epoll_create1(EPOLL_CLOEXEC)), multi_(curl_multi_init()) {
  CHECK(epoll_ >= 0 && multi_, "out of memory or descriptors");
  epoll_event wake{.events = EPOLLIN, .data = {.fd = wake_fd_}};
  CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_fd_, &wake) == 0);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlLoop::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlLoop::on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(max_connections));
}

CurlLoop::~CurlLoop() {
  curl_multi_cleanup(multi_);
  ::close(epoll_);
}

bool CurlLoop::add(CURL* easy) { return curl_multi_add_handle(multi_, easy) == CURLM_OK; }
void CurlLoop::remove(CURL* easy) { curl_multi_remove_handle(multi_, easy); }

int CurlLoop::on_socket(CURL*, curl_socket_t fd, int what, void* self, void* known) {
  auto& loop = *static_cast<CurlLoop*>(self);
  epoll_event event{.events = 0, .data = {.fd = fd}};
  if (what == CURL_POLL_REMOVE) {
    ::epoll_ctl(loop.epoll_, EPOLL_CTL_DEL, fd, &event);
    return 0;
  }
  if (what & CURL_POLL_IN) event.events |= EPOLLIN;
  if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
  int first = known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (::epoll_ctl(loop.epoll_, first, fd, &event) == 0) {
    if (!known) curl_multi_assign(loop.multi_, fd, self);
    return 0;
  }
  // A descriptor that was closed and opened again is not what one of us took it for.
  int other = known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  return ::epoll_ctl(loop.epoll_, other, fd, &event) == 0 ? 0 : -1;
}

int CurlLoop::on_timer(CURLM*, long timeout_ms, void* self) {
  auto& loop = *static_cast<CurlLoop*>(self);
  loop.timer_.reset();
  if (timeout_ms >= 0) loop.timer_ = loop.clock_.boot() + milliseconds(timeout_ms);
  return 0;
}

int CurlLoop::wait_ms(Duration longest) const {
  if (timer_) longest = std::min(longest, *timer_ - clock_.boot());
  longest = std::clamp(longest, Duration{}, seconds(60));
  return static_cast<int>((longest.us + 999) / 1000);
}

void CurlLoop::act(curl_socket_t fd, int what) {
  int running = 0;
  curl_multi_socket_action(multi_, fd, what, &running);
}

void CurlLoop::turn(Duration longest) {
  std::array<epoll_event, 64> events;
  int n = ::epoll_wait(epoll_, events.data(), events.size(), wait_ms(longest));
  for (int i = 0; i < n; ++i) {
    const epoll_event& e = events[static_cast<size_t>(i)];
    if (e.data.fd == wake_fd_) {
      uint64_t count = 0;
      [[maybe_unused]] ssize_t got = ::read(wake_fd_, &count, sizeof count);
      continue;
    }
    int what = 0;
    // After an error or hang-up the next read or write says what it is.
    if (e.events & (EPOLLIN | EPOLLERR | EPOLLHUP)) what |= CURL_CSELECT_IN;
    if (e.events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) what |= CURL_CSELECT_OUT;
    act(e.data.fd, what);
  }
  if (timer_ && *timer_ <= clock_.boot()) {
    timer_.reset();
    act(CURL_SOCKET_TIMEOUT, 0);
  }
}

std::optional<std::pair<CURL*, CURLcode>> CurlLoop::next_ended() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left))
    if (message->msg == CURLMSG_DONE) return {{message->easy_handle, message->data.result}};
  return std::nullopt;
}

}  // namespace ctrlplane::net
