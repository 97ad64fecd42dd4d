#include "script.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.h"

namespace ctrlplane::scenario {
namespace {

constexpr std::string_view kIndent = "  ";

bool is_blank(const std::string& line) { return line.find_first_not_of(" \t") == std::string::npos; }
bool is_indented(const std::string& line) { return !is_blank(line) && line.front() == ' '; }

std::string trimmed(const std::string& line) {
  size_t from = line.find_first_not_of(" \t");
  size_t to = line.find_last_not_of(" \t");
  return from == std::string::npos ? "" : line.substr(from, to - from + 1);
}

}  // namespace

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Script Script::read(const std::string& path) {
  std::ifstream in(path);
  CHECK(in.good(), "cannot read " + path);
  std::stringstream text;
  text << in.rdbuf();
  Script script;
  script.path_ = path;
  script.name_ = std::filesystem::path(path).stem().string();
  script.lines_ = split_lines(text.str());
  for (size_t i = 0; i < script.lines_.size(); ++i) {
    const std::string& line = script.lines_[i];
    if (is_blank(line)) continue;
    if (line.front() == '#') {
      if (script.claim_.empty()) script.claim_ = trimmed(line.substr(1));
    } else if (!is_indented(line)) {
      script.steps_.push_back({.line = i + 1, .text = trimmed(line)});
    } else {
      CHECK(!script.steps_.empty(), path + ": an indented line before the first step");
      script.steps_.back().has_block = true;
      script.steps_.back().block.push_back(trimmed(line));
    }
  }
  return script;
}

void Script::rewrite(const std::vector<std::vector<std::string>>& blocks) const {
  CHECK(blocks.size() == steps_.size(), "one block per step");
  std::ofstream out(path_);
  size_t next = 0;
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (is_indented(lines_[i])) continue;
    out << lines_[i] << '\n';
    if (next == steps_.size() || steps_[next].line != i + 1) continue;
    if (steps_[next].wants_block())
      for (const std::string& line : blocks[next]) out << kIndent << line << '\n';
    ++next;
  }
}

std::vector<std::string> scripts_below(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".scn") paths.push_back(entry.path().lexically_normal().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace ctrlplane::scenario
