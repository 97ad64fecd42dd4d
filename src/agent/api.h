// The calls of the pull agent's protocol (docs/api.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/job.h"
#include "base/clock.h"
#include "base/result.h"
#include "net/client.h"

namespace ctrlplane::agent {

struct ApiOptions {
  std::string url;  // http://host:port, with or without a trailing slash, /api or /api/v1
  std::string api_key;
  std::string workspace;  // id or slug
  net::ClientOptions client = {};
};

// The URL without what may be trailing.
std::string bare_url(std::string_view url);
// The same without a user and password: what may be shown, and given to commands.
std::string public_url(std::string_view url);

// Whether the same request may be answered otherwise later: no answer, 5xx, 429.
bool is_transient(const Error& error);

// Errors: kUnavailable for no answer and for 5xx, otherwise the code that belongs to the status, with the
// server's message. kInternal for an answer that makes no sense. One thread at a time, except interrupt().
class Api {
 public:
  explicit Api(ApiOptions options);

  // The id of the job agent of that name, if there is one.
  Result<std::optional<std::string>> find_agent(std::string_view name);
  Result<std::string> create_agent(std::string_view id, std::string_view name);

  struct Claimant {
    std::string agent;
    std::string instance;
    bool fences_itself = true;
  };
  // The oldest waiting job, if one waits.
  Result<std::optional<PulledJob>> claim(const Claimant& claimant);
  // That one; kConflict if somebody else has it.
  Result<PulledJob> claim(const Claimant& claimant, std::string_view job);
  // All jobs that wait, the oldest first.
  Result<std::vector<PulledJob>> waiting(std::string_view agent);

  // `status` as the protocol spells it. kConflict or kNotFound: the job has ended or is somebody else's.
  Status report(std::string_view job, std::string_view instance, std::string_view status,
                std::string_view message = {});

  struct Beat {
    std::vector<std::string> stop;        // jobs to stop
    Duration lease = {}, heartbeat = {};  // zero if the server does not say
  };
  Result<Beat> heartbeat(std::string_view agent, std::string_view instance,
                         const std::vector<std::string>& jobs);

  Status append_output(std::string_view job, uint64_t offset, std::string_view text);

  // Ends a call that is running in another thread, or the next one.
  void interrupt() { client_.interrupt(); }

 private:
  // The body of a response with a 2xx status.
  Result<std::string> call(std::string method, std::string_view path, std::string body = {});

  ApiOptions options_;
  std::string base_;
  net::HttpClient client_;
};

}  // namespace ctrlplane::agent
