#pragma once

#include <istream>
#include <string>
#include <vector>

#include "cli/failure.h"

namespace ctrlplane::cli {

Outcome<std::string> read_file(const std::string& path);
std::string read_all(std::istream& in);
// A folder's .yaml, .yml and .json files by name, without those of folders in it; anything else is itself.
Outcome<std::vector<std::string>> files_at(const std::string& path);

}  // namespace ctrlplane::cli
