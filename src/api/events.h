// The live stream of a workspace: one event per commit, from a bounded memory of the last ones. A reader that
// missed more than that is told to start over; it never gets a gap without being told.
//
// Lives on the executor's thread.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "api/directory.h"
#include "net/responder.h"
#include "runtime/executor.h"
#include "runtime/feed.h"

namespace ctrlplane::api {

class Events final : public FeedListener {
 public:
  static constexpr size_t kMaxEvents = 4096;            // held per workspace
  static constexpr size_t kMaxBytes = 4 * 1024 * 1024;  // of their text
  static constexpr size_t kMaxReaders = 1000;           // per workspace
  static constexpr Duration kTick = seconds(2);         // how soon a revoked key ends its streams
  static constexpr int kTicksPerComment = 7;            // keeps proxies from closing a quiet stream

  Events(Executor& executor, const Directory& directory);
  ~Events() override;

  // False if the workspace is not served here, or has too many readers.
  bool can_subscribe(WorkspaceId workspace) const;
  void subscribe(WorkspaceId workspace, Principal who, std::optional<int64_t> last_seen,
                 net::EventStream stream);
  size_t readers() const;

  void loaded(WorkspaceLoop& loop) override;
  void committed(WorkspaceId workspace, int64_t seq, Time now, const Changes& changes) override;
  void lost(WorkspaceLoop& loop) override;

 private:
  struct Held {
    int64_t seq;
    std::string text;
  };
  struct Reader {
    Principal who;
    net::EventStream stream;
  };
  struct Channel {
    int64_t seq = 0;  // of the newest commit
    std::deque<Held> held;
    size_t bytes = 0;
    std::list<Reader> readers;
  };
  void tick();

  Executor& executor_;
  const Directory& directory_;
  std::map<WorkspaceId, Channel> channels_;
  int ticks_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // the tick outlives this
};

}  // namespace ctrlplane::api
