// The targets that a version is for, when it is not for all of its deployment's.
#pragma once

#include <map>
#include <optional>

#include <roaring/roaring.hh>

#include "state/selector.h"
#include "state/slots.h"

namespace ctrlplane {

struct VersionScope {
  std::optional<Selector>
      selector;  // none: it cannot be read any more, and nothing can be said of any target
  OnSelectorError on_error = OnSelectorError::kInclude;
  Roaring targets;  // existing ones that it is for: by TargetIx
  Roaring
      undetermined;  // existing ones on which the selector cannot be evaluated, whether it is for them or not
  std::map<EnvironmentIx, uint32_t> counts;  // of `targets`
  uint64_t epoch = 0;                        // another number whenever `targets` changes
  bool counting = false;                     // a walk over the resources is due: there may be more
  bool walked = false;                       // and has begun: it will not see targets that come now

  bool holds(Match m) const {
    return m == Match::kYes || (m != Match::kNo && on_error == OnSelectorError::kInclude);
  }
};

}  // namespace ctrlplane
