#include "words.h"

#include <charconv>

namespace ctrlplane::scenario {
namespace {

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

std::optional<Duration> unit_named(std::string_view name) {
  if (name == "ms") return milliseconds(1);
  if (name == "s") return seconds(1);
  if (name == "m") return minutes(1);
  if (name == "h") return hours(1);
  if (name == "d") return hours(24);
  return std::nullopt;
}

}  // namespace

std::unexpected<Error> mistake(std::string message) {
  return fail(ErrorCode::kInternal, "mistake in the scenario: " + message);
}

std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (size_t at; (at = text.find(separator)) != std::string_view::npos;
       text.remove_prefix(at + separator.size()))
    parts.emplace_back(text.substr(0, at));
  parts.emplace_back(text);
  return parts;
}

Words::Words(std::string_view text) {
  while (!text.empty()) {
    if (text.front() == ' ') {
      text.remove_prefix(1);
      continue;
    }
    bool quoted = text.front() == '"';
    if (quoted) text.remove_prefix(1);
    size_t end = std::min(text.find(quoted ? '"' : ' '), text.size());
    words_.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool Words::take(std::string_view words) {
  size_t at = at_;
  for (const std::string& word : split(words, " "))
    if (at == words_.size() || words_[at++] != word) return false;
  at_ = at;
  return true;
}

Result<std::string> Words::next(std::string_view what) {
  if (done()) return mistake(fmt::format("expected {} at the end of the line", what));
  return words_[at_++];
}

Result<std::string> Words::label(std::string_view what) {
  std::string word = TRY(next(what));
  if (!word.ends_with(':')) return mistake(fmt::format("expected ':' after {} {}", what, word));
  word.pop_back();
  return word;
}

Status Words::must(std::string_view words) {
  if (take(words)) return {};
  return mistake(
      fmt::format("expected '{}' {}", words, done() ? "at the end" : "before '" + words_[at_] + "'"));
}

std::string Words::until(std::initializer_list<std::string_view> stops) {
  std::string out;
  for (; !done() && std::find(stops.begin(), stops.end(), words_[at_]) == stops.end(); ++at_) {
    if (!out.empty()) out += ' ';
    out += words_[at_];
  }
  return out;
}

Status Words::end() const {
  if (done()) return {};
  return mistake(fmt::format("'{}' does not belong here", words_[at_]));
}

Result<int64_t> Words::number(std::string_view what) {
  std::string word = TRY(next(what));
  if (auto n = parse_number(word)) return *n;
  return mistake(fmt::format("'{}' is no number", word));
}

Result<Duration> Words::duration() {
  std::string word = TRY(next("a duration"));
  Duration out;
  for (std::string_view left = word; !left.empty();) {
    size_t digits = std::min(left.find_first_not_of("-0123456789"), left.size());
    size_t end = std::min(left.find_first_of("-0123456789", digits), left.size());
    auto n = parse_number(left.substr(0, digits));
    auto unit = unit_named(left.substr(digits, end - digits));
    if (!n || !unit) return mistake(fmt::format("'{}' is no duration like 1h30m", word));
    out = out + *unit * *n;
    left.remove_prefix(end);
  }
  return out;
}

Result<Duration> Words::instant() {
  TRY(must("day"));
  int64_t day = TRY(number("a day"));
  std::string word = TRY(next("a time of day"));
  Duration out = hours(24 * (day - 1));
  Duration unit = hours(1);
  for (const std::string& part : split(word, ":")) {
    auto n = parse_number(part);
    if (!n) return mistake(fmt::format("'{}' is no time of day", word));
    out = out + unit * *n;
    unit = Duration{unit.us / 60};
  }
  return out;
}

}  // namespace ctrlplane::scenario
