// One request under way: what was asked, and the ways to answer it. Handlers run on an I/O or a pool thread;
// what they leave behind (a command, a read) runs on the workspace's loop and holds the call until it
// answers.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/body.h"
#include "api/directory.h"
#include "api/forwarded.h"
#include "api/router.h"
#include "engine/commands.h"
#include "model/json_writer.h"
#include "net/http.h"
#include "net/responder.h"
#include "runtime/replica.h"
#include "store/store.h"

namespace ctrlplane::api {

class Api;

struct Page {
  size_t limit = 50;
  size_t offset = 0;
};

using ReadFn = std::function<Result<std::string>(const State&, Time now)>;
using RenderFn = std::function<std::string(const State&, Time now, const Answer&)>;

class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(Api& api, net::Request request, net::Responder responder);
  ~Call();

  // ---- What was asked --------------------------------------------------------------------------------
  const net::Request& request() const { return request_; }
  const Route& route() const { return *route_->route; }
  std::string_view argument(std::string_view name) const;
  // An id in the path: a malformed one names nothing, so it is kNotFound.
  template <class T>
  Result<T> id(std::string_view name) const {
    if (auto parsed = T::parse(argument(name))) return *parsed;
    return fail(ErrorCode::kNotFound, "not found: '" + std::string(argument(name)) + "' is no id");
  }
  std::optional<std::string> query(std::string_view name) const;
  // Of a parameter that may be given several times, or several values with commas between them.
  std::vector<std::string> queries(std::string_view name) const;
  template <class T>
  Result<std::optional<T>> query_id(std::string_view name) const {
    auto text = query(name);
    if (!text) return std::optional<T>();
    if (auto parsed = T::parse(*text)) return std::optional<T>(*parsed);
    return invalid(std::string(name), "must be a UUID");
  }
  Page page() const;
  const Body& body() const { return body_; }
  const Principal& who() const { return who_; }
  WorkspaceId workspace() const { return workspace_; }
  std::optional<Role> role() const;  // of the caller in the workspace
  Api& api() { return api_; }

  // ---- Answers ---------------------------------------------------------------------------------------
  Status reply(std::string json) { return reply(success(), std::move(json)); }
  Status reply(int status, std::string json);
  Status respond(net::Response response);
  void refuse(const Error& why, int retry_after_seconds = 1);
  net::EventStream stream(net::Response head);

  // ---- Between replicas: on the loops' thread --------------------------------------------------------
  bool was_forwarded() const { return forwarded_.has_value(); }
  Duration began() const { return began_; }
  // Sends the whole request to the one that owns the workspace it needs.
  void pass_on(const Peer& peer, WorkspaceId home);
  // To whoever sent it here: not the owner, nothing done.
  void disown();

  // What `read` makes of the workspace's state.
  Status read(ReadFn read) { return read_from(workspace_, std::move(read)); }
  Status read_from(WorkspaceId workspace, ReadFn read);
  // Carries out the command; the answer is what `render` makes of the state it leaves.
  Status write(Command command, RenderFn render) {
    return write_to(workspace_, std::move(command), std::move(render));
  }
  Status write_to(WorkspaceId workspace, Command command, RenderFn render);

  // ---- Answers in several steps ----------------------------------------------------------------------
  // A command whose outcome the caller looks at first; `then` runs on the loop's thread.
  Status submit(WorkspaceId workspace, Command command, RenderFn render,
                std::function<void(Call&, Reply)> then);
  // Runs `task` on a pool thread; an error it returns is the answer.
  Status later(std::function<Status(Call&)> task);
  // Something from the loop, then on with it on a pool thread.
  template <class T>
  Status ask(std::function<Result<T>(const State&, Time)> question, std::function<Status(Call&, T)> then) {
    auto found = std::make_shared<std::optional<T>>();
    Query query{[found, question = std::move(question)](const State& s, Time now) -> Result<std::string> {
      *found = TRY(question(s, now));
      return std::string();
    }};
    return submit(
        workspace_, std::move(query), {}, [found, then = std::move(then)](Call& call, Reply reply) mutable {
          if (!reply) return call.refuse(reply.error());
          auto status =
              call.later([found, then = std::move(then)](Call& c) { return then(c, std::move(**found)); });
          if (!status) call.refuse(status.error());
        });
  }
  store::Store& store();
  Time now() const;  // the wall clock: for expiries, never for decisions

 private:
  friend class Api;
  int success() const { return route().outcomes.front().status; }
  Result<void> match();
  Status identify();
  Status authenticate();
  Status open_seal();
  Status run_matched();
  void run_identified();
  void send_on(const Peer& peer, WorkspaceId home);
  void not_passed_on(bool maybe_done);
  void begin_again();
  void reject(const Error& error);
  bool may_be_repeated() const;
  Status read_query();
  Status read_body();
  void run();
  std::optional<Idempotency> idempotency() const;

  Api& api_;
  net::Request request_;
  std::optional<net::Responder> responder_;  // until answered
  const BoundRoute* route_ = nullptr;
  std::vector<std::string> arguments_;
  net::QueryPairs query_;
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
  Body body_;
  std::optional<Forwarded> forwarded_;  // by another replica
  std::optional<Uuid> passing_id_;      // to another replica
  std::optional<Duration> in_trouble_since_;
  int written_ = 0;          // commands other than questions, since it began (again)
  bool begun_ = false;       // something was done before what is submitted now
  bool maybe_done_ = false;  // by a replica that did not answer
  bool refreshed_ = false;   // the accounts, on its behalf
  Principal who_;
  WorkspaceId workspace_ = kInstanceWorkspace;
  Duration began_;
};

// ---- Pieces of answers that many handlers share --------------------------------------------------------

// {id, message}
RenderFn accepted(std::string_view message);

// {items, total, limit, offset} over a random-access list of things that are already in order.
template <class List, class Write>
std::string page_of(const List& all, Page page, Write&& write) {
  JsonWriter w;
  w.open().key("items").open_array();
  for (size_t i = page.offset; i < all.size() && i < page.offset + page.limit; ++i) write(w, all[i]);
  w.close_array();
  w.member("total", all.size()).member("limit", page.limit).member("offset", page.offset).close();
  return w.take();
}

}  // namespace ctrlplane::api
