#include "agent/fake_server.h"

#include <chrono>

#include <fmt/format.h>

namespace ctrlplane::agent {
namespace {

net::Response refuse(int status, std::string_view message) {
  return {.status = status, .body = fmt::format(R"({{"message":{}}})", json_quote(message))};
}

std::string job_json(const FakeServer::Job& job) {
  return fmt::format(R"({{"id":{},"status":{},"dispatchContext":{}}})", json_quote(job.id),
                     json_quote(job.status), job.context);
}

bool is_over(const FakeServer::Job& job) {
  return job.status == "successful" || job.status == "failure" || job.status == "cancelled";
}

std::string text_of(JsonView body, std::string_view member) { return body[member].string().value_or(""); }

}  // namespace

FakeServer::Job& FakeServer::State::job(const std::string& id) {
  for (Job& job : jobs)
    if (job.id == id) return job;
  ADD_FAILURE() << "no job " << id;
  return jobs.emplace_back(Job{id});
}

size_t FakeServer::State::count(std::string_view request) const {
  return static_cast<size_t>(
      std::ranges::count_if(requests, [&](const std::string& r) { return r.starts_with(request); }));
}

FakeServer::FakeServer() : reserved_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  int on = 1;
  ::setsockopt(reserved_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  EXPECT_EQ(::bind(reserved_.get(), reinterpret_cast<sockaddr*>(&at), size), 0);
  ::getsockname(reserved_.get(), reinterpret_cast<sockaddr*>(&at), &size);
  port_ = ntohs(at.sin_port);
  up();
}

void FakeServer::add_job(Job job) {
  change([&](State& state) { state.jobs.push_back(std::move(job)); });
}

void FakeServer::change(const std::function<void(State&)>& how) {
  std::lock_guard lock(mutex_);
  how(state_);
  changed_.notify_all();
}

bool FakeServer::wait_until(const std::function<bool(State&)>& condition) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return condition(state_); });
}

bool FakeServer::wait_for_status(const std::string& job, const std::string& status) {
  return wait_until([&](State& state) { return state.job(job).status == status; });
}

void FakeServer::down() { server_.reset(); }

void FakeServer::up() {
  server_ = net::start_server({.port = port_}, [this](net::Request request, net::Responder responder) {
    responder.respond(answer(request));
  });
}

net::Response FakeServer::answer(const net::Request& request) {
  constexpr std::string_view kBase = "/api/v1/workspaces/w";
  std::lock_guard lock(mutex_);
  changed_.notify_all();
  if (!request.path.starts_with(kBase)) return refuse(404, "no such workspace");
  std::string line = request.method + " " + request.path.substr(kBase.size());
  state_.requests.push_back(line);
  if (state_.refusing) return refuse(503, "not now");
  if (const std::string* key = request.headers.find("x-api-key"); !key || *key != "key")
    return refuse(401, "bad key");
  if (state_.instead)
    if (auto response = state_.instead(line)) return *response;
  auto body = JsonView::parse(request.body.empty() ? std::string_view("null") : request.body);
  if (!body) return refuse(400, "not JSON");
  auto path = request.path_segments().value();
  path.erase(path.begin(), path.begin() + 4);
  return route(request.method, path, *body);
}

net::Response FakeServer::route(const std::string& method, const std::vector<std::string>& path,
                                JsonView body) {
  if (path.size() >= 1 && path[0] == "job-agents") return agents(method, path, body);
  if (path.size() != 3 || path[0] != "jobs") return refuse(404, "no such path");
  auto job = std::ranges::find(state_.jobs, path[1], &Job::id);
  if (job == state_.jobs.end()) return refuse(404, "no such job");
  if (path[2] == "status") return report(*job, body);
  if (path[2] == "output") return append(*job, body);
  return refuse(404, "no such path");
}

net::Response FakeServer::agents(const std::string& method, const std::vector<std::string>& path,
                                 JsonView body) {
  if (path.size() == 1) {
    std::string items;
    for (const auto& [name, id] : state_.agents)
      items += fmt::format(R"({}{{"name":{},"id":{}}})", items.empty() ? "" : ",", json_quote(name),
                           json_quote(id));
    return {.body = R"({"items":[)" + items + "]}"};
  }
  if (path.size() == 2 && method == "PUT") {
    state_.agents[text_of(body, "name")] = path[1];
    return {.status = 202, .body = fmt::format(R"({{"id":{}}})", json_quote(path[1]))};
  }
  if (path.size() == 3 && path[2] == "jobs") {
    std::string items;
    for (const Job& job : state_.jobs)
      if (job.status == "queued") items += (items.empty() ? "" : ",") + job_json(job);
    return {.body = R"({"items":[)" + items + "]}"};
  }
  if (path.size() == 3 && path[2] == "claim") return claim("", body);
  if (path.size() == 5 && path[4] == "claim") return claim(path[3], body);
  if (path.size() == 3 && path[2] == "heartbeat") return heartbeat(body);
  return refuse(404, "no such path");
}

net::Response FakeServer::claim(const std::string& wanted, JsonView body) {
  std::string instance = text_of(body, "instanceId");
  auto free_or_mine = [&](const Job& job) {
    return job.status == "queued" && (job.holder.empty() || job.holder == instance);
  };
  for (Job& job : state_.jobs)
    if (free_or_mine(job) && (wanted.empty() || job.id == wanted)) {
      job.holder = instance;
      job.fences_itself = body["fencesItself"].text() == "true";
      return {.body = job_json(job)};
    }
  return wanted.empty() ? net::Response{.status = 204} : refuse(409, "somebody else has it");
}

net::Response FakeServer::heartbeat(JsonView body) {
  std::string stop;
  auto ids = body["jobIds"].members();
  state_.heartbeats.push_back(ids.size());
  for (const auto& id : ids) {
    const Job& job = state_.job(id.value.string().value_or(""));
    bool is_theirs = job.holder == text_of(body, "instanceId");
    if (job.stop || is_over(job) || !is_theirs) stop += (stop.empty() ? "" : ",") + json_quote(job.id);
  }
  return {.body = fmt::format(R"({{"stop":[{}],"leaseSeconds":{},"heartbeatSeconds":{}}})", stop,
                              state_.lease_seconds, state_.heartbeat_seconds)};
}

net::Response FakeServer::report(Job& job, JsonView body) {
  if (is_over(job)) return refuse(409, "the job has ended");
  if (job.holder != text_of(body, "instanceId")) return refuse(409, "the job is another's");
  job.status = text_of(body, "status");
  job.message = text_of(body, "message");
  state_.reports.push_back(job.id + " " + job.status);
  return {.status = 202, .body = "{}"};
}

net::Response FakeServer::append(Job& job, JsonView body) {
  auto offset = static_cast<size_t>(body["offset"].integer().value_or(0));
  EXPECT_LE(offset, job.output.size()) << "a gap in the output";
  job.output.resize(std::min(offset, job.output.size()));
  job.output += text_of(body, "text");
  return {.status = 202, .body = "{}"};
}

}  // namespace ctrlplane::agent
