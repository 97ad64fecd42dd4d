#include "agent/output_sender.h"

#include "base/log.h"

namespace ctrlplane::agent {
namespace {
constexpr size_t kPieceBytes = 64 * 1024;
constexpr Duration kLongestWait = seconds(1);
}  // namespace

OutputSender::OutputSender(ApiOptions api, std::string job, const Clock& clock, Duration tick)
    : clock_(clock), job_(std::move(job)), api_(std::move(api)), bell_(clock, tick), thread_([this] {
        run();
      }) {}

OutputSender::~OutputSender() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  api_.interrupt();
  bell_.ring();
  thread_.join();
}

void OutputSender::append(std::string_view bytes) {
  bool ring = false;
  {
    std::lock_guard lock(mutex_);
    bool was_empty = buffer_.waiting_bytes() == 0;
    buffer_.append(bytes);
    if (was_empty) oldest_ = clock_.boot();
    ring = was_empty || buffer_.waiting_bytes() >= kPieceBytes;
  }
  if (ring) bell_.ring();
}

void OutputSender::finish() {
  {
    std::lock_guard lock(mutex_);
    buffer_.finish();
    urgent_ = true;
  }
  bell_.ring();
}

bool OutputSender::flush(Duration at_most) {
  return bell_.wait_for(at_most, [&] { return settled(); });
}

std::string OutputSender::last_line() const {
  std::lock_guard lock(mutex_);
  return buffer_.last_line();
}

bool OutputSender::settled() const {
  std::lock_guard lock(mutex_);
  return refused_ || buffer_.waiting_bytes() == 0;
}

bool OutputSender::due() const {
  std::lock_guard lock(mutex_);
  if (stopping_) return true;
  size_t waiting = buffer_.waiting_bytes();
  if (waiting == 0) return false;
  return urgent_ || waiting >= kPieceBytes || clock_.boot() >= oldest_ + kLongestWait;
}

void OutputSender::run() {
  Backoff backoff(seconds(1), seconds(15));
  auto stopping = [&] {
    std::lock_guard lock(mutex_);
    return stopping_ || refused_;
  };
  while (true) {
    bell_.wait([&] { return due(); });
    if (stopping()) return;
    if (send_piece())
      backoff.reset();
    else
      bell_.wait_for(backoff.next(0.5), stopping);
    bell_.ring();  // for flush
  }
}

bool OutputSender::send_piece() {
  OutputBuffer::Piece piece;
  {
    std::lock_guard lock(mutex_);
    piece = buffer_.piece(kPieceBytes);
  }
  Status sent = api_.append_output(job_, piece.offset, piece.text);
  std::lock_guard lock(mutex_);
  if (sent) {
    buffer_.settle();
    oldest_ = clock_.boot();
    return true;
  }
  if (is_transient(sent.error())) return false;
  if (!stopping_) log::warn("output is not accepted", {{"job", job_}, {"reason", sent.error().message}});
  refused_ = true;
  return true;
}

}  // namespace ctrlplane::agent
