#include "api/call.h"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "api/api.h"
#include "api/secret.h"
#include "base/log.h"
#include "base/text.h"

namespace ctrlplane::api {
namespace {

// Reading a larger body takes long enough to hold up others on the I/O thread.
constexpr size_t kSmallBody = 64 * 1024;
constexpr size_t kMaxDepth = 64;
constexpr Duration kPassPause = milliseconds(50);
constexpr Duration kPassPatience = seconds(5);  // for an owner that does not answer

std::string error_body(const Error& error) {
  JsonWriter w;
  w.open().member("message", error.message).member("error", error.message);
  w.member("code", to_string(error.code));
  if (!error.details.empty()) {
    w.key("details").open_array();
    for (const ErrorDetail& d : error.details)
      w.open().member("path", d.path).member("message", d.message).close();
    w.close_array();
  }
  w.close();
  return w.take();
}

net::Response json_response(int status, std::string body) {
  static const net::Headers kHeaders = {{"Content-Type", "application/json; charset=utf-8"},
                                        {"Cache-Control", "no-store"},
                                        {"X-Content-Type-Options", "nosniff"}};
  return {.status = status, .headers = kHeaders, .body = std::move(body)};
}

bool is_question(std::string_view method) { return method == "GET" || method == "HEAD"; }

bool is_json(std::string_view content_type) {
  size_t end = content_type.find(';');
  std::string type(content_type.substr(0, end));
  for (char& c : type) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  return type == "application/json" || type.ends_with("+json");
}

std::string_view cookie(const net::Request& request, std::string_view name) {
  const std::string* header = request.headers.find("cookie");
  if (!header) return {};
  std::string_view rest = *header;
  while (!rest.empty()) {
    size_t end = rest.find(';');
    std::string_view pair = rest.substr(0, end);
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('='))
      return pair.substr(name.size() + 1);
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return {};
}

Error invalid_all(std::vector<ErrorDetail> details) {
  Error e{ErrorCode::kInvalid, details[0].path + ": " + details[0].message};
  e.details = std::move(details);
  return e;
}

// A query value as the JSON its shape speaks of.
boost::json::value query_value(const Shape& shape, const std::string& text) {
  if (shape.kind == Shape::Kind::kInteger) {
    int64_t n = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error == std::errc() && end == text.data() + text.size()) return n;
  }
  if (shape.kind == Shape::Kind::kBoolean && (text == "true" || text == "false")) return text == "true";
  return boost::json::string(text);
}

}  // namespace

struct Call::Parsed {
  boost::json::value value;
};

Call::Call(Api& api, net::Request request, net::Responder responder)
    : api_(api), request_(std::move(request)), responder_(std::move(responder)) {
  began_ = api_.executor_.clock().boot();
}

Call::~Call() {
  if (responder_) refuse({ErrorCode::kInternal, "the request was dropped unanswered"});
}

// ---- What was asked --------------------------------------------------------------------------------------

Status Call::match() {
  auto segments = request_.path_segments();
  if (!segments) return std::unexpected(segments.error());
  if (!std::all_of(segments->begin(), segments->end(), is_storable_text))
    return fail(ErrorCode::kNotFound, "nothing has a name that is not UTF-8 text");
  RouteMatch m = api_.router_.match(request_.method, *segments);
  if (!m.route && m.allow.empty())
    return fail(ErrorCode::kNotFound, fmt::format("there is nothing at {}", request_.path.substr(0, 200)));
  if (!m.route) {
    ++api_.unmatched_;
    net::Response r = json_response(
        405, error_body({ErrorCode::kInvalid, fmt::format("{} is not possible here; there is {}",
                                                          request_.method.substr(0, 20), m.allow)}));
    r.headers.add("Allow", m.allow);
    return respond(std::move(r));
  }
  route_ = m.route;
  arguments_ = std::move(m.arguments);
  return {};
}

// Headers that only another replica can have made; anybody else's are as good as absent.
Status Call::open_seal() {
  if (!request_.headers.find(kForwardedHeader)) return {};
  forwarded_ = api_.forwarder_.seal().open(request_);
  // Meant for one that had this address before.
  if (forwarded_ && forwarded_->to != api_.replica_.config().id) disown();
  return {};
}

Status Call::authenticate() {
  const net::Headers& headers = request_.headers;
  if (const std::string* key = headers.find("x-api-key")) {
    who_ = TRY(api_.directory_.by_key(*key, now()));
  } else if (const std::string* bearer = headers.find("authorization");
             bearer && bearer->starts_with("Bearer ")) {
    who_ = TRY(api_.directory_.by_key(std::string_view(*bearer).substr(7), now()));
  } else if (std::string_view token = cookie(request_, "ctrlplane_session"); !token.empty()) {
    who_ = TRY(api_.directory_.by_session(token, now()));
    // A foreign page can make a browser send the cookie, but not this header.
    if (!is_question(request_.method) && !headers.find("x-requested-with"))
      return fail(ErrorCode::kForbidden, "a write with a session needs the header x-requested-with");
  } else {
    return fail(ErrorCode::kUnauthenticated, "'X-API-Key' header required");
  }
  return {};
}

