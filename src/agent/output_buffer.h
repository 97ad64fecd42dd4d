// What a command has written and the server has not got yet. Not thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ctrlplane::agent {

// Turns bytes that come in any pieces into text that can be stored: what is not UTF-8, and NUL, becomes
// U+FFFD, one for each longest part that could have begun a character.
class TextRepair {
 public:
  std::string feed(std::string_view bytes);
  // What was held back because it may have continued.
  std::string finish();

 private:
  std::string held_;  // at most three bytes
};

// Holds at most about `capacity` bytes. Past that the middle is dropped, and a line in the text says how
// much; a command that writes faster than the network carries is never held up.
class OutputBuffer {
 public:
  explicit OutputBuffer(size_t capacity = 1u << 20) : half_(capacity / 2) {}

  void append(std::string_view bytes);
  void finish();  // the command writes no more

  struct Piece {
    uint64_t offset = 0;  // counts the bytes of all text handed out before it
    std::string text = {};
  };
  // The next piece, of whole characters and at most `max_bytes` (at least 4); the same one again until it is
  // settled. An empty text: nothing waits.
  const Piece& piece(size_t max_bytes);
  void settle();

  size_t waiting_bytes() const { return piece_.text.size() + head_.size() + tail_.size(); }
  bool dropping() const { return dropped_ > 0; }
  // The last line that is not blank, at most 200 characters of it, without control characters.
  std::string last_line() const;

 private:
  void remember_lines(std::string_view text);

  size_t half_;
  TextRepair repair_;
  Piece piece_;
  std::string head_, tail_;  // what comes next, and what came last
  uint64_t dropped_ = 0;     // bytes that were between them
  std::string line_, last_;  // the line being written, and the last full one
};

}  // namespace ctrlplane::agent
