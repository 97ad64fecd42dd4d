// Not tests: what they share. The name puts it into the test program.
#include "cli/testing.h"

#include <algorithm>
#include <mutex>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/json_text.h"
#include "net/server.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

net::Response json(int status, const bj::value& body) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = bj::serialize(body)};
}
net::Response not_there() { return json(404, {{"message", "not found"}, {"code", "not_found"}}); }

std::string after(std::string_view text, std::string_view beginning) {
  return text.starts_with(beginning) ? std::string(text.substr(beginning.size())) : std::string();
}

}  // namespace

struct FakeServer::Impl {
  struct Refusal {
    std::string beginning;
    int status;
    std::string body;
    int times;
  };

  mutable std::mutex mutex;
  std::vector<std::string> workspaces;
  std::map<std::string, std::vector<bj::object>> lists;
  std::map<std::string, std::vector<std::string>> links;  // deployments/{id} or environments/{id} → systems
  std::vector<Refusal> refusals;
  net::Headers refusal_headers;
  std::vector<std::string> requests, writes, bodies;
  std::vector<net::Headers> request_headers;
  std::vector<net::EventStream> streams;
  std::vector<std::vector<std::string>> scripts;
  std::vector<bool> script_ends;
  size_t readers = 0, fail_after = 1'000'000;
  size_t matched = 0, undetermined = 0, all_targets = 0;  // of scoped versions
  int next_id = 1, next_seq = 1;
  std::unique_ptr<net::HttpServer> server;

  std::string new_id() { return fmt::format("{:08x}-0000-7000-8000-000000000000", 0xa0000000u + next_id++); }

  std::string add(const std::string& list, bj::object thing) {
    if (!thing.contains("id")) thing["id"] = new_id();
    thing.emplace("createdAt", "2026-01-01T00:00:00Z");
    std::string id(thing["id"].as_string());
    lists[list].push_back(std::move(thing));
    return id;
  }

  bj::object* find(const std::string& list, std::string_view member, const std::string& value) {
    for (bj::object& thing : lists[list])
      if (text_at(thing, member) == value) return &thing;
    return nullptr;
  }

  bj::object* version(const std::string& id) {
    for (auto& [list, things] : lists)
      if (list.ends_with("/versions"))
        if (bj::object* found = find(list, "id", id)) return found;
    return nullptr;
  }

  bj::value scope() const {
    return {{"matched", matched}, {"undetermined", undetermined}, {"total", all_targets}};
  }
  bj::value preview() {
    bj::array targets;
    for (const bj::object& t : lists["release-targets"])
      if (targets.size() < matched + undetermined)
        targets.push_back({{"releaseTargetKey", text_at(t, "releaseTarget.key")},
                           {"resource", t.at("resource")},
                           {"environment", t.at("environment")},
                           {"undetermined", targets.size() >= matched}});
    return {{"scope", scope()}, {"targets", std::move(targets)}, {"more", false}};
  }

  bj::array systems_of(const std::string& thing) {
    bj::array out;
    for (const std::string& id : links[thing])
      if (bj::object* s = find("systems", "id", id)) out.push_back(*s);
    return out;
  }

  // As the API shows it in lists and alone.
  bj::value shown(const std::string& list, const bj::object& thing, bool alone) {
    std::string id = text_at(thing, "id");
    if (list == "deployments") return {{"deployment", thing}, {"systems", systems_of("deployments/" + id)}};
    if (list == "jobs") {
      if (thing.contains("wrapped")) return thing.at("wrapped");
      return {{"job", thing},
              {"deployment", {{"name", "api"}}},
              {"environment", {{"name", "prod"}}},
              {"resource", {{"name", "eu-1"}}}};
    }
    bj::object out = thing;
    if (list == "environments" && alone) out["systems"] = systems_of("environments/" + id);
    return out;
  }

  void send_event(const std::string& text) {
    std::erase_if(streams, [&](net::EventStream& s) { return !s.send(text); });
  }
  void commit(const std::string& entity, const std::string& id) {
    bj::value data = {{"seq", next_seq},
                      {"at", "2026-01-01T12:03:07Z"},
                      {"changes", bj::array{{{"entity", entity}, {"op", "put"}, {"id", id}}}}};
    send_event(fmt::format("id: {}\nevent: commit\ndata: {}\n\n", next_seq, bj::serialize(data)));
    ++next_seq;
  }

