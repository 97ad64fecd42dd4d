#include "net/request_reader.h"

#include <algorithm>

#include "net/request_head.h"

namespace ctrlplane::net {

size_t RequestReader::feed(std::string_view bytes) {
  size_t used = 0;
  while (used < bytes.size() && !error_ && phase_ != Phase::kDone) {
    std::string_view rest = bytes.substr(used);
    switch (phase_) {
      case Phase::kHead: used += feed_head(rest); break;
      case Phase::kBody: used += feed_body(rest); break;
      case Phase::kChunks: used += feed_chunks(rest); break;
      case Phase::kDone: break;
    }
  }
  return used;
}

size_t RequestReader::feed_head(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    char c = bytes[i];
    auto u = static_cast<unsigned char>(c);
    bool at_line_start = previous_ == '\n';
    if ((u < 0x20 && c != '\r' && c != '\n' && c != '\t') || u == 0x7f ||
        (c == '\n') != (previous_ == '\r') || (at_line_start && (c == ' ' || c == '\t'))) {
      refuse(400);
      return i;
    }
    previous_ = c;
    head_ += c;
    if (c != '\n') {
      if (c != '\r') ++line_length_;
    } else if (line_length_ > 0) {
      ++lines_;
      line_length_ = 0;
    } else if (lines_ > 0) {
      head_is_complete();
      return i + 1;
    } else {
      // One empty line before a request is forgiven: old clients end a body with it.
      head_.clear();
      if (++leading_lines_ > 1) refuse(400);
    }
    if (head_.size() > max_header_bytes_) refuse(431);
    if (error_) return i + 1;
  }
  return bytes.size();
}

void RequestReader::head_is_complete() {
  if (head_.size() > max_header_bytes_) return refuse(431);
  auto head = parse_head(head_);
  if (!head) return refuse(head.error());
  request_ = std::move(head->request);
  keep_alive_ = head->keep_alive;
  http_1_0_ = head->http_1_0;
  expects_continue_ = head->expects_continue;
  limit_ = body_limit_(request_);
  if (head->content_length > limit_) return refuse(413);
  remaining_ = head->content_length;
  phase_ = head->chunked ? Phase::kChunks : remaining_ > 0 ? Phase::kBody : Phase::kDone;
}

size_t RequestReader::feed_body(std::string_view bytes) {
  auto n = static_cast<size_t>(std::min<uint64_t>(remaining_, bytes.size()));
  request_.body.append(bytes.substr(0, n));
  remaining_ -= n;
  if (remaining_ == 0) phase_ = Phase::kDone;
  return n;
}

size_t RequestReader::feed_chunks(std::string_view bytes) {
  size_t used = 0;
  while (used < bytes.size() && phase_ == Phase::kChunks && !error_) {
    if (chunk_ == Chunk::kData) {
      auto n = static_cast<size_t>(std::min<uint64_t>(remaining_, bytes.size() - used));
      request_.body.append(bytes.substr(used, n));
      used += n;
      remaining_ -= n;
      if (remaining_ == 0) chunk_ = Chunk::kDataCr;
    } else if (chunk_byte(bytes[used])) {
      ++used;
    } else if (!error_) {
      refuse(400);
    }
  }
  return used;
}

// False if the byte may not stand here.
bool RequestReader::chunk_byte(char c) {
  auto expect = [&](char wanted, Chunk next) {
    chunk_ = next;
    return c == wanted;
  };
  switch (chunk_) {
    case Chunk::kFirstDigit:
      remaining_ = 0;
      chunk_digits_ = 0;
      chunk_ = Chunk::kDigits;
      [[fallthrough]];
    case Chunk::kDigits: {
      int digit = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
      if (digit < 0) return chunk_size_ends(c);
      remaining_ = remaining_ * 16 + static_cast<uint64_t>(digit);
      return ++chunk_digits_ <= 15;
    }
    case Chunk::kExtension:
      if (c == '\r') return expect('\r', Chunk::kSizeLf);
      return side_byte(c);
    case Chunk::kSizeLf: return expect('\n', remaining_ > 0 ? Chunk::kData : Chunk::kTrailerStart);
    case Chunk::kDataCr: return expect('\r', Chunk::kDataLf);
    case Chunk::kDataLf: return expect('\n', Chunk::kFirstDigit);
    case Chunk::kTrailerStart:
      if (c == '\r') return expect('\r', Chunk::kEndLf);
      chunk_ = Chunk::kTrailer;
      return side_byte(c);
    case Chunk::kTrailer:
      if (c == '\r') return expect('\r', Chunk::kTrailerLf);
      return side_byte(c);
    case Chunk::kTrailerLf: return expect('\n', Chunk::kTrailerStart);
    case Chunk::kEndLf:
      if (c == '\n') phase_ = Phase::kDone;
      return c == '\n';
    case Chunk::kData: break;
  }
  return false;
}

bool RequestReader::chunk_size_ends(char c) {
  if (chunk_digits_ == 0 || (c != '\r' && c != ';')) return false;
  if (remaining_ > limit_ - request_.body.size()) {
    refuse(413);
    return false;
  }
  chunk_ = c == '\r' ? Chunk::kSizeLf : Chunk::kExtension;
  return true;
}

bool RequestReader::side_byte(char c) {
  auto u = static_cast<unsigned char>(c);
  if ((u < 0x20 && c != '\t') || u == 0x7f) return false;
  if (++side_bytes_ > max_header_bytes_) refuse(431);
  return !error_;
}

}  // namespace ctrlplane::net
