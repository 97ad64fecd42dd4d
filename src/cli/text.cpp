#include "cli/text.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "base/uuid.h"

namespace ctrlplane::cli {
namespace {

// The length of the character that begins here: 0 if it is none.
size_t character(std::string_view text) {
  auto c = static_cast<unsigned char>(text.front());
  size_t n = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
  return n <= text.size() && is_storable_text(text.substr(0, n)) ? n : 0;
}

bool is_control(std::string_view c) {
  auto first = static_cast<unsigned char>(c.front());
  if (c.size() == 1) return first < 0x20 || first == 0x7f;
  auto second = static_cast<unsigned char>(c[1]);
  if (first == 0xc2) return second < 0xa0;
  // Marks that turn the direction of what follows: U+202A to U+202E, U+2066 to U+2069.
  auto third = static_cast<unsigned char>(c.size() > 2 ? c[2] : '\0');
  return first == 0xe2 && ((second == 0x80 && third >= 0xaa && third <= 0xae) ||
                           (second == 0x81 && third >= 0xa6 && third <= 0xa9));
}

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    size_t n = character(text);
    if (n == 0 || is_control(text.substr(0, n)))
      out += '?';
    else
      out += text.substr(0, n);
    text.remove_prefix(std::max<size_t>(n, 1));
  }
  return out;
}

size_t columns_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, starts_character));
}

std::string cut_to(std::string_view text, size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  size_t at = 0;
  for (size_t seen = 0; at < text.size(); ++at)
    if (starts_character(text[at]) && seen++ == columns - 1) break;
  return std::string(text.substr(0, at)) + "…";
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  constexpr size_t kLongest = 64;  // nobody means a member by a whole paragraph
  if (word.size() > kLongest) return {};
  std::string_view best;
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  for (std::string_view k : known) {
    size_t n = edits(lower(word), lower(k));
    if (n < least && n < k.size()) least = n, best = k;
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  std::string_view near = nearest(word, known);
  return near.empty() ? std::string() : fmt::format(" (did you mean '{}'?)", near);
}

bool is_uuid(std::string_view text) { return Uuid::parse(text).has_value(); }

bool is_id_prefix(std::string_view text) {
  size_t digits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !std::isxdigit(static_cast<unsigned char>(text[i]))) return false;
    if (!dash) ++digits;
  }
  return digits >= 4 && text.size() <= 36;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return out;
}

}  // namespace ctrlplane::cli
