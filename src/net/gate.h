// The way onto the I/O thread, for objects that may outlive the server. Private to this folder.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "net/asio.h"

namespace ctrlplane::net {

class Session;

class Gate {
 public:
  Gate(asio::io_context& io, size_t max_stream_unsent_bytes)
      : max_stream_unsent_bytes(max_stream_unsent_bytes), io_(&io) {}

  const size_t max_stream_unsent_bytes;

  // Before any other thread knows of the gate.
  void set_thread(std::thread::id id) { thread_ = id; }
  bool here() const { return std::this_thread::get_id() == thread_; }
  // Runs the task on the I/O thread: now if this is it, else later. Once the gate is shut it is
  // dropped instead, with the answer false.
  bool run(std::move_only_function<void()> task);
  // Later, even on the I/O thread.
  bool post(std::move_only_function<void()> task);
  void shut();

 private:
  std::mutex mutex_;
  asio::io_context* io_;
  std::thread::id thread_;
};

// What an EventStream and its connection share.
struct StreamState {
  std::shared_ptr<Gate> gate;
  std::weak_ptr<Session> session;
  size_t limit = 0;

  std::mutex mutex;
  std::string pending = {};  // not yet taken by the connection
  size_t unsent = 0;         // pending and taken, not yet written
  bool scheduled = false;    // the connection will come and take
  bool closed = false;       // by the owner: no more will be sent
  bool gone = false;         // by the connection: no more can be sent
  std::move_only_function<void()> on_close = {};

  // By the connection, once it ends for whatever reason.
  void end();
};

}  // namespace ctrlplane::net
