// A scenario file, taken apart into steps. One line is one step; indented lines below it are what the
// step is expected to print; `#` begins a comment line.
#pragma once

#include <string>
#include <vector>

namespace ctrlplane::scenario {

struct Step {
  size_t line = 0;  // in the file, from 1
  std::string text;
  bool has_block = false;
  std::vector<std::string> block;  // without the indentation
  // A step that looks at something prints for the reader, so `--update` gives it a block.
  bool wants_block() const { return has_block || text.starts_with("show "); }
};

class Script {
 public:
  // The name is the file's, without folder and ending. Aborts if the file cannot be read.
  static Script read(const std::string& path);

  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }
  const std::vector<Step>& steps() const { return steps_; }
  // The first comment line: what is true.
  const std::string& claim() const { return claim_; }

  // Writes the file again with these blocks (one entry per step) in place of the old ones. Everything
  // else stays byte by byte.
  void rewrite(const std::vector<std::vector<std::string>>& blocks) const;

 private:
  std::string path_, name_, claim_;
  std::vector<std::string> lines_;
  std::vector<Step> steps_;
};

// Every *.scn below the folder, sorted.
std::vector<std::string> scripts_below(const std::string& folder);

std::vector<std::string> split_lines(const std::string& text);

}  // namespace ctrlplane::scenario
