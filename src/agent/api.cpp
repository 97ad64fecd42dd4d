#include "agent/api.h"

#include <algorithm>

#include <fmt/format.h>

namespace ctrlplane::agent {
namespace {

constexpr size_t kPage = 1000;
constexpr size_t kJobPage = 200;  // with their contexts
constexpr Duration kTimeout = seconds(20);

std::string escaped(std::string_view segment) { return net::percent_encode(segment); }

ErrorCode code_of(int status) {
  switch (status) {
    case 400: return ErrorCode::kInvalid;
    case 401: return ErrorCode::kUnauthenticated;
    case 403: return ErrorCode::kForbidden;
    case 404: return ErrorCode::kNotFound;
    case 409: return ErrorCode::kConflict;
    case 413: return ErrorCode::kTooLarge;
    case 415: return ErrorCode::kUnsupported;
    case 429: return ErrorCode::kBusy;
    default: return status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kInternal;
  }
}

Error error_of(const net::Response& response) {
  std::string said;
  if (auto json = JsonView::parse(response.body)) said = (*json)["message"].string().value_or("");
  std::string text =
      fmt::format("the server answered {} {}", response.status, net::reason_phrase(response.status));
  return {code_of(response.status), said.empty() ? text : text + ": " + said};
}

// The answer must be JSON: a wrong address often answers 200 with a page for people.
Result<JsonView> parsed(const std::string& body) {
  auto json = JsonView::parse(body);
  if (!json)
    return fail(ErrorCode::kInternal, "the answer is not from a ctrlplane server; is the URL right?");
  return *json;
}

Result<PulledJob> job_in(const std::string& body) {
  auto job = job_of(TRY(parsed(body)));
  if (!job) return fail(ErrorCode::kInternal, "the server sent " + job.error().message);
  return job;
}

std::string claim_body(const Api::Claimant& claimant) {
  return fmt::format(R"({{"instanceId":{},"fencesItself":{}}})", json_quote(claimant.instance),
                     claimant.fences_itself);
}

Duration whole_seconds(JsonView value) {
  constexpr int64_t kDay = 86'400;
  return seconds(std::clamp<int64_t>(value.integer().value_or(0), 0, kDay));
}

}  // namespace

std::string bare_url(std::string_view url) {
  auto cut = [&](std::string_view suffix) {
    if (url.ends_with(suffix)) url.remove_suffix(suffix.size());
  };
  auto cut_slashes = [&] {
    while (url.ends_with('/')) url.remove_suffix(1);
  };
  cut_slashes();
  cut("/api/v1");
  cut("/api");
  cut_slashes();
  return std::string(url);
}

std::string public_url(std::string_view url) {
  std::string bare = bare_url(url);
  size_t host = bare.find("://");
  host = host == std::string::npos ? 0 : host + 3;
  size_t end = std::min(bare.find('/', host), bare.size());
  size_t at = bare.rfind('@', end);
  if (at != std::string::npos && at >= host) bare.erase(host, at + 1 - host);
  return bare;
}

bool is_transient(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kBusy;
}

Api::Api(ApiOptions options)
    : options_(std::move(options)),
      base_(bare_url(options_.url) + "/api/v1/workspaces/" + escaped(options_.workspace)),
      client_(options_.client) {}

Result<std::string> Api::call(std::string method, std::string_view path, std::string body) {
  net::ClientRequest request{
      .method = std::move(method), .url = base_ + std::string(path), .timeout = kTimeout};
  request.headers.add("x-api-key", options_.api_key);
  request.headers.add("Accept", "application/json");
  if (!body.empty()) request.headers.add("Content-Type", "application/json");
  request.body = std::move(body);
  net::Response response = TRY(client_.send(request));
  if (response.status < 200 || response.status > 299) return std::unexpected(error_of(response));
  return std::move(response.body);
}

Result<std::optional<std::string>> Api::find_agent(std::string_view name) {
  for (size_t offset = 0;; offset += kPage) {
    std::string body = TRY(call("GET", fmt::format("/job-agents?limit={}&offset={}", kPage, offset)));
    JsonView json = TRY(parsed(body));
    auto items = json["items"].members();
    for (const auto& item : items)
      if (item.value["name"].string() == name && item.value["id"].is_string())
        return item.value["id"].string();
    if (items.size() < kPage) return std::nullopt;
  }
}

Result<std::string> Api::create_agent(std::string_view id, std::string_view name) {
  std::string body =
      fmt::format(R"({{"name":{},"type":"http-pull","config":{{}},"metadata":{{}}}})", json_quote(name));
  std::string answer = TRY(call("PUT", "/job-agents/" + escaped(id), std::move(body)));
  JsonView json = TRY(parsed(answer));
  return json["id"].string().value_or(std::string(id));
}

Result<std::optional<PulledJob>> Api::claim(const Claimant& claimant) {
  std::string body =
      TRY(call("POST", "/job-agents/" + escaped(claimant.agent) + "/claim", claim_body(claimant)));
  if (body.empty()) return std::nullopt;
  return TRY(job_in(body));
}

Result<PulledJob> Api::claim(const Claimant& claimant, std::string_view job) {
  std::string path = "/job-agents/" + escaped(claimant.agent) + "/jobs/" + escaped(job) + "/claim";
  return job_in(TRY(call("POST", path, claim_body(claimant))));
}

Result<std::vector<PulledJob>> Api::waiting(std::string_view agent) {
  std::vector<PulledJob> jobs;
  for (size_t offset = 0;; offset += kJobPage) {
    std::string body =
        TRY(call("GET", fmt::format("/job-agents/{}/jobs?status=queued&includeDispatchContext=true"
                                    "&limit={}&offset={}",
                                    escaped(agent), kJobPage, offset)));
    JsonView json = TRY(parsed(body));
    auto items = json["items"].members();
    for (const auto& item : items)
      if (auto job = job_of(item.value)) jobs.push_back(std::move(*job));
    if (items.size() < kJobPage) break;
  }
  std::ranges::stable_sort(jobs, {}, &PulledJob::created_at);
  return jobs;
}

Status Api::report(std::string_view job, std::string_view instance, std::string_view status,
                   std::string_view message) {
  std::string body =
      fmt::format(R"({{"status":{},"instanceId":{})", json_quote(status), json_quote(instance));
  if (!message.empty()) body += ",\"message\":" + json_quote(message);
  TRY(call("PUT", "/jobs/" + escaped(job) + "/status", body + "}"));
  return {};
}

Result<Api::Beat> Api::heartbeat(std::string_view agent, std::string_view instance,
                                 const std::vector<std::string>& jobs) {
  std::string body = R"({"instanceId":)" + json_quote(instance) + R"(,"jobIds":[)";
  for (size_t i = 0; i < jobs.size(); ++i) body += (i ? "," : "") + json_quote(jobs[i]);
  std::string answer = TRY(call("POST", "/job-agents/" + escaped(agent) + "/heartbeat", body + "]}"));
  JsonView json = TRY(parsed(answer));
  Beat beat;
  for (const auto& item : json["stop"].members())
    if (auto id = item.value.string()) beat.stop.push_back(*id);
  beat.lease = whole_seconds(json["leaseSeconds"]);
  beat.heartbeat = whole_seconds(json["heartbeatSeconds"]);
  return beat;
}

Status Api::append_output(std::string_view job, uint64_t offset, std::string_view text) {
  std::string body = fmt::format(R"({{"offset":{},"text":{}}})", offset, json_quote(text));
  TRY(call("POST", "/jobs/" + escaped(job) + "/output", std::move(body)));
  return {};
}

}  // namespace ctrlplane::agent