  void handle(const net::Request& request, net::Responder responder);
  net::Response answer(const net::Request& request);
  net::Response in_workspace(const net::Request& request, const std::vector<std::string>& path);
  net::Response read(const net::Request& request, const std::vector<std::string>& path);
  net::Response page(const net::Request& request, const std::string& list);
  net::Response put(const std::vector<std::string>& path, bj::object body);
  net::Response post(const std::vector<std::string>& path, bj::object body);
  net::Response remove(const std::vector<std::string>& path);
  void move_rollout();
};

void FakeServer::Impl::handle(const net::Request& request, net::Responder responder) {
  std::lock_guard lock(mutex);
  requests.push_back(request.method + " " + request.target);
  request_headers.push_back(request.headers);
  if (request.method != "GET") {
    writes.push_back(request.method + " " + request.target);
    bodies.push_back(request.body);
  }
  for (Refusal& r : refusals)
    if (requests.back().starts_with(r.beginning) && r.times-- > 0) {
      net::Response response{.status = r.status, .headers = refusal_headers, .body = r.body};
      return responder.respond(std::move(response));
    }
  if (!request.path.ends_with("/events")) return responder.respond(answer(request));
  net::EventStream stream = responder.stream({.headers = {{"Content-Type", "text/event-stream"}}});
  size_t n = readers++;
  if (n >= scripts.size()) {
    stream.send(fmt::format("id: {}\nevent: ready\ndata: {{}}\n\n", next_seq - 1));
    streams.push_back(std::move(stream));
    return;
  }
  for (const std::string& text : scripts[n]) stream.send(text);
  if (script_ends[n])
    stream.close();
  else
    streams.push_back(std::move(stream));
}

net::Response FakeServer::Impl::answer(const net::Request& request) {
  std::vector<std::string> path = *request.path_segments();
  if (request.path == "/api/v1/workspaces") {
    if (request.method == "POST") {
      bj::value body = bj::parse(request.body);
      workspaces.push_back(text_at(body, "slug"));
      return json(201, {{"id", "b0000000-0000-7000-8000-000000000000"}, {"slug", workspaces.back()}});
    }
    bj::array all;
    for (const std::string& slug : workspaces)
      all.push_back({{"id", "w-" + slug},
                     {"slug", slug},
                     {"name", "The " + slug},
                     {"createdAt", "2026-01-01T00:00:00Z"}});
    return json(200, {{"total", all.size()}, {"workspaces", std::move(all)}});
  }
  if (path.size() < 4 || path[2] != "workspaces") return not_there();
  if (std::ranges::find(workspaces, path[3]) == workspaces.end()) return not_there();
  if (path.size() == 4) return json(200, {{"id", "w-" + path[3]}, {"slug", path[3]}});
  return in_workspace(request, {path.begin() + 4, path.end()});
}

net::Response FakeServer::Impl::in_workspace(const net::Request& request,
                                             const std::vector<std::string>& path) {
  if (request.method == "GET") return read(request, path);
  if (request.method == "DELETE") return remove(path);
  bj::object body;
  if (!request.body.empty()) body = bj::parse(request.body).as_object();
  if (request.method == "PATCH" && path[0] == "deployment-versions") {
    bj::object* changed = version(path[1]);
    if (!changed) return not_there();
    (*changed)["status"] = body["status"];
    return json(202, *changed);
  }
  if (request.query == "dryRun=true") return json(200, preview());
  net::Response response = request.method == "PUT" ? put(path, body) : post(path, body);
  if (response.status < 300) commit(path[0], path.size() > 1 ? path[1] : "new");
  return response;
}

