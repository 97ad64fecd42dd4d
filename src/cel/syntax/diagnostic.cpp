#include "cel/syntax/diagnostic.h"

#include <algorithm>

#include <fmt/core.h>

namespace ctrlplane::cel {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Edits (insert, delete, replace, swap neighbours) between the two, case ignored.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      char x = lower(a[i - 1]), y = lower(b[j - 1]);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (x == y ? 0 : 1)});
      if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

Position position_at(std::string_view source, uint32_t offset) {
  Position p;
  size_t end = std::min<size_t>(offset, source.size());
  for (size_t i = 0; i < end; ++i) {
    if (source[i] == '\n') {
      ++p.line;
      p.column = 1;
    } else if ((source[i] & 0xc0) != 0x80) {
      ++p.column;
    }
  }
  return p;
}

Error to_error(std::string_view source, const std::vector<Diagnostic>& diagnostics) {
  Error e{ErrorCode::kInvalid, "invalid expression"};
  for (const Diagnostic& d : diagnostics) {
    Position p = position_at(source, d.offset);
    std::string place = fmt::format("{}:{}", p.line, p.column);
    if (e.details.empty()) e.message = place + ": " + d.message;
    e.details.push_back({std::move(place), d.message});
  }
  return e;
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates) {
  if (name.size() > 64) return {};
  std::string_view best;
  size_t best_distance = name.size() < 3 ? 0 : 1 + name.size() / 3;
  for (std::string_view c : candidates) {
    if (c.size() > name.size() + best_distance || name.size() > c.size() + best_distance) continue;
    size_t d = distance(name, c);
    if (d < best_distance || (d == best_distance && best.empty())) best = c, best_distance = d;
  }
  return best;
}

std::string suggestion(std::string_view name, const std::vector<std::string_view>& candidates) {
  std::string_view best = nearest(name, candidates);
  return best.empty() ? std::string() : fmt::format("; did you mean '{}'?", best);
}

}  // namespace ctrlplane::cel
