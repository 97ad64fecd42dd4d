#include "cli/table.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/check.h"
#include "cli/text.h"

namespace ctrlplane::cli {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kNarrowest = 6;

std::string_view escape(Tone tone) {
  switch (tone) {
    case Tone::kGood: return "\x1b[32m";
    case Tone::kBad: return "\x1b[31m";
    case Tone::kBusy: return "\x1b[33m";
    case Tone::kDim: return "\x1b[2m";
    case Tone::kPlain: return "";
  }
  return "";
}

size_t line_width(const std::vector<size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), size_t{0}) + (widths.size() - 1) * kGap;
}

}  // namespace

Tone tone_of(std::string_view status) {
  constexpr std::string_view kGood[] = {"successful", "ready"};
  constexpr std::string_view kBusy[] = {"pending",        "queued",   "inProgress",
                                        "actionRequired", "building", "paused"};
  constexpr std::string_view kBad[] = {
      "failure", "failed", "rejected", "invalidJobAgent", "invalidIntegration", "externalRunNotFound"};
  constexpr std::string_view kDim[] = {"cancelled", "skipped", "unspecified"};
  auto in = [&](const auto& words) { return std::ranges::find(words, status) != std::end(words); };
  return in(kGood)   ? Tone::kGood
         : in(kBusy) ? Tone::kBusy
         : in(kBad)  ? Tone::kBad
         : in(kDim)  ? Tone::kDim
                     : Tone::kPlain;
}

std::string coloured(std::string_view text, Tone tone, bool colour) {
  if (!colour || tone == Tone::kPlain) return std::string(text);
  return fmt::format("{}{}\x1b[0m", escape(tone), text);
}

void Table::add(std::vector<Cell> row) {
  CHECK(row.size() == titles_.size());
  for (Cell& cell : row) cell.text = cell.text.empty() ? "-" : printable(cell.text);
  rows_.push_back(std::move(row));
}

std::vector<size_t> Table::widths(size_t limit) const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < titles_.size(); ++i) {
    size_t w = columns_of(titles_[i]);
    for (const auto& row : rows_) w = std::max(w, columns_of(row[i].text));
    widths.push_back(w);
  }
  while (limit && line_width(widths) > limit) {
    auto widest = std::ranges::max_element(widths);
    if (*widest <= kNarrowest) break;
    --*widest;
  }
  return widths;
}

std::string Table::render(size_t width, bool colour) const {
  std::vector<size_t> w = widths(width);
  std::string out;
  auto line = [&](const auto& text_of, const auto& tone_at) {
    size_t at = 0, padding = 0;
    for (size_t i = 0; i < w.size(); ++i) {
      std::string text = cut_to(text_of(i), w[i]);
      if (width && at + padding + columns_of(text) > width)
        break;  // too narrow for even the narrowest columns
      out.append(padding, ' ').append(coloured(text, tone_at(i), colour));
      at += padding + columns_of(text);
      padding = w[i] - columns_of(text) + kGap;
    }
    out += '\n';
  };
  line([&](size_t i) -> const std::string& { return titles_[i]; }, [](size_t) { return Tone::kPlain; });
  for (const auto& row : rows_)
    line([&](size_t i) -> const std::string& { return row[i].text; }, [&](size_t i) { return row[i].tone; });
  return out;
}

}  // namespace ctrlplane::cli
