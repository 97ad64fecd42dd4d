// Plain SQL beside the stores, everything as text. Aborts on an error.
#pragma once

#include <string>
#include <vector>

namespace ctrlplane::store::test {

using TextRows = std::vector<std::vector<std::string>>;

TextRows sqlite_rows(const std::string& path, const std::string& sql);
// Of several statements the rows of the last.
TextRows postgres_rows(const std::string& conninfo, const std::string& sql);

}  // namespace ctrlplane::store::test
