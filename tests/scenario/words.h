// A step's text, read word by word. Words are parted by blanks; "in quotes" is one word. What does not
// read is kInternal with the reason: a mistake in the file, never an answer of the product.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace ctrlplane::scenario {

std::unexpected<Error> mistake(std::string message);

class Words {
 public:
  explicit Words(std::string_view text);

  bool done() const { return at_ == words_.size(); }
  // Consumes the next words if they are exactly these.
  bool take(std::string_view words);
  Result<std::string> next(std::string_view what);
  // A word that ends in a colon, without it.
  Result<std::string> label(std::string_view what);
  // Consumes these words or complains.
  Status must(std::string_view words);
  // Joined by blanks: everything up to one of these words, or to the end.
  std::string until(std::initializer_list<std::string_view> stops);
  std::string rest() { return until({}); }
  // Complains about what is left.
  Status end() const;

  Result<int64_t> number(std::string_view what);
  Result<Duration> duration();  // 90s, 5m, 1h30m, 2d
  // `day 2 09:30[:15]`, since day 1 00:00.
  Result<Duration> instant();

 private:
  std::vector<std::string> words_;
  size_t at_ = 0;
};

std::vector<std::string> split(std::string_view text, std::string_view separator);

}  // namespace ctrlplane::scenario