net::Response FakeServer::Impl::read(const net::Request& request, const std::vector<std::string>& path) {
  if (path.size() == 1) return page(request, path[0]);
  if (path.size() == 3 && path[2] == "versions") return page(request, path[0] + "/" + path[1] + "/versions");
  bj::object* thing = nullptr;
  if (path.size() == 3 && path[1] == "name") thing = find(path[0], "name", path[2]);
  if (path.size() == 3 && path[1] == "identifier") thing = find(path[0], "identifier", path[2]);
  if (path.size() == 2 || (path.size() == 3 && path[2] == "with-release"))
    thing = path[0] == "deployment-versions" ? version(path[1]) : find(path[0], "id", path[1]);
  if (path.size() == 3 && path[2] == "output") {
    bj::object* job = find("jobs", "id", path[1]);
    if (!job) return not_there();
    int64_t offset = std::atoll(request.query.substr(request.query.find('=') + 1).c_str());
    bj::array chunks;
    if (bj::value* all = job->if_contains("chunks"))
      for (bj::value& c : all->as_array())
        if (c.at("offset").as_int64() + static_cast<int64_t>(c.at("text").as_string().size()) > offset)
          chunks.push_back(c);
    return json(200, {{"chunks", std::move(chunks)}, {"end", 0}, {"truncated", false}});
  }
  if (!thing) return not_there();
  if (path[0] == "jobs" && path.size() == 2) return json(200, *thing);
  return json(200, shown(path[0], *thing, true));
}

net::Response FakeServer::Impl::page(const net::Request& request, const std::string& list) {
  if (list == "release-targets") move_rollout();
  size_t limit = 50, offset = 0;
  std::string cel;
  net::QueryPairs query = *request.query_pairs();
  for (const auto& [name, value] : query) {
    if (name == "limit") limit = std::stoul(value);
    if (name == "offset") offset = std::stoul(value);
    if (name == "cel") cel = value;
  }
  // The one expression that ids are looked up with.
  std::string prefix = after(cel, "resource.id.startsWith(\"");
  if (!prefix.empty()) prefix.resize(prefix.size() - 2);
  bj::array items;
  size_t total = 0;
  for (const bj::object& thing : lists[list]) {
    if (!prefix.empty() && !text_at(thing, "id").starts_with(prefix)) continue;
    if (total >= offset && items.size() < limit) items.push_back(shown(list, thing, false));
    ++total;
  }
  return json(200, {{"items", std::move(items)}, {"total", total}, {"limit", limit}, {"offset", offset}});
}

net::Response FakeServer::Impl::put(const std::vector<std::string>& path, bj::object body) {
  if (path.size() == 4 && path[0] == "systems") {
    auto& systems = links[path[2] + "/" + path[3]];
    if (std::ranges::find(systems, path[1]) == systems.end()) systems.push_back(path[1]);
    return json(202, {{"id", path[1]}});
  }
  bool by_identifier = path.size() == 3 && path[1] == "identifier";
  if (by_identifier) body["identifier"] = path[2];
  if (path.size() == 2) body["id"] = path[1];
  std::string member = by_identifier ? "identifier" : path.size() == 2 ? "id" : "name";
  bj::object* there = find(path[0], member, text_at(body, member));
  if (!there) return add(path[0], body), json(202, {{"id", lists[path[0]].back()["id"]}});
  body["id"] = (*there)["id"];
  body["createdAt"] = (*there)["createdAt"];
  *there = body;
  return json(202, {{"id", (*there)["id"]}});
}

net::Response FakeServer::Impl::post(const std::vector<std::string>& path, bj::object body) {
  if (path.size() == 1) return json(202, {{"id", add(path[0], std::move(body))}, {"message", "requested"}});
  if (path.size() == 3 && path[2] == "versions") {
    std::string list = path[0] + "/" + path[1] + "/versions";
    if (find(list, "tag", text_at(body, "tag"))) return json(409, {{"message", "the tag is taken"}});
    body["deploymentId"] = path[1];
    size_t reached = lists["release-targets"].size();
    if (body.contains("targetSelector")) {
      body.emplace("onSelectorError", "include");
      body["scope"] = scope();
      reached = std::min(reached, matched + undetermined);
    }
    add(list, body);
    for (size_t i = 0; i < reached; ++i)
      lists["release-targets"][i]["state"].as_object()["desiredVersion"] = {{"id", lists[list].back()["id"]},
                                                                            {"tag", body["tag"]}};
    return json(200, lists[list].back());
  }
  if (path.size() == 3 && path[2] == "redeploy") return json(202, {{"id", path[1]}, {"jobIds", bj::array{}}});
  if (path.size() == 3 && path[2] == "cancel") {
    bj::object* job = find("jobs", "id", path[1]);
    if (!job) return not_there();
    (*job)["status"] = "cancelled";
    return json(202, {{"id", path[1]}});
  }
  return not_there();
}