Status Call::identify() {
  using Where = Permission::Where;
  const Permission& permission = route().permission;
  if (forwarded_) {  // found out where it came in
    who_ = forwarded_->who;
    workspace_ = forwarded_->workspace;
    return {};
  }
  if (permission.where == Where::kNobody) return {};
  if (!api_.accounts_.fresh())
    return fail(ErrorCode::kUnavailable, "the store has not answered lately: nobody can be let in");
  TRY(authenticate());
  if (permission.where == Where::kWorkspace) {
    auto workspace = api_.directory_.workspace(who_, argument("workspaceId"));
    if (!workspace)
      return fail(ErrorCode::kNotFound,
                  fmt::format("no workspace '{}'", argument("workspaceId").substr(0, 100)));
    workspace_ = workspace->id;
  }
  return api_.directory_.allows(who_, permission, workspace_);
}

Status Call::read_query() {
  query_ = TRY(request_.query_pairs());
  for (const auto& [name, value] : query_) {
    if (!is_storable_text(name)) return invalid("query", "is not UTF-8 text");
    if (!is_storable_text(value)) return invalid(name, "is not UTF-8 text");
    auto known = std::find_if(route_->query.begin(), route_->query.end(),
                              [&](const auto& q) { return q.first == name; });
    if (known == route_->query.end()) return invalid(name, "is no parameter of this operation");
    if (value.empty()) return invalid(name, "has no value");
    auto complaints = api_.shapes_.check(*known->second, query_value(*known->second, value));
    if (complaints.empty()) continue;
    complaints[0].path = name;
    return std::unexpected(invalid_all({complaints[0]}));
  }
  return {};
}

Status Call::read_body() {
  if (!route_->body) return {};
  if (request_.body.empty() && route().body_optional) return {};
  const std::string* type = request_.headers.find("content-type");
  if (!type || !is_json(*type))
    return fail(ErrorCode::kUnsupported,
                fmt::format("the body must be application/json, not {}", type ? *type : "without a type"));
  parsed_ = std::make_unique<Parsed>();
  boost::json::error_code error;
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::json::stream_parser parser({}, options);
  parser.write(request_.body, error);
  if (!error) parser.finish(error);
  if (error) return fail(ErrorCode::kInvalid, "the body is not JSON: " + error.message());
  parsed_->value = parser.release();
  auto complaints = api_.shapes_.check(*route_->body, parsed_->value);
  if (!complaints.empty()) return std::unexpected(invalid_all(std::move(complaints)));
  if (parsed_->value.is_object()) body_ = Body(parsed_->value.get_object());
  return {};
}

std::optional<Role> Call::role() const {
  return forwarded_ ? forwarded_->role : api_.directory_.role_in(who_, workspace_);
}

std::string_view Call::argument(std::string_view name) const {
  for (size_t i = 0; i < route_->parameters.size(); ++i)
    if (route_->parameters[i] == name) return arguments_[i];
  return {};
}

std::optional<std::string> Call::query(std::string_view name) const {
  for (const auto& [key, value] : query_)
    if (key == name) return value;
  return std::nullopt;
}

std::vector<std::string> Call::queries(std::string_view name) const {
  std::vector<std::string> all;
  for (const auto& [key, value] : query_) {
    if (key != name) continue;
    for (size_t from = 0; from <= value.size();) {
      const size_t comma = std::min(value.find(',', from), value.size());
      all.push_back(value.substr(from, comma - from));
      from = comma + 1;
    }
  }
  return all;
}

Page Call::page() const {
  Page page;
  if (auto text = query("limit")) page.limit = static_cast<size_t>(std::stoll(*text));
  if (auto text = query("offset")) page.offset = static_cast<size_t>(std::stoll(*text));
  return page;
}

std::optional<Idempotency> Call::idempotency() const {
  if (request_.method != "POST" || route().permission.where == Permission::Where::kNobody)
    return std::nullopt;
  const std::string* key = request_.headers.find("idempotency-key");
  bool has_key = key && !key->empty();
  // One that is passed on comes again if its answer gets lost: to another replica, or back to this one.
  std::optional<Uuid> passed = forwarded_ ? std::optional(forwarded_->request) : passing_id_;
  if (!has_key && (!passed || route().repeat != Repeat::kByKey)) return std::nullopt;
  std::string identity = has_key ? fmt::format("{}\n{}\n{}", who_.user.str(), request_.path, *key)
                                 : "passed on\n" + passed->str();
  return Idempotency{digest_of(identity), digest_of(request_.query + "\n" + request_.body)};
}

