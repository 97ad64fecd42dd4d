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
  bool leaving = false;  // gives away what it has and takes nothing
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
  // Column is one of these, all of them; an empty list matches nothing. At most kMaxAmong values each.
  std::vector<std::pair<std::string_view, std::vector<CellView>>> among = {};
  // Columns that are not NULL. With "ended_at" a read of an agent's jobs by status has an index of its own.
  std::vector<std::string_view> present = {};
  std::string_view order_by = {};  // a column; ties by key
  bool descending = false;
  int64_t limit = 50;
  int64_t offset = 0;
};

inline constexpr size_t kMaxAmong = 4096;

// A piece of what a job has printed; `offset` counts the bytes of the whole output.
struct OutputChunk {
  JobId job;
  int64_t offset = 0;
  std::string text;
  bool operator==(const OutputChunk&) const = default;
};

// Of each job's output the first and the last so many bytes are kept, and whatever chunk they cut.
inline constexpr int64_t kOutputHalf = 512 * 1024;

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

  // Clears the owner if `token` is still in place: from then on anybody may acquire from that token at once.
  // The caller has no commit under way and makes none any more.
  virtual Status release(WorkspaceId workspace, Token token) = 0;

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
  // Removes a replica's row: it has ended, or is long dead.
  virtual Status forget(ReplicaId replica) = 0;
  // What replicas sign with when they speak to each other: the first candidate there ever was.
  virtual Result<std::string> cluster_secret(const std::string& candidate) = 0;
  virtual Result<std::vector<Owner>> owners() = 0;

  // Rows that are not in memory. They are final or historic, so reading them beside the loop is safe.
  virtual Result<std::vector<Entity>> read(WorkspaceId workspace, const ColdQuery& query) = 0;

  // How many rows match, whatever limit and offset say.
  virtual Result<int64_t> count(WorkspaceId workspace, const ColdQuery& query) = 0;

  // Deletes up to `limit` cold rows of `table` whose `column` is below `before`: jobs that are not
  // live (with their output), audit, delivered outbox rows, idempotency keys. Returns how many went.
  virtual Result<int64_t> prune(WorkspaceId workspace, const Table& table, std::string_view column,
                                int64_t before, int64_t limit) = 0;

  // Deletes up to `limit` context parts that no job refers to and that were stored longer than `age` ago, in
  // the workspace's own time (that of its last commit). Safe beside the loop if `age` is above 2 ·
  // kPartFresh.
  virtual Result<int64_t> prune_parts(WorkspaceId workspace, Duration age, int64_t limit) = 0;

  // Neither fenced nor numbered: output is a courtesy of whoever runs the job. A chunk of the same offset
  // replaces the earlier one unless it is shorter. kInvalid: an offset below 0 or beyond any output.
  virtual Status append_output(WorkspaceId workspace, std::span<const OutputChunk> chunks) = 0;
  // By offset and without overlaps, from the first byte kept at or after `from`: whole chunks as long as
  // they fit into `max_bytes`, but at least one. Text that was UTF-8 is never cut inside a character. A gap
  // between two chunks is what was not kept, or has not come yet.
  virtual Result<std::vector<OutputChunk>> read_output(WorkspaceId workspace, JobId job, int64_t from,
                                                       int64_t max_bytes) = 0;
};

}  // namespace ctrlplane::store
