// Which resources have a value: of name, kind, version, identifier, provider, and of each metadata key.
//
// It answers with candidates, never with matches: whoever asks evaluates the selector on them. That allows
// it to keep 64-bit hashes instead of texts; two values with one hash share their resources.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/entities.h"
#include "state/compact_set.h"
#include "state/growing.h"
#include "state/narrowing.h"
#include "state/slots.h"

namespace ctrlplane {

class ResourceIndex {
 public:
  // The row in that slot is now `after`; `before` is null if there was none.
  void put(ResourceIx r, const Resource* before, const Resource& after);
  void erase(ResourceIx r, const Resource& row);

  // No resource outside of these gives a result that is sought. Nullopt: it may be any of them.
  std::optional<Roaring> candidates(const Narrowing& narrowing, Sought sought) const;

  size_t values() const { return places_.size(); }

 private:
  struct Spread {
    using is_avalanching = void;
    size_t operator()(uint64_t hash) const noexcept { return hash; }
  };
  static constexpr uint32_t kIsSet = 1u << 31;

  void add(uint64_t value, uint32_t n);
  void remove(uint64_t value, uint32_t n);
  void add_to(Roaring& out, uint64_t value) const;
  std::optional<Roaring> find(const Narrowing& narrowing, bool all_but_no) const;
  Roaring find_term(const Narrowing& term, bool all_but_no) const;
  std::optional<Roaring> find_all(const Narrowing& narrowing, bool all_but_no) const;
  std::optional<Roaring> find_any(const Narrowing& narrowing, bool all_but_no) const;

  // By hash of field, key and value: the one resource that has it, or the number of a set with kIsSet.
  GrowingMap<uint64_t, uint32_t, Spread> places_;
  GrowingArray<CompactSet> sets_;
  std::vector<uint32_t> free_sets_;
  Roaring all_;
};

}  // namespace ctrlplane
