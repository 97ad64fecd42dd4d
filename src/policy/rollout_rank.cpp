#include "policy/rollout_rank.h"

#include <algorithm>

#include "policy/memo.h"

namespace ctrlplane::policy {

uint64_t fnv1a(std::string_view first, std::string_view second) {
  uint64_t h = 14695981039346656037ull;
  for (std::string_view text : {first, second})
    for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h;
}

uint64_t rollout_hash(const TargetKey& key, VersionId version) { return fnv1a(key.str(), version.str()); }

Duration linear_offset(Rank rank, Duration interval) {
  return interval * static_cast<int64_t>(rank.position);
}

Duration normalized_offset(Rank rank, Duration interval) {
  if (rank.of == 0) return {};
  return seconds(interval.us / 1'000'000 * static_cast<int64_t>(rank.position) /
                 static_cast<int64_t>(rank.of));
}

Rank rollout_rank(const State& state, TargetIx target, VersionIx version) {
  const TargetSlot& slot = state.at(target);
  VersionId id = state.versions[version].row.id;
  Memo& memo = memo_of(state);
  Memo::Ranks& ranks = memo.ranks[{version, slot.environment}];
  uint64_t epoch = state.membership_epoch(slot.deployment, slot.environment, version);
  if (ranks.epoch != epoch || ranks.version != id) {
    ranks = {.epoch = epoch, .version = id, .hashes = {}};
    state.each_target_in(slot.deployment, slot.environment, version,
                         [&](TargetIx t) { ranks.hashes.push_back(rollout_hash(state.key_of(t), id)); });
    std::sort(ranks.hashes.begin(), ranks.hashes.end());
  }
  auto at =
      std::lower_bound(ranks.hashes.begin(), ranks.hashes.end(), rollout_hash(state.key_of(target), id));
  return {static_cast<size_t>(at - ranks.hashes.begin()), ranks.hashes.size()};
}

}  // namespace ctrlplane::policy
