// Where workspaces are kept. A store knows rows, owners and beats; it knows no rule of the product.
//
// Calls block; an implementation may be used by several threads at once. A returned kUnavailable
// means the store could not be reached or the answer was lost: for `commit` and `acquire` that is "in
// doubt" (the effect may be there, or may still come), for reads it is plain failure.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "store/row.h"

namespace ctrlplane::store {

using ReplicaId = Id<struct ReplicaTag>;  // new per process start
using Token = Id<struct TokenTag>;        // new per acquisition; nil = never owned

// A row of workspace_owner.
struct Owner {
  WorkspaceId workspace;
  ReplicaId replica;  // nil if nobody owns it
  Token token;
  int64_t epoch = 0;  // number of acquisitions
  int64_t seq = 0;    // number of the last commit
  Time last_now;      // the workspace's time never goes back behind this
  std::optional<Time> next_due_at;
  bool operator==(const Owner&) const = default;
};

// A row of replica. `beat` is a counter, not a time: challengers watch it stand still.
struct Replica {
  ReplicaId id;
  std::string address;
  std::string version;
  int64_t beat = 0;
  bool operator==(const Replica&) const = default;
};

// One transaction of one workspace.
struct Commit {
  WorkspaceId workspace;
  Token token;      // the fence: must still be the owner's ...
  int64_t seq = 0;  // ... and the last commit must be seq - 1
  Time now;
  std::optional<Time> next_due_at;
  Changes changes;
};

enum class CommitOutcome : uint8_t {
  kDurable,  // on disk, with everything before it
  kFenced,   // certainly not applied: token or seq did not fit
  kInDoubt,  // failed or unanswered: acquire again and compare seq
};

struct ColdQuery {
  const Table* table = nullptr;
  std::vector<std::pair<std::string_view, CellView>> equals = {};  // column = value, all of them
  std::string_view order_by = {};                                  // a column; ties by key
  bool descending = false;
  int64_t limit = 50;
  int64_t offset = 0;
};

using EntitySink = std::function<void(Entity&&)>;

class Store {
 public:
  virtual ~Store() = default;

  // Brings the schema up to date under a lock, or refuses: kConflict when the database asks for a newer
  // binary (min_binary) or its settings break durability.
  virtual Status migrate() = 0;

  // The one path to ownership: start, take-over and reload. In a transaction of its own that waits for
  // any commit of the previous owner still running, sets `token` and epoch + 1 if the present token is
  // `expected` (nil: a workspace nobody has owned yet). Idempotent: if `token` is in place already the
  // row is returned as it is. kConflict: somebody else acquired it since.
  virtual Result<Owner> acquire(WorkspaceId workspace, ReplicaId replica, Token expected, Token token) = 0;

  // Every hot row, in one snapshot in which `token` still owns the workspace (else kConflict). Parents
  // come before children: in the order of tables(). Returns the owner row of that snapshot.
  virtual Result<Owner> load(WorkspaceId workspace, Token token, const EntitySink& sink) = 0;

  // Like load, for long reads off the loop: any process may take it.
  virtual Result<Owner> snapshot(WorkspaceId workspace, const EntitySink& sink) = 0;

  // Makes each commit durable or not, independently; outcomes in the order of `commits`. At most one
  // commit per workspace.
  virtual std::vector<CommitOutcome> commit(std::span<const Commit> commits) = 0;

  // True if this process alone can have the store open: then a former owner is certainly dead.
  virtual bool exclusive() const { return false; }

  // Raises the replica's beat (inserting its row at first). Never waits behind a commit.
  virtual Status beat(const Replica& replica) = 0;
  virtual Result<std::vector<Replica>> replicas() = 0;
  virtual Result<std::vector<Owner>> owners() = 0;

  // Rows that are not in memory. They are final or historic, so reading them beside the loop is safe.
  virtual Result<std::vector<Entity>> read(WorkspaceId workspace, const ColdQuery& query) = 0;

  // Deletes up to `limit` cold rows of `table` whose `column` is below `before`: jobs that are not
  // live, audit, delivered outbox rows, idempotency keys. Returns how many went.
  virtual Result<int64_t> prune(WorkspaceId workspace, const Table& table, std::string_view column,
                                int64_t before, int64_t limit) = 0;
};

}  // namespace ctrlplane::store
