// Columns of text for a person.
#pragma once

#include <string>
#include <vector>

namespace ctrlplane::cli {

enum class Tone { kPlain, kGood, kBad, kBusy, kDim };

struct Cell {
  std::string text;  // an empty one is shown as '-'
  Tone tone = Tone::kPlain;
};

// How a status of a job or a version looks.
Tone tone_of(std::string_view status);
// In its colour, or as it is.
std::string coloured(std::string_view text, Tone tone, bool colour);

class Table {
 public:
  explicit Table(std::vector<std::string> titles) : titles_(std::move(titles)) {}

  void add(std::vector<Cell> row);  // as many as there are titles
  // `width` 0: lines are as long as they are. Otherwise the widest columns give way.
  std::string render(size_t width, bool colour) const;

 private:
  std::vector<size_t> widths(size_t limit) const;

  std::vector<std::string> titles_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace ctrlplane::cli
