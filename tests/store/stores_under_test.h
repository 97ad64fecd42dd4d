// The three stores behind one handle, each with a place of its own that lives as long as the handle.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "entities.h"
#include "store/store.h"

namespace ctrlplane::store::test {

class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  virtual Store& store() = 0;
  // Closes and opens it again: what is committed must be there. The simulated store lives on.
  virtual void reopen() = 0;
};

// "sqlite", "postgres" or "sim"; migrated.
std::unique_ptr<StoreUnderTest> make_store(const std::string& kind);

// A workspace with its present owner, as a runtime would hold it.
struct Held {
  WorkspaceId id;
  Token token;
  int64_t seq = 0;

  Commit next(Changes changes, Time now = Time{1}) const {
    return {.workspace = id, .token = token, .seq = seq + 1, .now = now, .changes = std::move(changes)};
  }
};

// Aborts the test process if it cannot be done.
Held acquire_new(Store& store, Random& random);
// Commits and counts on; the commit must succeed.
void commit_now(Store& store, Held& held, Changes changes);

CommitOutcome commit_one(Store& store, const Commit& commit);
std::vector<Entity> snapshot_rows(Store& store, WorkspaceId workspace);
std::vector<Entity> load_rows(Store& store, const Held& held);
std::vector<Entity> read_all(Store& store, WorkspaceId workspace, const Table& table);

}  // namespace ctrlplane::store::test
