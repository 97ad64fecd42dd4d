// A copy of an SQLite store while a server goes on working on it.
//
// The copy is one moment of the database: a read transaction is held from the first page to the last, so
// commits neither wait for it nor make it start over. What they cost is room: the server's log cannot start
// over either until the copy is done.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "store/store.h"

namespace ctrlplane::store {

struct BackupOptions {
  bool overwrite = false;     // of a file that is there; never of one that is in use
  int pages_per_step = 1024;  // 4 MB
  // Called after each step, and now and then while the copy is checked (then all pages are done). False ends
  // it with kConflict.
  std::function<bool(int64_t pages_done, int64_t pages)> progress = {};
};

struct BackupReport {
  int64_t bytes = 0;
  int64_t schema = 0;
  std::vector<Owner> owners;                 // each workspace with its seq, by id
  std::map<WorkspaceId, std::string> slugs;  // of those that have one
};

// Copies `from` to `to`: one file that needs no other beside it, readable by its owner alone. `to` appears
// only once the copy is whole, has passed SQLite's integrity check and is on disk; on any error it is as it
// was, and nothing is left beside it.
// kConflict: `to` is there already. kInvalid: no file or database that could be meant. kInternal: `from` is
// no database, or damaged. kNotFound: no such file. kUnavailable: a disk failed, or is full.
Result<BackupReport> backup_sqlite(const std::string& from, const std::string& to,
                                   const BackupOptions& options = {});

}  // namespace ctrlplane::store
