// How far a version has come on the release targets of its deployment.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include "base/time.h"

namespace ctrlplane::cli {

struct Rollout {
  size_t total = 0, done = 0, running = 0, failed = 0;
  bool counting = false;     // the server does not know yet how many there are
  size_t attention = 0;      // running ones that wait for a person
  std::string failed_job;    // one of them
  std::string failed_where;  // "eu-1 in production"
  std::string failed_why;    // its status and message
};

// `targets` as the list of release targets has them. A job counts for the version if the target should have
// the version, and the job is not older than it.
Rollout rollout_of(const boost::json::array& targets, std::string_view version_id, Time version_created);
// Counts only the targets that a scoped version is for. `version` as the server has it now: a scope is live.
void narrow_to_scope(Rollout& rollout, const boost::json::value& version);
bool is_complete(const Rollout& rollout);
// "12/50 done, 3 running, 1 failed"
std::string progress_text(const Rollout& rollout);

bool has_ended(std::string_view job_status);

}  // namespace ctrlplane::cli
