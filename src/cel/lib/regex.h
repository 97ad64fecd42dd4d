// Regular expressions (RE2: linear time, bounded memory).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ctrlplane::cel {

class Regex {
 public:
  // Null when the pattern is not one; then `why` says what is wrong with it.
  static std::unique_ptr<Regex> compile(std::string_view pattern, std::string* why = nullptr);
  ~Regex();
  // Somewhere in the text.
  bool matches(std::string_view text) const;

 private:
  struct Compiled;
  explicit Regex(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

// The patterns of one program; the same pattern is compiled once.
class RegexSet {
 public:
  const Regex* compile(std::string_view pattern, std::string* why = nullptr);

 private:
  struct Item {
    std::string pattern;
    std::unique_ptr<Regex> regex;
  };
  std::vector<Item> items_;
};

}  // namespace ctrlplane::cel
