#include "net/asio.h"

#include "net/session.h"

#include "base/check.h"
#include "base/log.h"

namespace ctrlplane::net {

Session::Session(SessionHost& host, std::unique_ptr<Stream> stream, Executor executor, std::string peer)
    : host_(host),
      stream_(std::move(stream)),
      timer_(executor),
      peer_(std::move(peer)),
      phase_since_(std::chrono::steady_clock::now()) {}

void Session::start() {
  watch();
  stream_->handshake([self = shared_from_this()](bool ok, size_t) {
    if (!ok) return self->abort();
    self->secured_ = true;
    self->proceed();
  });
}

void Session::drain() {
  draining_ = true;
  if (finishing_) return;
  if (!secured_) return abort();
  if (!reader_ || !reader_->started()) {
    reading_ended_ = true;
    leftover_.clear();
  }
  if (streaming_) pull_stream();
  if (streaming_) end_stream();
  proceed();
}

void Session::abort() {
  if (closed_) return;
  auto self = shared_from_this();  // the server lets go of it below
  closed_ = true;
  timer_.cancel();
  stream_->close();
  if (auto ended = std::move(streaming_)) ended->end();
  drop_slots();
  host_.on_closed(*this);
}

// Everything that can be done now, after anything has changed.
void Session::proceed() {
  if (parsing_ || closed_) return;
  do {
    parse();
    if (closed_) return;
    flush();
  } while (!leftover_.empty() && may_take_more());
  if (closed_) return;
  finish_if_nothing_is_left();
  read();
  watch();
}

// ---- Input ---------------------------------------------------------------------------------------------

bool Session::may_take_more() const {
  if (closed_ || finishing_ || reading_ended_ || streaming_) return false;
  if (reader_ && reader_->started()) return true;
  return slots_.size() < host_.options.max_pipelined &&
         writing_.size() + next_.size() < host_.options.max_unsent_bytes;
}

void Session::read() {
  if (reading_ || closed_ || finishing_ || end_of_input_ || !secured_) return;
  // While a stream is sent, reading goes on only to learn that the client has gone.
  if (!streaming_ && !may_take_more()) return;
  reading_ = true;
  stream_->read_some(chunk_.data(), chunk_.size(),
                     [self = shared_from_this()](bool ok, size_t n) { self->on_read(ok, n); });
}

void Session::on_read(bool ok, size_t bytes) {
  reading_ = false;
  if (closed_ || finishing_) return;
  if (!ok) {
    end_of_input_ = true;
    if (streaming_) return abort();
    // A client may close its half and still wait for the answers.
    reading_ended_ = true;
    reader_.reset();
    leftover_.clear();
  } else if (!streaming_ && !reading_ended_) {
    leftover_.append(chunk_.data(), bytes);
    if (reader_ && reader_->in_body()) body_moved_ = std::chrono::steady_clock::now();
  }
  proceed();
}

void Session::parse() {
  parsing_ = true;  // answers given inside the handler wait until we are through
  size_t used = 0;
  while (used < leftover_.size() && may_take_more()) {
    if (!reader_) reader_.emplace(host_.options.max_header_bytes, host_.body_limit);
    used += reader_->feed(std::string_view(leftover_).substr(used));
    if (int status = reader_->error())
      refuse(status);
    else if (reader_->done())
      dispatch();
  }
  if (reading_ended_) used = leftover_.size();
  leftover_.erase(0, used);
  parsing_ = false;
}

void Session::dispatch() {
  Request request = std::move(reader_->request());
  request.peer = peer_;
  if (!reader_->keep_alive() || draining_ || next_sequence_ + 1 >= host_.options.max_requests_per_connection)
    reading_ended_ = true;
  slots_.push_back({.format = {.head_only = request.method == "HEAD", .http_1_0 = reader_->http_1_0()}});
  reader_.reset();
  continue_sent_ = false;
  ++host_.requests;
  Responder responder(host_.gate, weak_from_this(), next_sequence_++);
  try {
    host_.handler(std::move(request), std::move(responder));
  } catch (const std::exception& e) {
    // The Responder answered 500 as the exception passed it, unless it had been used.
    log::error("a request handler threw", {{"what", e.what()}});
  }
}

// Answers by ourselves, after the requests before it, and takes no more.
void Session::refuse(int status) {
  ++host_.requests_refused;
  reading_ended_ = true;
  reader_.reset();
  ++next_sequence_;
  fill(slots_.emplace_back(), host_.error_response(status), true);
}

// ---- Answers -------------------------------------------------------------------------------------------

Session::Slot* Session::slot_of(uint64_t sequence) {
  if (closed_ || sequence < first_sequence_ || sequence - first_sequence_ >= slots_.size()) return nullptr;
  Slot& slot = slots_[sequence - first_sequence_];
  CHECK(!slot.ready, "a request is answered once");
  return &slot;
}

void Session::fill(Slot& slot, const Response& response, bool close) {
  slot.format.close = close || response.close;
  slot.format.date = host_.date();
  append_response(slot.bytes, response, slot.format);
  slot.ready = true;
}

void Session::answer(uint64_t sequence, Response response) {
  Slot* slot = slot_of(sequence);
  if (!slot) return;
  fill(*slot, response, is_last(sequence));
  proceed();
}

void Session::answer_dropped(uint64_t sequence) { answer(sequence, host_.error_response(500)); }

void Session::answer_with_stream(uint64_t sequence, Response head, std::shared_ptr<StreamState> state) {
  Slot* slot = slot_of(sequence);
  if (!slot) return state->end();
  slot->format.streaming = true;
  fill(*slot, head, true);
  if (!head.body.empty() && !slot->format.head_only) {
    if (slot->format.http_1_0)
      slot->bytes += head.body;
    else
      append_chunk(slot->bytes, head.body);
  }
  slot->stream = std::move(state);
  proceed();
}

void Session::drop_slots() {
  auto dropped = std::exchange(slots_, {});
  first_sequence_ = next_sequence_;
  for (Slot& slot : dropped)
    if (slot.stream) slot.stream->end();
}

}  // namespace ctrlplane::net
