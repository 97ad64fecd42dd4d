// Makes one request out of bytes as they come, in pieces of any size. Private to this folder.
//
// The head is collected up to its empty line and only then given to Beast's parser, whole; the scan on the
// way refuses at once what could be read in two ways (bare CR or LF, control characters, folded lines).
// Bodies are decoded here: by Content-Length, or by a strict reading of chunks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace ctrlplane::net {

class RequestReader {
 public:
  using BodyLimit = std::function<size_t(const Request& head)>;

  // `body_limit` is borrowed and must outlive the reader; it is asked once, when the head is complete.
  RequestReader(size_t max_header_bytes, const BodyLimit& body_limit)
      : max_header_bytes_(max_header_bytes), body_limit_(body_limit) {}

  // Takes bytes up to the end of the request and says how many. After done() or error() it takes none.
  size_t feed(std::string_view bytes);

  bool started() const { return phase_ != Phase::kHead || !head_.empty(); }
  bool in_body() const { return phase_ == Phase::kBody || phase_ == Phase::kChunks; }
  bool done() const { return phase_ == Phase::kDone; }
  // The status to refuse with, or 0.
  int error() const { return error_; }

  bool keep_alive() const { return keep_alive_; }
  bool http_1_0() const { return http_1_0_; }
  // The client waits for "100 Continue" before it sends the body.
  bool expects_continue() const { return expects_continue_ && in_body() && request_.body.empty(); }
  size_t body_bytes() const { return request_.body.size(); }
  Request& request() { return request_; }

 private:
  enum class Phase { kHead, kBody, kChunks, kDone };
  enum class Chunk {
    kFirstDigit,
    kDigits,
    kExtension,
    kSizeLf,
    kData,
    kDataCr,
    kDataLf,
    kTrailerStart,
    kTrailer,
    kTrailerLf,
    kEndLf,
  };

  size_t feed_head(std::string_view bytes);
  size_t feed_body(std::string_view bytes);
  size_t feed_chunks(std::string_view bytes);
  bool chunk_byte(char c);
  bool chunk_size_ends(char c);
  bool side_byte(char c);
  void head_is_complete();
  void refuse(int status) { error_ = status; }

  size_t max_header_bytes_;
  const BodyLimit& body_limit_;
  Phase phase_ = Phase::kHead;
  int error_ = 0;
  std::string head_;
  size_t line_length_ = 0, lines_ = 0, leading_lines_ = 0;
  char previous_ = '\n';
  Request request_;
  bool keep_alive_ = false, http_1_0_ = false, expects_continue_ = false;
  size_t limit_ = 0;
  uint64_t remaining_ = 0;  // of the body, or of this chunk
  Chunk chunk_ = Chunk::kFirstDigit;
  size_t chunk_digits_ = 0, side_bytes_ = 0;  // side: extensions and trailers, which are read and dropped
};

}  // namespace ctrlplane::net
