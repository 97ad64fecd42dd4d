// A job as the server hands it out, and what of it a command gets to see.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/json_view.h"

namespace ctrlplane::agent {

struct PulledJob {
  std::string id;
  std::string created_at;      // RFC 3339; empty if the server does not say
  std::string context = "{}";  // the dispatch context, as the server wrote it
  std::string config = "{}";   // the merged configuration of the agent
};

// kInvalid if there is no id, or a context that is not an object.
Result<PulledJob> job_of(JsonView json);

using Selector = std::vector<std::pair<std::string, std::string>>;

// Whether every pair holds: `kind` is the resource's kind, `environment` the environment's name or id,
// `deployment` the deployment's name, slug or id, and any other key one of the resource's metadata.
bool matches(const Selector& selector, const PulledJob& job);

// The variables that describe the job, as NAME=value. A value that cannot be in an environment (a NUL, or
// more than 96 KiB) is left out: the context on standard input has it.
std::vector<std::string> environment_of(const PulledJob& job);

// What a command inherits of the agent's own environment: everything but the CTRLPLANE_ variables and
// whatever holds the key.
std::vector<std::string> inherited_environment(const char* const* all, std::string_view api_key);

}  // namespace ctrlplane::agent