// ---- The way through -------------------------------------------------------------------------------------

void Call::run() {
  if (auto status = match(); !status) return refuse(status.error());
  if (!responder_) return;
  // What is large takes long to check.
  bool slow = request_.body.size() > kSmallBody && request_.headers.find(kForwardedHeader);
  auto status = slow ? later([](Call& call) { return call.run_matched(); }) : run_matched();
  if (!status) refuse(status.error());
}

Status Call::run_matched() {
  TRY(open_seal());
  if (!responder_) return {};
  Status identified = identify();
  // What another replica has acknowledged is not denied here: a copy is brought up to date before it says no.
  if (!identified && identified.error().code != ErrorCode::kUnavailable && api_.accounts_.is_copy()) {
    api_.accounts_.refresh([self = shared_from_this()] {
      self->refreshed_ = true;
      auto status = self->later([](Call& call) -> Status {
        TRY(call.identify());
        call.run_identified();
        return {};
      });
      if (!status) self->refuse(status.error());
    });
    return {};
  }
  TRY(std::move(identified));
  run_identified();
  return {};
}

void Call::run_identified() {
  auto rest = [](Call& call) -> Status {
    TRY(call.read_query());
    TRY(call.read_body());
    return call.route().handler(call);
  };
  auto status = request_.body.size() > kSmallBody ? later(rest) : rest(*this);
  if (!status) reject(status.error());
}

// A handler that asked the directory may have been told no by a copy that is a moment behind.
void Call::reject(const Error& error) {
  bool may_be_stale = error.code == ErrorCode::kNotFound || error.code == ErrorCode::kForbidden ||
                      error.code == ErrorCode::kUnauthenticated;
  if (!may_be_stale || refreshed_ || written_ > 0 || !responder_ || !api_.accounts_.is_copy())
    return refuse(error);
  refreshed_ = true;
  api_.accounts_.refresh([self = shared_from_this()] { self->begin_again(); });
}

Status Call::later(std::function<Status(Call&)> task) {
  bool taken = api_.pool_->post([self = shared_from_this(), task = std::move(task)] {
    if (auto status = task(*self); !status) self->reject(status.error());
  });
  if (!taken) return fail(ErrorCode::kBusy, "too many requests are waiting; try again");
  return {};
}

Status Call::submit(WorkspaceId workspace, Command command, RenderFn render,
                    std::function<void(Call&, Reply)> then) {
  ctrlplane::Request request{.command = std::move(command), .render = std::move(render)};
  if (!std::holds_alternative<Query>(request.command)) {
    request.actor = who_.actor();
    request.idempotency = idempotency();
  }
  begun_ = written_ > 0;
  if (!std::holds_alternative<Query>(request.command)) ++written_;
  auto self = shared_from_this();
  auto answered = [self, workspace, then = std::move(then)](Reply reply) {
    // Refused, not done: the workspace went elsewhere between our look and now. Where nothing was done before
    // either, the handler begins again, and finds the new owner.
    bool gone = !reply && reply.error().code == ErrorCode::kUnavailable && !self->begun_ &&
                !self->api_.replica_.serves(workspace);
    if (!gone) return then(*self, std::move(reply));
    self->forwarded_ ? self->disown() : self->begin_again();
  };
  api_.submit(self, workspace, std::move(request), std::move(answered));
  return {};
}

Status Call::read_from(WorkspaceId workspace, ReadFn read) {
  return submit(workspace, Query{std::move(read)}, {}, [](Call& call, Reply reply) {
    reply ? void(call.reply(std::move(reply->text))) : call.refuse(reply.error());
  });
}

Status Call::write_to(WorkspaceId workspace, Command command, RenderFn render) {
  return submit(workspace, std::move(command), std::move(render), [](Call& call, Reply reply) {
    reply ? void(call.reply(std::move(reply->text))) : call.refuse(reply.error());
  });
}

store::Store& Call::store() { return api_.store_; }

Time Call::now() const { return api_.executor_.clock().wall(); }

// ---- Between replicas ------------------------------------------------------------------------------------

void Call::pass_on(const Peer& peer, WorkspaceId home) {
  if (begun_)  // a part of it is done: it cannot begin anew elsewhere
    return refuse({ErrorCode::kUnknown, "the workspace changed its owner while this was being done"});
  if (!passing_id_) passing_id_ = random_uuid();
  auto send = [peer, home](Call& call) -> Status {
    call.send_on(peer, home);
    return {};
  };
  // Copying and signing what is large is not for the loops' thread.
  if (request_.body.size() <= kSmallBody) return send_on(peer, home);
  if (auto status = later(send); !status) refuse(status.error());
}

