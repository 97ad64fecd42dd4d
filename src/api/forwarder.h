// Passes requests on to the replica that owns their workspace, and its answers back: one hop, never two.
// docs/replicas.md says what is repeated when an answer gets lost, and what is not.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "api/forwarded.h"
#include "net/async_client.h"
#include "net/responder.h"
#include "runtime/replica.h"

namespace ctrlplane::api {

class Forwarder {
 public:
  // What became of a request that was passed on. Exactly one of the three is called, on a thread of the
  // client's.
  struct Ends {
    std::move_only_function<void(net::Response)> answered;
    // The answer is a stream: its head, to be sent on; what it says follows.
    std::move_only_function<net::EventStream(net::Response head)> streamed;
    // No answer. `maybe_done`: it may have had its effect all the same.
    std::move_only_function<void(bool maybe_done)> failed;
  };

  explicit Forwarder(std::string cluster_secret);
  ~Forwarder();

  const Seal& seal() const { return seal_; }
  void pass(const Peer& peer, WorkspaceId home, const net::Request& request, const Forwarded& what,
            Ends ends);
  // For a request whose answer is a stream of events.
  void pass_stream(const Peer& peer, WorkspaceId home, const net::Request& request, const Forwarded& what,
                   Ends ends);

  // On the executor, with each new view: what waits for one that is dead, or has not been the owner for a
  // while, waits in vain. One that has just given the workspace away still answers.
  void abandon_strays(const Replica& replica, Duration now);
  // Ends what is under way as failed; from then on everything fails at once.
  void stop();

  uint64_t passed() const { return passed_.load(); }

 private:
  struct Passing;
  std::shared_ptr<Passing> begin(const Peer& peer, WorkspaceId home, Ends ends);

  Seal seal_;
  std::mutex mutex_;
  std::list<std::weak_ptr<Passing>> under_way_;
  std::atomic<uint64_t> passed_ = 0;
  std::shared_ptr<net::AsyncClient> client() const;
  mutable std::mutex client_mutex_;
  std::shared_ptr<net::AsyncClient> client_;  // null once stopped
};

}  // namespace ctrlplane::api
