// One connection: reads requests, keeps their answers in order, writes them. Private to this folder; lives on
// the I/O thread. Shared by the callbacks of its stream and timer, and by the server until it is closed.
#pragma once

#include "net/asio.h"

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/steady_timer.hpp>

#include "net/gate.h"
#include "net/request_reader.h"
#include "net/server.h"
#include "net/stream.h"
#include "net/wire.h"

namespace ctrlplane::net {

// What all sessions of a server share. Outlives them.
struct SessionHost {
  HttpOptions options;
  HttpServer::Handler handler;
  RequestReader::BodyLimit body_limit;
  std::shared_ptr<Gate> gate;
  std::function<void(Session&)> on_closed;
  std::move_only_function<std::string_view()> date;
  std::function<Response(int status)> error_response;
  std::atomic<uint64_t> requests = 0, requests_refused = 0, timeouts = 0, streams_cut = 0;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(SessionHost& host, std::unique_ptr<Stream> stream, Executor executor, std::string peer);

  void start();
  // Finishes what has begun, then closes.
  void drain();
  // At once.
  void abort();

  // For Responder and EventStream.
  void answer(uint64_t sequence, Response response);
  void answer_dropped(uint64_t sequence);
  void answer_with_stream(uint64_t sequence, Response head, std::shared_ptr<StreamState> state);
  void take_from_stream();
  void cut_stream();

 private:
  using Instant = std::chrono::steady_clock::time_point;
  enum class Phase { kStart, kIdle, kBusy, kHead, kBody };

  // A request that was handed on, until its response is next in line.
  struct Slot {
    WireFormat format;
    bool ready = false;
    std::string bytes;
    std::shared_ptr<StreamState> stream = nullptr;
  };

  void read();
  void on_read(bool ok, size_t bytes);
  void proceed();
  void parse();
  void dispatch();
  void refuse(int status);
  void fill(Slot& slot, const Response& response, bool close);
  Slot* slot_of(uint64_t sequence);
  bool may_take_more() const;
  bool is_last(uint64_t sequence) const { return reading_ended_ && sequence + 1 == next_sequence_; }

  void flush();
  void pull_stream();
  void end_stream();
  void drop_slots();
  void write();
  void write_more();
  bool has_unsent() const { return write_pending_ || !next_.empty(); }
  void on_written(bool ok, size_t bytes);
  void finish_if_nothing_is_left();
  void finish();

  void watch();
  Instant input_deadline() const;
  Instant output_deadline() const;
  void arm(Instant deadline);
  void on_timer();
  void on_deadline();

  SessionHost& host_;
  std::unique_ptr<Stream> stream_;
  asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>,
                             Executor>
      timer_;
  std::string peer_;
  bool secured_ = false;  // the handshake is behind us

  // Input.
  std::array<char, 16 * 1024> chunk_;
  std::string leftover_;  // read, not yet parsed: no longer than chunk_
  std::optional<RequestReader> reader_;
  bool reading_ = false, parsing_ = false;
  bool reading_ended_ = false;  // no request is taken any more
  bool end_of_input_ = false, draining_ = false;
  bool continue_sent_ = false;  // for the request being read

  // Answers, in the order of requests; the first has the number first_sequence_.
  std::deque<Slot> slots_;
  uint64_t first_sequence_ = 0, next_sequence_ = 0;

  // Output.
  std::string writing_, next_;
  size_t written_ = 0;
  bool write_pending_ = false, close_after_write_ = false, finishing_ = false, closed_ = false;
  std::shared_ptr<StreamState> streaming_;
  bool stream_chunked_ = false;
  size_t stream_writing_ = 0, stream_next_ = 0;  // event bytes in writing_ and next_

  // Time.
  Phase phase_ = Phase::kStart;
  uint64_t phase_sequence_ = 0;
  Instant phase_since_, body_moved_, write_since_, write_moved_, armed_for_ = Instant::max();
};

}  // namespace ctrlplane::net
