#include "cli/console.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "cli/text.h"

namespace ctrlplane::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  int columns = std::atoi(environment("COLUMNS").c_str());
  return columns > 0 ? static_cast<size_t>(columns) : 80;
}

// Nothing to wait for but the time itself: a server that asked to be left alone, the next look at a log.
void pause_for(Duration d) { ::poll(nullptr, 0, static_cast<int>(d.us / 1000)); }

}  // namespace

Console process_console(const Clock& clock) {
  bool out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
  return {
      .in = std::cin,
      .out = std::cout,
      .err = std::cerr,
      .in_is_terminal = ::isatty(STDIN_FILENO) == 1,
      .out_is_terminal = out_is_terminal,
      .err_is_terminal = ::isatty(STDERR_FILENO) == 1,
      .width = out_is_terminal ? terminal_width() : 0,
      .colour = out_is_terminal && environment("NO_COLOR").empty() && environment("TERM") != "dumb",
      .environment = environment,
      .clock = clock,
      .pause = pause_for,
  };
}

bool agrees(Console& console, const std::string& question) {
  console.err << question << " [y/N] ";
  console.err.flush();
  std::string answer;
  std::getline(console.in, answer);
  return lower(answer) == "y" || lower(answer) == "yes";
}

void ProgressLine::show(const std::string& text) {
  if (text == shown_) return;
  shown_ = text;
  if (!console_.err_is_terminal) {
    console_.err << printable(text) << '\n';
  } else {
    size_t width = console_.width > 1 ? console_.width - 1 : 79;  // the last column would wrap
    console_.err << "\r\x1b[K" << cut_to(printable(text), width);
    visible_ = true;
  }
  console_.err.flush();
}

void ProgressLine::clear() {
  if (!visible_) return;
  console_.err << "\r\x1b[K";
  console_.err.flush();
  visible_ = false;
  shown_.clear();
}

}  // namespace ctrlplane::cli
