#include "agent/output_buffer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ctrlplane::agent {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr size_t kLineBytes = 1024;  // enough for 200 characters and some that are left out
constexpr size_t kSlack = 64 * 1024;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The length that a character beginning with `lead` has, or 0 if none begins so.
size_t length_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

// Overlong forms, surrogates and what lies past U+10FFFF show in the second byte.
bool second_fits(unsigned char lead, unsigned char second) {
  unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return second >= low && second <= high;
}

// How many bytes at the front of `bytes` are a character or can begin one.
size_t fitting_bytes(std::string_view bytes) {
  size_t length = length_of(static_cast<unsigned char>(bytes[0]));
  if (length < 2) return length;
  size_t n = 1;
  if (bytes.size() > 1 &&
      second_fits(static_cast<unsigned char>(bytes[0]), static_cast<unsigned char>(bytes[1])))
    for (n = 2; n < std::min(length, bytes.size()) && is_continuation(bytes[n]);) ++n;
  return n;
}

// The most bytes, at most `max`, that end with a whole character.
size_t whole_characters(std::string_view text, size_t max) {
  if (text.size() <= max) return text.size();
  while (max > 0 && is_continuation(text[max])) --max;
  return max;
}

}  // namespace

std::string TextRepair::feed(std::string_view bytes) {
  std::string joined;
  if (!held_.empty()) {
    joined = std::exchange(held_, {});
    joined += bytes;
    bytes = joined;
  }
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    size_t n = fitting_bytes(bytes);
    if (n > 0 && n == bytes.size() && n < length_of(static_cast<unsigned char>(bytes[0]))) {
      held_ = bytes;
      break;
    }
    bool whole = n > 0 && n == length_of(static_cast<unsigned char>(bytes[0])) && bytes[0] != '\0';
    out += whole ? bytes.substr(0, n) : kReplacement;
    bytes.remove_prefix(std::max<size_t>(n, 1));
  }
  return out;
}

std::string TextRepair::finish() {
  return std::exchange(held_, {}).empty() ? std::string() : std::string(kReplacement);
}

void OutputBuffer::append(std::string_view bytes) {
  std::string text = repair_.feed(bytes);
  remember_lines(text);
  std::string_view rest = text;
  if (tail_.empty() && dropped_ == 0 && head_.size() < half_) {
    size_t n = whole_characters(rest, half_ - head_.size());
    head_ += rest.substr(0, n);
    rest.remove_prefix(n);
  }
  tail_ += rest;
  if (tail_.size() <= half_ + std::min(kSlack, half_)) return;  // cut seldom: a cut moves the whole tail
  size_t cut = tail_.size() - half_;
  while (cut < tail_.size() && is_continuation(tail_[cut])) ++cut;
  dropped_ += cut;
  tail_.erase(0, cut);
}

void OutputBuffer::finish() {
  std::string text = repair_.finish();
  remember_lines(text);
  tail_ += text;
}

const OutputBuffer::Piece& OutputBuffer::piece(size_t max_bytes) {
  if (!piece_.text.empty()) return piece_;
  if (head_.empty()) {
    if (dropped_ > 0)
      head_ = fmt::format("\n[{} bytes of output are left out here]\n", std::exchange(dropped_, 0));
    head_ += std::exchange(tail_, {});
  }
  size_t n = whole_characters(head_, max_bytes);
  piece_.text = head_.substr(0, n);
  head_.erase(0, n);
  return piece_;
}

void OutputBuffer::settle() {
  piece_.offset += piece_.text.size();
  piece_.text.clear();
}

void OutputBuffer::remember_lines(std::string_view text) {
  for (char c : text) {
    bool ends_line = c == '\n' || c == '\r';
    if (!ends_line && line_.size() < kLineBytes) line_ += c;
    if (!ends_line) continue;
    if (line_.find_first_not_of(" \t") != std::string::npos) last_ = line_;
    line_.clear();
  }
}

std::string OutputBuffer::last_line() const {
  const std::string& line = line_.find_first_not_of(" \t") != std::string::npos ? line_ : last_;
  std::string out;
  size_t characters = 0;
  size_t end = whole_characters(line, kLineBytes - 4);
  for (size_t i = std::min(line.find_first_not_of(" \t"), end); i < end; ++i) {
    auto c = static_cast<unsigned char>(line[i]);
    if (c < 0x20 || c == 0x7F) continue;
    if (!is_continuation(line[i]) && ++characters > 200) break;
    out += line[i];
  }
  return out;
}

}  // namespace ctrlplane::agent
