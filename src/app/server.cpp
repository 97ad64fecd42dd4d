#include "app/server.h"

#include <unistd.h>

#include <future>

#include <fmt/core.h>

#include "api/secret.h"
#include "base/log.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"

namespace ctrlplane::app {
namespace {

constexpr Duration kStartPatience = seconds(60);
constexpr Duration kStartPoll = milliseconds(20);

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

}  // namespace

// ---- Workspaces
// ----------------------------------------------------------------------------------------------

void WorkspaceKeeper::take_stock(const State& instance) {
  std::set<WorkspaceId> all = {kInstanceWorkspace};
  for (const auto& [id, row] : instance.workspaces) all.insert(id);
  replica_.want_only(std::move(all));
}

void WorkspaceKeeper::loaded(WorkspaceLoop& loop) {
  if (loop.workspace() == kInstanceWorkspace) take_stock(*loop.state());
  std::lock_guard lock(mutex_);
  owned_.insert(loop.workspace());
}

void WorkspaceKeeper::lost(WorkspaceLoop& loop) {
  std::lock_guard lock(mutex_);
  owned_.erase(loop.workspace());
}

void WorkspaceKeeper::committed(WorkspaceId workspace, int64_t, Time, const Changes& changes) {
  if (workspace != kInstanceWorkspace) return;
  for (const Change& c : changes)
    if (const auto* row = std::get_if<Workspace>(&c.entity))
      c.op == Change::Op::kPut ? replica_.want(row->id) : replica_.want_no_more(row->id);
}

std::vector<WorkspaceId> WorkspaceKeeper::owned() const {
  std::lock_guard lock(mutex_);
  return {owned_.begin(), owned_.end()};
}

void LogReceiver::deliver(const SendPermit& permit,
                          std::move_only_function<void(SendOutcome, std::string)> done) {
  log::warn("notice to operators", {{"notice", permit.item.payload}});
  executor_.post([done = std::move(done)]() mutable { done(SendOutcome::kAccepted, ""); });
}

// ---- Starting
// ------------------------------------------------------------------------------------------------

Status Server::open_store() {
  const std::string& url = settings_.database;
  if (url.starts_with("sqlite:")) {
    std::string path = url.substr(7);
    if (path.empty()) return fail(ErrorCode::kInvalid, "database: sqlite: wants a file name behind it");
    store_ = TRY(store::SqliteStore::open(path));
  } else if (url.starts_with("postgres://") || url.starts_with("postgresql://") ||
             url.find('=') != std::string::npos) {
    store_ = TRY(store::PostgresStore::open(url));
  } else {
    return fail(ErrorCode::kInvalid,
                fmt::format("database: '{}' is neither sqlite:FILE nor postgresql://…", url));
  }
  return store_->migrate();
}

Result<std::unique_ptr<Server>> Server::start(const ServeSettings& settings) {
  std::unique_ptr<Server> s(new Server(settings));
  TRY(notify::check_mail_settings(settings.smtp_url, settings.mail_from));
  TRY(s->open_store());
  api::init_secrets();
  std::string secret = TRY(s->store_->cluster_secret(api::random_hex(32)));
  s->executor_ = std::make_unique<ThreadExecutor>(s->clock_);
  s->port_ = std::make_unique<ThreadStorePort>(*s->store_, *s->executor_);
  ReplicaConfig config{.id = store::ReplicaId{api::random_uuid()}};
  s->replica_ = std::make_unique<Replica>(*s->executor_, *s->port_, config, api::random_uuid);
  s->pump_ = std::make_unique<OutboxPump>(
      [replica = s->replica_.get()](WorkspaceId w, Request r, ReplyFn done) {
        replica->submit(w, std::move(r), std::move(done));
      },
      *s->executor_);
  s->notices_ = std::make_unique<LogReceiver>(*s->executor_);
  s->pump_->add_receiver("operators", *s->notices_);
  s->keeper_ = std::make_unique<WorkspaceKeeper>(*s->replica_);
  api::ApiOptions options{.session_life = hours(24) * settings.session_days,
                          .secure_cookies = settings.secure_cookies || !settings.tls_key.empty(),
                          .cluster_secret = std::move(secret)};
  s->api_ = std::make_unique<api::Api>(*s->executor_, *s->port_, *s->replica_, *s->store_, options);
  s->make_notifier();
  s->api_->add_metrics([server = s.get()](std::string& out) { server->write_metrics(out); });

  // First, so that a port that is taken ends the start before a key is made and shown to nobody.
  TRY(s->listen());
  s->executor_->post([server = s.get()] { server->start_replica(); });
  TRY(s->bootstrap());
  s->api_->note_health(true);  // the store has just answered
  s->api_->directory().open();
  Retention keep{.jobs = hours(24) * settings.keep_jobs_days,
                 .audit = hours(24) * settings.keep_audit_days,
                 .outbox = hours(24) * settings.keep_outbox_days};
  s->housekeeper_ = std::make_unique<Housekeeper>(*s->store_, s->clock_, keep,
                                                  [keeper = s->keeper_.get()] { return keeper->owned(); });
  return s;
}

// To members by mail: whoever may deploy, or those who administer the workspace.
void Server::make_notifier() {
  notify::NotifierOptions options{.smtp = {.url = settings_.smtp_url}, .mail_from = settings_.mail_from};
  auto members = [this](WorkspaceId workspace, notify::Audience audience) {
    bool all = audience == notify::Audience::kDeployers;
    return api_->directory().emails_of(workspace,
                                       all ? api::permission::kDeployers : api::permission::kAdmins);
  };
  notifier_ = std::make_unique<notify::Notifier>(*executor_, std::move(options), std::move(members));
  notifier_->join(*pump_);
}

void Server::start_replica() {
  Replica& replica = *replica_;
  replica.set_address(advertised());
  api_->join(replica);
  api_->accounts().on_copy([this](const State& instance) {
    keeper_->take_stock(instance);
    others_have_users_ = !instance.users.empty();
  });
  replica.listen(*keeper_);
  replica.listen(*pump_);
  replica.want(kInstanceWorkspace);
  replica.start();
  watch_health();
}

// Others cannot reach the loopback address of this machine, but replicas on one machine can.
std::string Server::advertised() const {
  if (!settings_.advertise.empty()) return settings_.advertise;
  auto address = parse_listen(settings_.listen);
  bool any = address && (address->host == "0.0.0.0" || address->host == "::");
  if (!any) return url();
  return fmt::format("{}://{}:{}", settings_.tls_key.empty() ? "http" : "https", host_name(), http_->port());
}

Status Server::listen() {
  auto address = TRY(parse_listen(settings_.listen));
  net::HttpOptions options{.address = address.host, .port = address.port};
  if (settings_.tls_certificate.empty() != settings_.tls_key.empty())
    return fail(ErrorCode::kInvalid, "tls-certificate and tls-key go together");
  if (!settings_.tls_key.empty()) options.tls = {settings_.tls_certificate, settings_.tls_key};
  options.body_limit = [api = api_.get()](const net::Request& head) { return api->body_limit(head); };
  options.error_response = [api = api_.get()](int status) { return api->error_response(status); };
  http_ = TRY(net::HttpServer::start(std::move(options),
                                     [api = api_.get()](net::Request request, net::Responder responder) {
                                       api->handle(std::move(request), std::move(responder));
                                     }));
  return {};
}

// The first administrator. Tried until the instance is ours to ask (a predecessor's lease may have to run
// out), or another replica turns out to have one.
Status Server::bootstrap() {
  api::NewKey key = api::new_key();
  if (!settings_.admin_key.empty()) {
    std::string_view prefix, secret;
    if (!api::parse_key(settings_.admin_key, prefix, secret))
      return fail(ErrorCode::kInvalid,
                  "admin-key: must be 16 and 64 lower-case hexadecimal digits with a dot between");
    key = {std::string(prefix), std::string(secret)};
  }
  std::string password = settings_.admin_password.empty() ? api::random_hex(12) : settings_.admin_password;
  if (password.size() < 12)
    return fail(ErrorCode::kInvalid, "admin-password: must have at least 12 characters");
  Bootstrap command{.email = settings_.admin_email,
                    .name = "Administrator",
                    .password_hash = api::hash_password(password),
                    .key_prefix = key.prefix,
                    .key_secret_hash = api::sha256_hex(key.secret)};
  auto answered = std::make_shared<std::promise<Reply>>();
  executor_->post(
      [this, command, answered] { ask_until_owned(command, clock_.boot() + kStartPatience, answered); });
  Answer answer = TRY(answered->get_future().get());
  if (answer.created && settings_.admin_key.empty()) first_key_ = key.text();
  if (answer.created && settings_.admin_password.empty()) first_password_ = password;
  // Whoever reads that we serve may come in at once.
  auto known = std::make_shared<std::promise<void>>();
  api_->accounts().refresh([known] { known->set_value(); });
  known->get_future().wait();
  return {};
}

void Server::ask_until_owned(const Bootstrap& command, Duration give_up,
                             std::shared_ptr<std::promise<Reply>> answered) {
  replica_->submit(kInstanceWorkspace, {command}, [this, command, give_up, answered](Reply reply) {
    if (!reply && others_have_users_ && replica_->has_company()) reply = Answer{};
    bool try_again = !reply && http_status(reply.error().code) == 503 && clock_.boot() < give_up;
    if (!try_again) return answered->set_value(std::move(reply));
    executor_->post_after(
        kStartPoll, [this, command, give_up, answered] { ask_until_owned(command, give_up, answered); });
  });
}

std::string Server::url() const {
  auto address = parse_listen(settings_.listen);
  std::string host = address ? address->host : "127.0.0.1";
  if (host == "0.0.0.0" || host == "::") host = "127.0.0.1";
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return fmt::format("{}://{}:{}", settings_.tls_key.empty() ? "http" : "https", host, http_->port());
}

// ---- Running
// -------------------------------------------------------------------------------------------------

void Server::watch_health() {
  api_->note_health(replica_->may_answer_reads() && api_->accounts().fresh());
  executor_->post_after(seconds(1), [this] { watch_health(); });
}

void Server::write_metrics(std::string& out) {
  net::HttpStats http = http_->stats();
  out += fmt::format("# TYPE ctrlplane_http_connections gauge\nctrlplane_http_connections {}\n",
                     http.connections_open);
  out += fmt::format("# TYPE ctrlplane_http_refused_total counter\nctrlplane_http_refused_total {}\n",
                     http.requests_refused);
  out += fmt::format("# TYPE ctrlplane_event_readers gauge\nctrlplane_event_readers {}\n",
                     api_->events().readers());
  out += fmt::format("# TYPE ctrlplane_ready gauge\nctrlplane_ready {}\n", api_->ready() ? 1 : 0);
  struct Line {
    std::string_view name, type, help;
    std::function<std::string(const WorkspaceLoop&)> value;
  };
  const Line lines[] = {
      {"ctrlplane_commits_total", "counter", "Commits of a workspace.",
       [](const WorkspaceLoop& l) { return std::to_string(l.stats().commits); }},
      {"ctrlplane_rows_total", "counter", "Rows written by commits.",
       [](const WorkspaceLoop& l) { return std::to_string(l.stats().rows); }},
      {"ctrlplane_decisions_total", "counter", "Units of background work.",
       [](const WorkspaceLoop& l) { return std::to_string(l.stats().decisions); }},
      {"ctrlplane_missed_wakeups_total", "counter", "Targets the audit found unmarked; must stay 0.",
       [](const WorkspaceLoop& l) { return std::to_string(l.stats().missed_wakeups); }},
      {"ctrlplane_targets", "gauge", "Release targets.",
       [](const WorkspaceLoop& l) { return std::to_string(l.state() ? l.state()->target_count() : 0); }},
      {"ctrlplane_live_jobs", "gauge", "Jobs that have not ended.",
       [](const WorkspaceLoop& l) { return std::to_string(l.state() ? l.state()->jobs.size() : 0); }},
      {"ctrlplane_turn_p99_seconds", "gauge", "Turns of the loop.",
       [](const WorkspaceLoop& l) {
         return fmt::format("{:.6f}", static_cast<double>(l.stats().slice.quantile(0.99).us) / 1e6);
       }},
      {"ctrlplane_commit_p99_seconds", "gauge", "Commits at the store.",
       [](const WorkspaceLoop& l) {
         return fmt::format("{:.6f}", static_cast<double>(l.stats().commit.quantile(0.99).us) / 1e6);
       }},
  };
  std::vector<WorkspaceId> all = keeper_->owned();
  out += fmt::format(
      "# HELP ctrlplane_workspaces_owned Workspaces this replica owns.\n"
      "# TYPE ctrlplane_workspaces_owned gauge\nctrlplane_workspaces_owned {}\n",
      all.size());
  for (const Line& line : lines) {
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", line.name, line.help, line.name, line.type);
    for (WorkspaceId id : all)
      if (const WorkspaceLoop* loop = replica_->loop(id))
        out += fmt::format("{}{{workspace=\"{}\"}} {}\n", line.name, id.str(), line.value(*loop));
  }
}

// Runs `begin(done)` on the executor's thread; false if it was not done in time.
template <class Begin>
bool Server::wait_for(Duration until, Begin begin) {
  auto done = std::make_shared<std::promise<void>>();
  executor_->post([begin, done] { begin([done] { done->set_value(); }); });
  Duration left = std::max(until - clock_.boot(), seconds(1));
  return done->get_future().wait_for(std::chrono::microseconds(left.us)) == std::future_status::ready;
}

bool Server::stop(Duration deadline) {
  Duration until = clock_.boot() + deadline;
  housekeeper_.reset();
  if (!executor_) return true;
  // First to the load balancer, then to the other replicas: requests that still come are passed on to them.
  api_->note_leaving();
  Duration patience{deadline.us / 2};
  wait_for(until, [this, patience](auto done) { replica_->leave(patience, done); });
  bool clean = http_ ? http_->shutdown(std::max(until - clock_.boot(), seconds(1))) : true;
  clean &= wait_for(until, [this](auto done) { replica_->drain(done); });
  return clean;
}

// In this order: nobody asks any more; slow work and requests passed on end; the store answers no more;
// nothing runs any more; what the loops still hold (calls, unanswered) lets go while the API is there.
Server::~Server() {
  housekeeper_.reset();
  http_.reset();
  if (api_) api_->stop();
  port_.reset();
  if (executor_) executor_->stop();
  notifier_.reset();
  replica_.reset();
}

}  // namespace ctrlplane::app
