// `ctrlplane backup`: a copy of an SQLite store while its server runs.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace ctrlplane::app {

// Exit code 0: the copy is there, checked. 1: something failed. 2: wrong use, PostgreSQL among it.
void add_backup_verb(CLI::App& app, int& exit_code);

// The command that makes a backup of a PostgreSQL database; without its password.
std::string pg_dump_command(const std::string& conninfo, const std::string& to);

}  // namespace ctrlplane::app
