// How a verb ends when it does not end well: an exit code, and what to tell the person.
#pragma once

#include <expected>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ctrlplane::cli {

// docs/cli.md promises these.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,        // the server refused, or something failed
  kWrongUse = 2,      // flags, files, an ambiguous name
  kUnreachable = 3,   // no answer from the server
  kJobFailed = 4,     // --wait
  kTimedOut = 5,      // --wait
  kFrozen = 6,        // freeze check
  kPartlyFrozen = 7,  // freeze check
};

struct Failure {
  ExitCode exit_code = kFailed;
  int status = 0;  // of the HTTP answer that refused; 0 where there was none
  std::string message;
  std::vector<ErrorDetail> details = {};
  std::vector<std::string> hints = {};
};

template <class T>
using Outcome = std::expected<T, Failure>;

inline std::unexpected<Failure> failed(std::string message) {
  return std::unexpected(Failure{.message = std::move(message)});
}
inline std::unexpected<Failure> wrong_use(std::string message, std::vector<std::string> hints = {}) {
  return std::unexpected(
      Failure{.exit_code = kWrongUse, .message = std::move(message), .hints = std::move(hints)});
}

// "404 no deployment 'x'", without a line's end: as it stands behind another word.
std::string one_line(const Failure& failure);
// The line that begins with the program's name, and the details and hints below it.
void print(std::ostream& err, const Failure& failure);

}  // namespace ctrlplane::cli