void Call::send_on(const Peer& peer, WorkspaceId home) {
  Forwarded what{
      .to = peer.id, .request = *passing_id_, .who = who_, .workspace = workspace_, .role = role()};
  auto self = shared_from_this();
  Forwarder::Ends ends{.answered = [self](net::Response response) { self->respond(std::move(response)); },
                       .streamed = [self](net::Response head) { return self->stream(std::move(head)); },
                       .failed =
                           [self](bool maybe_done) {
                             self->api_.post([self, maybe_done] { self->not_passed_on(maybe_done); });
                           }};
  bool lasting = route().content_type == "text/event-stream";
  lasting ? api_.forwarder_.pass_stream(peer, home, request_, what, std::move(ends))
          : api_.forwarder_.pass(peer, home, request_, what, std::move(ends));
}

// A question can be asked again; what is POSTed carries its id. Of anything else a repeat could be told
// something other than the first would have been.
bool Call::may_be_repeated() const {
  if (is_question(request_.method)) return true;
  return request_.method == "POST" && route().permission.where != Permission::Where::kNobody &&
         route().repeat != Repeat::kNever;
}

void Call::not_passed_on(bool maybe_done) {
  maybe_done_ |= maybe_done;
  if (maybe_done && !may_be_repeated())
    return refuse({ErrorCode::kUnknown,
                   "the replica that owns the workspace did not answer: look whether it "
                   "was done before you repeat it"});
  Duration now = api_.boot();
  if (!in_trouble_since_) in_trouble_since_ = now;
  if (now - *in_trouble_since_ > kPassPatience)
    return refuse({ErrorCode::kUnavailable, "no replica answers for the workspace just now: try again"});
  // It may be the owner still, and starting or ending: not at once again.
  api_.executor_.post_after(kPassPause, [self = shared_from_this()] { self->begin_again(); });
}

void Call::begin_again() {
  written_ = 0;
  auto again = later([](Call& call) { return call.route().handler(call); });
  if (!again) refuse(again.error());
}

void Call::disown() {
  if (begun_)
    return refuse({ErrorCode::kUnknown, "the workspace changed its owner while this was being done"});
  net::Response response = json_response(
      503, error_body({ErrorCode::kUnavailable, "this replica does not own the workspace (any more)"}));
  response.headers.add(std::string(kNotOwnerHeader), "1");
  response.headers.add("Retry-After", "1");
  respond(std::move(response));
}

// ---- Answers ---------------------------------------------------------------------------------------------

Status Call::reply(int status, std::string json) {
  return respond(json_response(status, status == 204 ? std::string() : std::move(json)));
}

Status Call::respond(net::Response response) {
  if (!responder_) return {};
  api_.note(*this, response.status, api_.executor_.clock().boot() - began_);
  net::Responder responder = std::move(*responder_);
  responder_.reset();
  responder.respond(std::move(response));
  return {};
}

net::EventStream Call::stream(net::Response head) {
  if (!responder_) return {};
  api_.note(*this, head.status, api_.executor_.clock().boot() - began_);
  net::Responder responder = std::move(*responder_);
  responder_.reset();
  return responder.stream(std::move(head));
}

void Call::refuse(const Error& why, int retry_after_seconds) {
  Error error = why;
  int status = http_status(error.code);
  // Not now, but perhaps before: another replica had it and did not answer.
  if (maybe_done_ && (status == 503 || status == 429) && !is_question(request_.method)) {
    error = {ErrorCode::kUnknown,
             "the replica that owns the workspace did not answer: it may have been done. Retry with the same "
             "Idempotency-Key, or look first"};
    status = http_status(error.code);
  }
  if (error.code == ErrorCode::kInternal)
    log::error("request failed", {{"path", request_.path.substr(0, 300)}, {"error", error.message}});
  net::Response response = json_response(status, error_body(error));
  if (status == 503 || status == 429)
    response.headers.add("Retry-After", std::to_string(retry_after_seconds));
  if (status == 401) response.headers.add("WWW-Authenticate", "ApiKey");
  respond(std::move(response));
}

RenderFn accepted(std::string_view message) {
  return [text = std::string(message)](const State&, Time, const Answer& answer) {
    JsonWriter w;
    w.open().member("id", answer.id).member("message", text).close();
    return w.take();
  };
}

net::Response Api::error_response(int status) const {
  std::string_view phrase = net::reason_phrase(status);
  ErrorCode code = status == 413   ? ErrorCode::kTooLarge
                   : status >= 500 ? ErrorCode::kInternal
                                   : ErrorCode::kInvalid;
  return json_response(status, error_body({code, std::string(phrase)}));
}

}  // namespace ctrlplane::api