net::Response FakeServer::Impl::remove(const std::vector<std::string>& path) {
  if (path.size() == 4 && path[0] == "systems") {
    std::erase(links[path[2] + "/" + path[3]], path[1]);
    return json(202, {{"id", path[1]}});
  }
  std::string member = path.size() == 2 ? "id" : path[1];
  auto& list = lists[path[0]];
  size_t gone = std::erase_if(list, [&](const bj::object& o) { return text_at(o, member) == path.back(); });
  return gone ? json(202, {{"id", path.back()}}) : not_there();
}

void FakeServer::Impl::move_rollout() {
  size_t n = 0;
  for (bj::object& target : lists["release-targets"]) {
    bj::object& state = target["state"].as_object();
    bool desired = state.contains("desiredVersion");
    bool done =
        desired && state.contains("currentVersion") && state["currentVersion"] == state["desiredVersion"];
    if (!desired || (done && ++n)) continue;
    bj::object job{{"id", new_id()},
                   {"status", n >= fail_after ? "failure" : "inProgress"},
                   {"createdAt", "2026-01-02T00:00:00Z"},
                   {"message", "no room"}};
    if (!state.contains("latestJob") || state["latestJob"].at("createdAt") != "2026-01-02T00:00:00Z")
      state["latestJob"] = job;
    else if (n < fail_after)
      state["currentVersion"] = state["desiredVersion"];
    commit("releaseTarget", text_at(target, "id"));
    return;
  }
}

FakeServer::FakeServer() : impl_(std::make_unique<Impl>()) {
  impl_->workspaces = {"acme"};
  auto server =
      net::HttpServer::start({}, [impl = impl_.get()](const net::Request& request, net::Responder responder) {
        impl->handle(request, std::move(responder));
      });
  EXPECT_TRUE(server);
  impl_->server = *std::move(server);
}

FakeServer::~FakeServer() { stop(); }

void FakeServer::stop() {
  if (impl_->server) impl_->server->shutdown(seconds(0));
}

std::string FakeServer::url() const { return fmt::format("http://127.0.0.1:{}", impl_->server->port()); }

void FakeServer::add_workspace(const std::string& slug) {
  std::lock_guard lock(impl_->mutex);
  impl_->workspaces.push_back(slug);
}
std::string FakeServer::add(const std::string& list, const std::string& text) {
  std::lock_guard lock(impl_->mutex);
  return impl_->add(list, bj::parse(text).as_object());
}
void FakeServer::refuse(const std::string& beginning, int status, const std::string& body, int times) {
  std::lock_guard lock(impl_->mutex);
  impl_->refusals.push_back({beginning, status, body, times});
}
void FakeServer::refuse_with(const std::string& name, const std::string& value) {
  std::lock_guard lock(impl_->mutex);
  impl_->refusal_headers.add(name, value);
}
void FakeServer::script_stream(std::vector<std::string> texts, bool then_end) {
  std::lock_guard lock(impl_->mutex);
  impl_->scripts.push_back(std::move(texts));
  impl_->script_ends.push_back(then_end);
}
void FakeServer::commit(const std::string& entity, const std::string& id) {
  std::lock_guard lock(impl_->mutex);
  impl_->commit(entity, id);
}
std::vector<std::string> FakeServer::requests() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->requests;
}
std::vector<std::string> FakeServer::writes() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->writes;
}
std::vector<std::string> FakeServer::bodies() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->bodies;
}
std::vector<std::string> FakeServer::headers(const std::string& name) const {
  std::lock_guard lock(impl_->mutex);
  std::vector<std::string> values;
  for (const net::Headers& h : impl_->request_headers)
    if (const std::string* v = h.find(name)) values.push_back(*v);
  return values;
}
size_t FakeServer::count(const std::string& list) const {
  std::lock_guard lock(impl_->mutex);
  return impl_->lists[list].size();
}
std::string FakeServer::thing(const std::string& list, size_t index) const {
  std::lock_guard lock(impl_->mutex);
  return bj::serialize(impl_->lists[list].at(index));
}
void FakeServer::scope_versions(size_t matched, size_t undetermined, size_t total) {
  std::lock_guard lock(impl_->mutex);
  impl_->matched = matched;
  impl_->undetermined = undetermined;
  impl_->all_targets = total;
}
void FakeServer::fail_jobs_after(size_t targets) {
  std::lock_guard lock(impl_->mutex);
  impl_->fail_after = targets;
}

}  // namespace ctrlplane::cli
