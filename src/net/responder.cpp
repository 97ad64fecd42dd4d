#include "net/asio.h"

#include "net/responder.h"

#include <boost/asio/post.hpp>

#include "base/check.h"
#include "net/gate.h"
#include "net/session.h"

namespace ctrlplane::net {

bool Gate::run(std::move_only_function<void()> task) {
  if (!here()) return post(std::move(task));
  task();
  return true;
}

bool Gate::post(std::move_only_function<void()> task) {
  std::lock_guard lock(mutex_);
  if (io_) asio::post(io_->get_executor(), std::move(task));
  return io_ != nullptr;
}

void Gate::shut() {
  std::lock_guard lock(mutex_);
  io_ = nullptr;
}

void StreamState::end() {
  std::move_only_function<void()> callback;
  {
    std::lock_guard lock(mutex);
    gone = true;
    pending.clear();
    if (!closed) callback = std::move(on_close);
    on_close = nullptr;
  }
  if (callback) callback();
}

// ---- EventStream ---------------------------------------------------------------------------------------

EventStream& EventStream::operator=(EventStream&& other) noexcept {
  if (this != &other) {
    close();
    state_ = std::move(other.state_);
  }
  return *this;
}

EventStream::~EventStream() { close(); }

bool EventStream::send(std::string_view text) {
  if (!state_) return false;
  StreamState& s = *state_;
  bool cut = false;
  {
    std::lock_guard lock(s.mutex);
    if (s.closed || s.gone) return false;
    if (text.size() > s.limit - s.unsent) {
      s.gone = cut = true;
    } else {
      s.pending += text;
      s.unsent += text.size();
      if (s.scheduled) return true;
      s.scheduled = true;
    }
  }
  // Posted even from the I/O thread, so that several sends there become one write.
  s.gate->post([session = s.session, cut] {
    if (auto alive = session.lock()) cut ? alive->cut_stream() : alive->take_from_stream();
  });
  return !cut;
}

void EventStream::close() {
  if (!state_) return;
  {
    std::lock_guard lock(state_->mutex);
    if (state_->closed) return;
    state_->closed = true;
    state_->on_close = nullptr;
    if (state_->gone) return;
  }
  state_->gate->post([session = state_->session] {
    if (auto alive = session.lock()) alive->take_from_stream();
  });
}

void EventStream::on_close(std::move_only_function<void()> callback) {
  if (!state_) return;
  {
    std::lock_guard lock(state_->mutex);
    if (state_->closed) return;
    if (!state_->gone) {
      state_->on_close = std::move(callback);
      return;
    }
  }
  state_->gate->post(std::move(callback));
}

// ---- Responder -----------------------------------------------------------------------------------------

Responder::~Responder() {
  if (!gate_) return;
  gate_->run([session = std::move(session_), sequence = sequence_] {
    if (auto alive = session.lock()) alive->answer_dropped(sequence);
  });
}

void Responder::respond(Response response) {
  CHECK(gate_, "a request is answered once");
  auto gate = std::move(gate_);
  gate->run([session = std::move(session_), sequence = sequence_, response = std::move(response)]() mutable {
    if (auto alive = session.lock()) alive->answer(sequence, std::move(response));
  });
}

EventStream Responder::stream(Response head) {
  CHECK(gate_, "a request is answered once");
  auto gate = std::move(gate_);
  auto state = std::make_shared<StreamState>(gate, session_, gate->max_stream_unsent_bytes);
  EventStream stream(state);
  bool open = gate->run(
      [session = std::move(session_), sequence = sequence_, head = std::move(head), state]() mutable {
        if (auto alive = session.lock())
          alive->answer_with_stream(sequence, std::move(head), std::move(state));
        else
          state->end();
      });
  if (!open) state->end();
  return stream;
}

}  // namespace ctrlplane::net
