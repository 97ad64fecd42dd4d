// What a verb sees of the machine besides the network: streams, terminal, environment, time. Tests give
// their own.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "base/clock.h"

namespace ctrlplane::cli {

struct Console {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool in_is_terminal = false, out_is_terminal = false, err_is_terminal = false;
  size_t width = 0;                                          // of the terminal that `out` is; 0: any
  bool colour = false;                                       // of `out`
  std::function<std::string(const char* name)> environment;  // empty where unset
  const Clock& clock;
  // Returns when that time has passed.
  std::function<void(Duration)> pause;
};

// The process's own. `clock` must outlive it.
Console process_console(const Clock& clock);

// Asks a person at a terminal, on `err`: true for y or yes.
bool agrees(Console& console, const std::string& question);

// A line that says how far something is: rewritten in place on a terminal, and otherwise a line of its own
// each time it changes. On `err`, so that it never mixes with a verb's output.
class ProgressLine {
 public:
  explicit ProgressLine(Console& console) : console_(console) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text);
  // So that something else can be written.
  void clear();

 private:
  Console& console_;
  std::string shown_;
  bool visible_ = false;
};

}  // namespace ctrlplane::cli
