// A connection as bytes, with or without TLS. Private to this folder.
//
// Callbacks run on the I/O thread and never inside the call that took them. The caller keeps the stream
// alive until each has run, and at most one read and one write are under way at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/asio.h"

namespace ctrlplane::net {

class Stream {
 public:
  using Done = std::move_only_function<void(bool ok, size_t bytes)>;

  virtual ~Stream() = default;
  virtual void handshake(Done done) = 0;
  // Not ok: end of input or a broken connection.
  virtual void read_some(char* data, size_t size, Done done) = 0;
  virtual void write_some(const char* data, size_t size, Done done) = 0;
  // Says goodbye and, if asked to wait, drops what still comes in until the other end closes. Closing with
  // unread input instead would reset the connection, and the client might lose the last response.
  virtual void finish(bool wait, Done done) = 0;
  // At once; what is under way ends with not ok.
  virtual void close() = 0;
};

std::unique_ptr<Stream> plain_stream(Socket socket);

// Makes TLS streams from one certificate chain and key (PEM files).
class TlsContext {
 public:
  static Result<std::unique_ptr<TlsContext>> load(const std::string& certificate_file,
                                                  const std::string& key_file);
  virtual ~TlsContext() = default;
  virtual std::unique_ptr<Stream> wrap(Socket socket) = 0;
};

}  // namespace ctrlplane::net
