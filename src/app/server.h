// The one place where the objects of a server are made and put together.
#pragma once

#include <future>
#include <memory>
#include <string>

#include "api/api.h"
#include "app/housekeeper.h"
#include "app/settings.h"
#include "base/clock.h"
#include "net/server.h"
#include "notify/notifier.h"
#include "runtime/outbox_pump.h"
#include "runtime/replica.h"
#include "runtime/threaded.h"

namespace ctrlplane::app {

// Tells the replica which workspaces there are, and knows which of them are here.
class WorkspaceKeeper final : public FeedListener {
 public:
  explicit WorkspaceKeeper(Replica& replica) : replica_(replica) {}
  void loaded(WorkspaceLoop& loop) override;
  void committed(WorkspaceId workspace, int64_t seq, Time now, const Changes& changes) override;
  void lost(WorkspaceLoop& loop) override;
  void take_stock(const State& instance);
  std::vector<WorkspaceId> owned() const;  // from any thread

 private:
  Replica& replica_;
  mutable std::mutex mutex_;
  std::set<WorkspaceId> owned_;
};

// Notices to operators go to the log.
class LogReceiver final : public Receiver {
 public:
  explicit LogReceiver(Executor& executor) : executor_(executor) {}
  void deliver(const SendPermit& permit,
               std::move_only_function<void(SendOutcome, std::string)> done) override;

 private:
  Executor& executor_;
};

class Server {
 public:
  // Serving when it returns, and the first administrator is there.
  static Result<std::unique_ptr<Server>> start(const ServeSettings& settings);
  ~Server();

  std::string url() const;
  // Made at this start, to be shown once; empty if there were users already.
  const std::string& first_key() const { return first_key_; }
  const std::string& first_password() const { return first_password_; }

  // Refuses new requests, finishes what was accepted, commits. True if all of it was.
  bool stop(Duration deadline);

 private:
  explicit Server(const ServeSettings& settings) : settings_(settings) {}
  Status open_store();
  Status listen();
  std::string advertised() const;
  void make_notifier();
  void start_replica();
  Status bootstrap();
  void ask_until_owned(const Bootstrap& command, Duration give_up,
                       std::shared_ptr<std::promise<Reply>> answered);
  void watch_health();
  void write_metrics(std::string& out);
  template <class Begin>
  bool wait_for(Duration until, Begin begin);

  ServeSettings settings_;
  SystemClock clock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<ThreadExecutor> executor_;
  std::unique_ptr<ThreadStorePort> port_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<OutboxPump> pump_;
  std::unique_ptr<LogReceiver> notices_;
  std::unique_ptr<WorkspaceKeeper> keeper_;
  std::unique_ptr<api::Api> api_;
  std::unique_ptr<notify::Notifier> notifier_;
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<Housekeeper> housekeeper_;
  bool others_have_users_ = false;  // on the executor's thread
  std::string first_key_, first_password_;
};

}  // namespace ctrlplane::app
