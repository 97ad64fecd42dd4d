// The API's spelling of closed words. Where a job waits for a pull agent, or was taken by one that has not
// reported yet, the API has its own word for it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/entities.h"

namespace ctrlplane::api {

// `pulled`: the job's agent fetches its jobs.
std::string_view wire(JobStatus status, bool pulled);
// What a report may say; nullopt for words that are none. Spellings with underscores are taken too.
std::optional<JobStatus> parse_job_status(std::string_view text);
// The stored statuses that appear as this word.
std::vector<JobStatus> stored_as(std::string_view word);

}  // namespace ctrlplane::api
