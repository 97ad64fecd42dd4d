#include "cli/failure.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "cli/text.h"

namespace ctrlplane::cli {

std::string one_line(const Failure& failure) {
  std::string text = failure.status ? fmt::format("{} {}", failure.status, failure.message) : failure.message;
  std::ranges::replace(text, '\n', ' ');
  return printable(text);
}

void print(std::ostream& err, const Failure& failure) {
  err << "ctrlplane: " << one_line(failure) << '\n';
  for (const ErrorDetail& d : failure.details)
    err << "  " << printable(d.path.empty() ? d.message : d.path + ": " + d.message) << '\n';
  for (const std::string& hint : failure.hints) err << "  " << printable(hint) << '\n';
  err.flush();
}

}  // namespace ctrlplane::cli
