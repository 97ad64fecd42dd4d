// The world in words: what `show` prints and what the final checks compare. Every function returns
// sorted lines, or the one line `nothing`.
#pragma once

#include <string>
#include <vector>

#include "world.h"

namespace ctrlplane::scenario {

// Empty `deployment`: of all.
std::string describe_targets(World& world, const State& state, const std::string& deployment);
std::string describe_jobs(World& world, const std::string& deployment);
std::string describe_versions(World& world, const std::string& deployment);
std::string describe_outbox(World& world);
std::string describe_deliveries(World& world);
std::string describe_audit(World& world);
std::string describe_policies(World& world);
// Why the target is where it is: the summary, and for each candidate the verdict and what stands in its way.
std::string describe_scope(World& world, VersionIx version);
std::string describe_why(World& world, const TargetKey& key);
// The dispatch context as it was stored with the job: one member a line.
std::string describe_context(World& world, const Job& job);

// The text with every RFC 3339 instant in it as a day and time of the scenario.
std::string with_days(World& world, const std::string& text);
std::string lines_or_nothing(const std::vector<std::string>& lines);

}  // namespace ctrlplane::scenario
