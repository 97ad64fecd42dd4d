#include "cli/files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace ctrlplane::cli {

namespace fs = std::filesystem;

std::string read_all(std::istream& in) {
  std::string text;
  std::array<char, 65536> piece;
  do {
    in.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<size_t>(in.gcount()));
  } while (in);
  return text;
}

Outcome<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return wrong_use(fmt::format("cannot read {}: {}", path, std::generic_category().message(errno)));
  std::string text = read_all(file);
  if (file.bad()) return wrong_use(fmt::format("cannot read {}", path));
  return text;
}

Outcome<std::vector<std::string>> files_at(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector{path};
  std::vector<std::string> files;
  fs::directory_iterator at(path, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    std::string end = at->path().extension().string();
    std::error_code ignored;
    if ((end == ".yaml" || end == ".yml" || end == ".json") && at->is_regular_file(ignored))
      files.push_back(at->path().string());
  }
  if (error) return wrong_use(fmt::format("cannot read {}: {}", path, error.message()));
  if (files.empty()) return wrong_use(fmt::format("{} has no .yaml, .yml or .json file in it", path));
  std::ranges::sort(files);
  return files;
}

}  // namespace ctrlplane::cli
