#include "cli/client.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/ids.h"
#include "cli/json_text.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr size_t kPage = 500;
constexpr size_t kMaxDepth = 128;  // twice what the server stores: answers wrap it
constexpr int kAttempts = 4;
constexpr int kLongestRetryAfter = 10;  // seconds; who asks for more is told to the person instead

std::optional<bj::value> parse(std::string_view text) {
  bj::parse_options options;
  options.max_depth = kMaxDepth;
  bj::error_code error;
  bj::value v = bj::parse(text, error, {}, options);
  if (error) return std::nullopt;
  return v;
}

std::vector<ErrorDetail> details_of(const bj::value& body) {
  std::vector<ErrorDetail> details;
  const bj::value* list = member_at(body, "details");
  if (!list || !list->is_array()) return details;
  for (const bj::value& d : list->get_array()) details.push_back({text_at(d, "path"), text_at(d, "message")});
  return details;
}

// How long to wait before the next attempt; nullopt if there should be none.
std::optional<Duration> patience(const net::Response& response) {
  if (response.status != 429 && response.status != 503) return std::nullopt;
  int after = 1;
  if (const std::string* header = response.headers.find("Retry-After")) {
    auto [end, error] = std::from_chars(header->data(), header->data() + header->size(), after);
    if (error != std::errc() || after > kLongestRetryAfter || after < 0) return std::nullopt;
  }
  return after == 0 ? milliseconds(100) : seconds(after);
}

}  // namespace

std::string query_text(const Query& query) {
  std::string text;
  for (const auto& [name, value] : query)
    text += fmt::format("{}{}={}", text.empty() ? "?" : "&", name, net::percent_encode(value));
  return text;
}

std::string segment(std::string_view text) {
  // These two would be taken for steps in the path, and lead elsewhere.
  if (text == ".") return "%2E";
  if (text == "..") return "%2E%2E";
  return net::percent_encode(text);
}

net::ClientOptions client_options(const Settings& settings) {
  return {.ca_file = settings.ca_file, .verify_tls = settings.verify_tls};
}

net::Headers request_headers(const Settings& settings) {
  net::Headers headers{{"Accept", "application/json"}};
  if (!settings.api_key.empty()) headers.add("x-api-key", settings.api_key);
  return headers;
}

Failure refusal(const Settings& settings, const net::Response& response) {
  Failure f{.status = response.status, .message = std::string(net::reason_phrase(response.status))};
  if (auto body = parse(response.body)) {
    std::string message = text_at(*body, "message");
    if (message.empty()) message = text_at(*body, "error");
    if (!message.empty()) f.message = message;
    f.details = details_of(*body);
    // The server repeats a lone detail in its message.
    if (f.details.size() == 1 && f.message == f.details[0].path + ": " + f.details[0].message)
      f.details.clear();
  }
  if (response.status == 401) f.hints.push_back("set CTRLPLANE_API_KEY or --api-key");
  if (response.status >= 300 && response.status < 400)
    f.hints.push_back(fmt::format("{} is not where the server is: see --url", settings.url));
  return f;
}

Failure unreachable(const Error& error) {
  if (error.code == ErrorCode::kInvalid) return {.exit_code = kWrongUse, .message = error.message};
  return {.exit_code = kUnreachable,
          .message = fmt::format("no answer from {}", error.message),  // which begins with the server's URL
          .hints = {"another server: --url or CTRLPLANE_URL; a server of your own: ctrlplane serve"}};
}

Client::Client(Settings settings, Console& console)
    : settings_(std::move(settings)),
      console_(console),
      workspace_(settings_.workspace),
      http_(client_options(settings_)) {}

Client::~Client() = default;

Outcome<bj::value> Client::exchange(const net::ClientRequest& request) {
  for (int attempt = 1;; ++attempt) {
    auto response = http_.send(request);
    if (!response) return std::unexpected(unreachable(response.error()));
    if (response->status >= 200 && response->status < 300) {
      if (response->body.empty()) return bj::value(nullptr);
      if (auto body = parse(response->body)) return *std::move(body);
      return failed(fmt::format("{} did not answer with JSON: is it a ctrlplane server?", settings_.url));
    }
    auto wait = patience(*response);
    if (!wait || attempt == kAttempts) return std::unexpected(refusal(settings_, *response));
    console_.pause(*wait);
  }
}

Outcome<bj::value> Client::get(const std::string& path) { return send("GET", path); }

Outcome<bj::value> Client::send(std::string method, const std::string& path) {
  net::ClientRequest request{.method = std::move(method), .url = settings_.url + path};
  request.headers = request_headers(settings_);
  if (request.method == "POST") request.headers.add("Idempotency-Key", random_uuid());
  return exchange(request);
}

Outcome<bj::value> Client::send(std::string method, const std::string& path, const bj::value& body) {
  net::ClientRequest request{.method = std::move(method), .url = settings_.url + path};
  request.headers = request_headers(settings_);
  request.headers.add("Content-Type", "application/json");
  if (request.method == "POST") request.headers.add("Idempotency-Key", random_uuid());
  request.body = compact_json(body);
  return exchange(request);
}

Outcome<bj::array> Client::list(const std::string& path, const Query& query, size_t most,
                                std::string_view member) {
  bj::array all;
  while (true) {
    size_t page = most ? std::min(kPage, most - all.size()) : kPage;
    Query q = query;
    bool paged = member == "items";
    if (paged) {
      q.emplace_back("limit", std::to_string(page));
      q.emplace_back("offset", std::to_string(all.size()));
    }
    bj::value answer = TRY(get(path + query_text(q)));
    bj::value* items = answer.is_object() ? answer.get_object().if_contains(member) : nullptr;
    // Where nothing is found some lists are null.
    if (!items || items->is_null()) return all;
    if (!items->is_array()) return failed(fmt::format("the answer to GET {} is not a list", path));
    size_t got = items->get_array().size();
    for (bj::value& item : items->get_array()) all.push_back(std::move(item));
    const bj::value* total = member_at(answer, "total");
    bool more =
        total && total->is_int64() ? static_cast<int64_t>(all.size()) < total->get_int64() : got == page;
    if (!paged || got == 0 || !more || (most && all.size() >= most)) break;
  }
  if (most && all.size() > most) all.resize(most);
  return all;
}

Outcome<std::string> Client::workspace_path() {
  if (workspace_.empty()) {
    bj::array all = TRY(list(std::string(kApi) + "/workspaces", {}, 0, "workspaces"));
    if (all.empty()) return wrong_use("there is no workspace yet, or none that this key may see");
    if (all.size() > 1) {
      std::vector<std::string> slugs;
      for (const bj::value& w : all) slugs.push_back(text_at(w, "slug"));
      return wrong_use("there are several workspaces: choose one with --workspace or CTRLPLANE_WORKSPACE",
                       std::move(slugs));
    }
    workspace_ = text_at(all[0], "slug");
  }
  return fmt::format("{}/workspaces/{}", kApi, segment(workspace_));
}

}  // namespace ctrlplane::cli
