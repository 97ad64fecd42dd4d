// The checks of a store below its rows: schema, settings, disk, integrity. Each opens the store by itself
// and without changing it.
#pragma once

#include <memory>
#include <string>

#include "app/doctor.h"

namespace ctrlplane::app {

// The store opened for reading; null if it cannot be opened or its schema is not this program's, which then
// stands among the findings.
std::unique_ptr<store::Store> check_sqlite(const std::string& path, bool full_integrity, Diagnosis& out);
std::unique_ptr<store::Store> check_postgres(const std::string& conninfo, Diagnosis& out);

// What a database of this schema is for a program that knows migrations up to `known`.
Finding judge_schema(int64_t version, int64_t min_binary, int64_t known);
// What is free beside a database of this size.
Finding judge_disk(int64_t free_bytes, int64_t database_bytes, int64_t log_bytes);
// "12.3 MB".
std::string bytes_text(int64_t bytes);

struct PostgresSettings {
  std::string fsync, synchronous_commit, full_page_writes, encoding, standby_names;
  int64_t standbys = 0;          // connected
  int64_t hidden = 0;            // of them without a visible state: the role may not see it
  int64_t synchronous = 0;       // of them those that commits wait for
  bool read_only = false;        // a standby itself, or read-only by default
  int64_t server_version = 0;    // 150004
  int64_t connections_left = 0;  // before max_connections
};
std::vector<Finding> judge_settings(const PostgresSettings& settings);

}  // namespace ctrlplane::app
