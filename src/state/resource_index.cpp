#include "state/resource_index.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "base/uuid.h"

namespace ctrlplane {
namespace {

using Hashes = std::vector<uint64_t>;

uint64_t hash_of(ResourceField field, std::string_view key, std::string_view value) {
  std::hash<std::string_view> text;
  return mix64(mix64(text(key) + static_cast<uint64_t>(field)) ^ text(value));
}

// Ascending, none twice: a resource is in a set once, whatever of it leads there.
Hashes values_of(const Resource& r) {
  Hashes all;
  all.reserve(5 + 2 * r.metadata.size());
  all.push_back(hash_of(ResourceField::kName, {}, r.name));
  all.push_back(hash_of(ResourceField::kKind, {}, r.kind));
  all.push_back(hash_of(ResourceField::kVersion, {}, r.version));
  all.push_back(hash_of(ResourceField::kIdentifier, {}, r.identifier));
  if (r.provider) all.push_back(hash_of(ResourceField::kProvider, {}, r.provider->str()));
  for (const auto& [key, value] : r.metadata) {
    all.push_back(hash_of(ResourceField::kMetadata, key, value));
    all.push_back(hash_of(ResourceField::kMetadataKey, key, {}));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool same_values(const Resource& a, const Resource& b) {
  return a.name == b.name && a.kind == b.kind && a.version == b.version && a.identifier == b.identifier &&
         a.provider == b.provider && a.metadata == b.metadata;
}

// fn(hash) for each that is in `a` and not in `b`.
template <class Fn>
void each_only_in(const Hashes& a, const Hashes& b, Fn&& fn) {
  auto at = b.begin();
  for (uint64_t h : a) {
    at = std::lower_bound(at, b.end(), h);
    if (at == b.end() || *at != h) fn(h);
  }
}

}  // namespace

// ---- Keeping it true ---------------------------------------------------------------------------------

void ResourceIndex::put(ResourceIx r, const Resource* before, const Resource& after) {
  if (before && same_values(*before, after)) return;
  const Hashes now = values_of(after), then = before ? values_of(*before) : Hashes();
  each_only_in(then, now, [&](uint64_t value) { remove(value, r.n); });
  each_only_in(now, then, [&](uint64_t value) { add(value, r.n); });
  all_.add(r.n);
}

void ResourceIndex::erase(ResourceIx r, const Resource& row) {
  for (uint64_t value : values_of(row)) remove(value, r.n);
  all_.remove(r.n);
}

void ResourceIndex::add(uint64_t value, uint32_t n) {
  CHECK(n < kIsSet, "too many resources");
  uint32_t* place = places_.find(value);
  if (!place) {
    places_.add(value, n);
    return;
  }
  if (!(*place & kIsSet)) {
    uint32_t number = static_cast<uint32_t>(sets_.size());
    if (free_sets_.empty()) {
      sets_.emplace_back();
    } else {
      number = free_sets_.back();
      free_sets_.pop_back();
    }
    sets_[number].add(*place);
    *place = number | kIsSet;
  }
  sets_[*place & ~kIsSet].add(n);
}

void ResourceIndex::remove(uint64_t value, uint32_t n) {
  uint32_t* place = places_.find(value);
  CHECK(place, "a value that was never indexed");
  if (!(*place & kIsSet)) {
    CHECK(*place == n, "a value of another resource");
    places_.erase(value);
    return;
  }
  const uint32_t number = *place & ~kIsSet;
  sets_[number].remove(n);
  if (sets_[number].size() > 1) return;
  *place = sets_[number].first();
  sets_[number] = {};
  free_sets_.push_back(number);
}

// ---- Asking it ---------------------------------------------------------------------------------------

void ResourceIndex::add_to(Roaring& out, uint64_t value) const {
  const uint32_t* place = places_.find(value);
  if (!place) return;
  if (*place & kIsSet)
    sets_[*place & ~kIsSet].add_to(out);
  else
    out.add(*place);
}

std::optional<Roaring> ResourceIndex::candidates(const Narrowing& narrowing, Sought sought) const {
  // What is known completely has no other error than a missing key.
  bool all_but_no = sought == Sought::kAllButNo || (sought == Sought::kYesOrError && narrowing.partial);
  return find(narrowing, all_but_no);
}

std::optional<Roaring> ResourceIndex::find(const Narrowing& narrowing, bool all_but_no) const {
  switch (narrowing.kind) {
    case Narrowing::Kind::kUnknown: return std::nullopt;
    case Narrowing::Kind::kTerm: return find_term(narrowing, all_but_no);
    case Narrowing::Kind::kAll: return find_all(narrowing, all_but_no);
    case Narrowing::Kind::kAny: return find_any(narrowing, all_but_no);
  }
  return std::nullopt;
}

Roaring ResourceIndex::find_term(const Narrowing& term, bool all_but_no) const {
  Roaring found;
  if (all_but_no && term.field == ResourceField::kMetadata) {  // a missing key is not a no
    add_to(found, hash_of(ResourceField::kMetadataKey, term.key, {}));
    found = all_ - found;
  }
  for (const std::string& text : term.any_of) add_to(found, hash_of(term.field, term.key, text));
  return found;
}

std::optional<Roaring> ResourceIndex::find_all(const Narrowing& narrowing, bool all_but_no) const {
  std::optional<Roaring> found;
  for (const Narrowing& part : narrowing.parts) {
    auto here = find(part, all_but_no);
    if (found && here)
      *found &= *here;
    else if (here)
      found = std::move(here);
    // A false after it does not make up for it: an exhausted budget is an error in any case.
    if (all_but_no && part.partial) break;
  }
  return found;
}

std::optional<Roaring> ResourceIndex::find_any(const Narrowing& narrowing, bool all_but_no) const {
  Roaring found;
  for (const Narrowing& part : narrowing.parts) {
    auto here = find(part, all_but_no);
    if (!here) return std::nullopt;
    found |= *here;
  }
  return found;
}

}  // namespace ctrlplane
