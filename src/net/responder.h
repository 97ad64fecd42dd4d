// The two ways to answer a request: once, or as a stream of events. Both may be used from any thread, also
// after the connection or the server is gone (then nothing is sent).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "net/http.h"

namespace ctrlplane::net {

class Gate;
class Session;
struct StreamState;

// A response body that is sent piece by piece as it comes about. What is not yet written is bounded by
// HttpOptions::max_stream_unsent_bytes: a reader that falls further behind is cut off, which it can tell
// from a proper end. Dropping an EventStream closes it. Calls on one object are not to be made by two threads
// at once, except send and close.
class EventStream {
 public:
  EventStream() = default;
  explicit EventStream(std::shared_ptr<StreamState> state) : state_(std::move(state)) {}
  EventStream(EventStream&&) noexcept = default;
  EventStream& operator=(EventStream&& other) noexcept;
  ~EventStream();

  // False if the stream has ended, or ends now because the reader is too slow.
  bool send(std::string_view text);
  // Ends the stream after what was sent.
  void close();
  // Called once, on the I/O thread, when the client is gone or cut off or the server shuts down; at once if
  // that has happened already. Not called after close(), though a call under way may still be running then.
  void on_close(std::move_only_function<void()> callback);

 private:
  std::shared_ptr<StreamState> state_;  // shared with the connection; each may end first
};

// The right and the duty to answer one request, exactly once. Dropped unused, it answers 500.
class Responder {
 public:
  Responder(std::shared_ptr<Gate> gate, std::weak_ptr<Session> session, uint64_t sequence)
      : gate_(std::move(gate)), session_(std::move(session)), sequence_(sequence) {}
  Responder(Responder&&) noexcept = default;
  Responder& operator=(Responder&&) = delete;
  ~Responder();

  void respond(Response response);
  // `head.body` is sent first. The connection ends with the stream; requests that the client pipelined
  // behind it are not answered.
  EventStream stream(Response head);

 private:
  std::shared_ptr<Gate> gate_;  // null once answered
  std::weak_ptr<Session> session_;
  uint64_t sequence_;
};

}  // namespace ctrlplane::net
