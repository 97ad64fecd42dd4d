// The second half of a session: writing, and the time it may take.
#include "net/asio.h"

#include "net/session.h"

namespace ctrlplane::net {
namespace {

using std::chrono::steady_clock;

std::chrono::microseconds span(Duration d) { return std::chrono::microseconds(d.us); }

// What moved buys time, a second for each 64 KiB, but none to stand still in: the buffers of the kernels
// take megabytes at once from or for a client that then does nothing.
std::chrono::microseconds earned(size_t bytes) {
  return std::chrono::microseconds(static_cast<int64_t>(bytes) * 1'000'000 / (64 * 1024));
}

}  // namespace

// ---- Output --------------------------------------------------------------------------------------------

// Moves answers whose turn it is to the output, and sets it going.
void Session::flush() {
  while (!slots_.empty() && slots_.front().ready && !close_after_write_ && !streaming_) {
    Slot slot = std::move(slots_.front());
    slots_.pop_front();
    ++first_sequence_;
    if (next_.empty())
      next_ = std::move(slot.bytes);
    else
      next_ += slot.bytes;
    if (!slot.format.close) continue;
    reading_ended_ = true;
    reader_.reset();
    drop_slots();
    streaming_ = std::move(slot.stream);
    stream_chunked_ = !slot.format.http_1_0 && !slot.format.head_only;
    if (!streaming_)
      close_after_write_ = true;
    else if (slot.format.head_only || draining_)
      end_stream();
    else if (end_of_input_)
      return abort();
    else
      pull_stream();
  }
  if (reader_ && reader_->expects_continue() && !continue_sent_ && slots_.empty()) {
    next_ += "HTTP/1.1 100 Continue\r\n\r\n";
    continue_sent_ = true;
  }
  if (!write_pending_ && !next_.empty()) write();
}

void Session::pull_stream() {
  std::string text;
  bool ended;
  {
    std::lock_guard lock(streaming_->mutex);
    text = std::exchange(streaming_->pending, {});
    streaming_->scheduled = false;
    ended = streaming_->closed;
  }
  stream_next_ += text.size();
  if (!stream_chunked_)
    next_ += text;
  else if (!text.empty())
    append_chunk(next_, text);
  if (ended) end_stream();
}

// The proper end, by the owner's wish or ours.
void Session::end_stream() {
  if (stream_chunked_) next_ += "0\r\n\r\n";
  close_after_write_ = true;
  if (auto ended = std::move(streaming_)) ended->end();
}

void Session::take_from_stream() {
  if (closed_ || !streaming_ || close_after_write_) return;
  pull_stream();
  proceed();
}

void Session::cut_stream() {
  if (closed_) return;
  ++host_.streams_cut;
  abort();
}

void Session::write() {
  constexpr size_t kKeptCapacity = 256 * 1024;  // an idle connection is not to hold on to one large response
  writing_.clear();
  if (writing_.capacity() > kKeptCapacity) writing_.shrink_to_fit();
  std::swap(writing_, next_);
  stream_writing_ = std::exchange(stream_next_, 0);
  written_ = 0;
  write_since_ = write_moved_ = steady_clock::now();
  write_pending_ = true;
  write_more();
}

void Session::write_more() {
  stream_->write_some(writing_.data() + written_, writing_.size() - written_,
                      [self = shared_from_this()](bool ok, size_t n) { self->on_written(ok, n); });
}

void Session::on_written(bool ok, size_t bytes) {
  if (closed_) return;
  if (!ok) return abort();
  written_ += bytes;
  write_moved_ = steady_clock::now();
  if (written_ < writing_.size()) return write_more();
  write_pending_ = false;
  writing_.clear();
  if (streaming_) {
    std::lock_guard lock(streaming_->mutex);
    streaming_->unsent -= stream_writing_;
  }
  proceed();
}

void Session::finish_if_nothing_is_left() {
  if (finishing_ || has_unsent()) return;
  if (close_after_write_ || (reading_ended_ && slots_.empty() && !streaming_)) finish();
}

void Session::finish() {
  finishing_ = true;
  phase_since_ = steady_clock::now();
  // A client that was told of the end closes soon. One that was not, being idle, may not look for a long
  // time.
  stream_->finish(close_after_write_, [self = shared_from_this()](bool, size_t) { self->abort(); });
}

// ---- Time ----------------------------------------------------------------------------------------------

// Sees which wait we are in, and that the timer fires no later than its end.
void Session::watch() {
  if (closed_) return;
  if (!finishing_) {
    Phase phase = Phase::kBusy;
    if (reader_ && reader_->started())
      phase = reader_->in_body() ? Phase::kBody : Phase::kHead;
    else if (slots_.empty() && !streaming_ && !has_unsent())
      phase = next_sequence_ == 0 ? Phase::kStart : Phase::kIdle;
    bool same_wait = phase == phase_ || (phase_ == Phase::kStart && phase == Phase::kHead);
    bool waits_for_us = phase == Phase::kBody && reader_->expects_continue() && !continue_sent_;
    if (!same_wait || phase_sequence_ != next_sequence_ || waits_for_us) phase_since_ = steady_clock::now();
    phase_ = waits_for_us ? Phase::kBusy : phase;
    phase_sequence_ = next_sequence_;
  }
  arm(std::min(input_deadline(), output_deadline()));
}

Session::Instant Session::input_deadline() const {
  const HttpOptions& o = host_.options;
  if (finishing_) return phase_since_ + span(o.linger_timeout);
  switch (phase_) {
    case Phase::kStart:
    case Phase::kHead: return phase_since_ + span(o.header_timeout);
    case Phase::kBody:
      return std::min(std::max(body_moved_, phase_since_),
                      phase_since_ + earned(reader_ ? reader_->body_bytes() : 0)) +
             span(o.body_timeout);
    case Phase::kIdle: return phase_since_ + span(o.idle_timeout);
    case Phase::kBusy: break;
  }
  return Instant::max();
}

Session::Instant Session::output_deadline() const {
  if (!write_pending_) return Instant::max();
  return std::min(write_moved_, write_since_ + earned(written_)) + span(host_.options.write_timeout);
}

// Deadlines mostly move outwards: the timer is left as it is then, and looks again when it fires.
void Session::arm(Instant deadline) {
  if (deadline >= armed_for_) return;
  armed_for_ = deadline;
  timer_.expires_at(deadline);
  timer_.async_wait([self = shared_from_this(), deadline](auto ec) {
    if (!ec && self->armed_for_ == deadline) self->on_timer();
  });
}

void Session::on_timer() {
  armed_for_ = Instant::max();
  if (closed_) return;
  if (steady_clock::now() >= std::min(input_deadline(), output_deadline())) on_deadline();
  watch();
}

void Session::on_deadline() {
  ++host_.timeouts;
  if (finishing_ || !secured_ || steady_clock::now() >= output_deadline()) return abort();
  if (phase_ == Phase::kStart || phase_ == Phase::kIdle) return finish();
  refuse(408);
  proceed();
}

}  // namespace ctrlplane::net
