// The API as the verbs use it: JSON in and out, whole lists, refusals with what a person can do about them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/fwd.hpp>

#include "cli/console.h"
#include "cli/failure.h"
#include "cli/settings.h"
#include "net/client.h"

namespace ctrlplane::cli {

inline constexpr std::string_view kApi = "/api/v1";

using Query = std::vector<std::pair<std::string, std::string>>;
// "?a=b&c=d", or nothing.
std::string query_text(const Query& query);
// One segment of a path.
std::string segment(std::string_view text);

net::ClientOptions client_options(const Settings& settings);
net::Headers request_headers(const Settings& settings);
// What a refusing answer says.
Failure refusal(const Settings& settings, const net::Response& response);
Failure unreachable(const Error& error);

class Client {
 public:
  // `console` must outlive it.
  Client(Settings settings, Console& console);
  ~Client();

  const Settings& settings() const { return settings_; }

  // The path begins with /api. The answer is null where it has no body. A server that asks for patience
  // (429, 503) gets it, some times; a POST that is repeated carries the same Idempotency-Key.
  Outcome<boost::json::value> get(const std::string& path);
  Outcome<boost::json::value> send(std::string method, const std::string& path);
  Outcome<boost::json::value> send(std::string method, const std::string& path,
                                   const boost::json::value& body);

  // The items of a list, page by page; at most `most` of them, 0: all. `member` is what the answer calls
  // them.
  Outcome<boost::json::array> list(const std::string& path, const Query& query = {}, size_t most = 0,
                                   std::string_view member = "items");

  // "/api/v1/workspaces/acme". Asks the server at the first need if no workspace was named.
  Outcome<std::string> workspace_path();
  // As a person calls it; empty before workspace_path().
  const std::string& workspace_name() const { return workspace_; }
  void choose_workspace(std::string workspace) { workspace_ = std::move(workspace); }

 private:
  Outcome<boost::json::value> exchange(const net::ClientRequest& request);

  Settings settings_;
  Console& console_;
  std::string workspace_;
  net::HttpClient http_;
};

}  // namespace ctrlplane::cli
