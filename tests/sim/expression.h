// A second reading of the few kinds of expression that simulated worlds use in selectors, so that the
// checker need not believe ours:
//
//   true   false   !x   x && y   x || y   (x)
//   subject.member == 'text'   != 'text'   in ['a', 'b']   .startsWith('a')   .endsWith('a')
//   subject.metadata['key'] in place of subject.member   'key' in subject.metadata
#pragma once

#include <string_view>

#include "model/entities.h"

namespace ctrlplane::sim {

struct Facts {
  const Resource* resource = nullptr;
  const Environment* environment = nullptr;
  const Deployment* deployment = nullptr;
  const Version* version = nullptr;
};

enum class Truth : uint8_t {
  kFalse,
  kTrue,
  kMissing,  // metadata that is not there decides
};

// Aborts on anything else: then a world says more than its checker can read.
Truth evaluate(std::string_view expression, const Facts& facts);

inline bool holds(std::string_view expression, const Facts& facts) {
  return evaluate(expression, facts) == Truth::kTrue;
}

}  // namespace ctrlplane::sim
