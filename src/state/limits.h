// A concurrency rule's resources, and the line of those who wait for one of its slots.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include <roaring/roaring.hh>

#include "model/ids.h"
#include "state/selector.h"
#include "state/slots.h"

namespace ctrlplane {

struct Limit {
  std::string text;                  // of the selector
  std::optional<Selector> selector;  // none: it cannot be read, and then every resource counts
  Roaring resources;                 // that it matches: by ResourceIx
  bool counting = false;             // a walk over the resources is due: there may be more of them
  bool walked = false;               // and has begun: it will not see resources that come now
};

// The place in line: roll-out order, then age.
struct LineKey {
  Time turn;
  uint64_t position = 0;
  Time since;
  ResourceId resource;
  auto operator<=>(const LineKey&) const = default;
};

class Line {
 public:
  struct Waiting {
    LineKey key;
    std::vector<TargetIx> targets;
  };

  bool empty() const { return by_key_.empty(); }
  size_t size() const { return by_key_.size(); }
  const std::set<LineKey>& order() const { return by_key_; }
  const Waiting* find(ResourceId r) const {
    auto it = waiting_.find(r);
    return it == waiting_.end() ? nullptr : &it->second;
  }
  // How many other resources stand before that place; counts to `most` and no further.
  size_t ahead_of(const LineKey& key, size_t most) const;

  void join(const LineKey& key, TargetIx t);
  bool leave(ResourceId r);

 private:
  std::set<LineKey> by_key_;
  std::map<ResourceId, Waiting> waiting_;
};

}  // namespace ctrlplane
