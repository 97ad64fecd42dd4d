#include "cel/value/map.h"

#include <bit>
#include <cstring>
#include <new>
#include <string>

#include "cel/value/compare.h"
#include "cel/value/text.h"

namespace ctrlplane::cel {
namespace {

// Up to here comparing stored hashes one after the other beats probing.
constexpr uint32_t kLinear = 8;
// Half-full tables of honest keys never come near this; keys chosen to collide do, and are refused
// before every lookup becomes a walk through all of them.
constexpr uint32_t kMaxProbes = 500;

bool same_key(const Value& a, const Value& b) {
  if (a.is(Kind::kString)) return b.is(Kind::kString) && a.as_text() == b.as_text();
  if (a.is_number()) return b.is_number() && compare_numbers(a, b) == 0;
  return a.kind() == b.kind() && a.as_bool() == b.as_bool();
}

template <class Same>
const MapEntry* probe(const MapData& map, uint64_t hash, Same same) {
  if (map.slots == nullptr) {
    for (uint32_t i = 0; i < map.size; ++i)
      if (map.entries[i].hash == hash && same(map.entries[i].key)) return &map.entries[i];
    return nullptr;
  }
  for (uint64_t at = hash & map.mask;; at = (at + 1) & map.mask) {
    uint32_t slot = map.slots[at];
    if (slot == 0) return nullptr;
    const MapEntry& e = map.entries[slot - 1];
    if (e.hash == hash && same(e.key)) return &e;
  }
}

}  // namespace

bool is_map_key(const Value& v) {
  return v.is(Kind::kString) || v.is(Kind::kInt) || v.is(Kind::kUint) || v.is(Kind::kBool);
}

const MapEntry* find_entry(const MapData& map, const Value& key, uint64_t hash) {
  return probe(map, hash, [&](const Value& k) { return same_key(k, key); });
}

const MapEntry* find_entry(const MapData& map, const Name& name) {
  return probe(map, name.hash,
               [&](const Value& k) { return k.is(Kind::kString) && k.as_text() == name.text; });
}

Value map_find(Arena& arena, const Value& map, const Value& key) {
  if (map.is_foreign()) {
    if (!key.is(Kind::kString)) return Value();
    return map.object().field(Name{key.as_text(), hash_text(key.as_text()), -1}, arena);
  }
  if (!is_map_key(key) && !key.is(Kind::kDouble)) return Value();
  const MapEntry* e = find_entry(map.map_data(), key, hash_key(key));
  return e == nullptr ? Value() : e->value;
}

size_t map_size(const Value& map) { return map.is_foreign() ? map.object().size() : map.map_data().size; }

MapWalk::MapWalk(Arena& arena, const Value& map) : arena_(arena), map_(map), size_(map_size(map)) {
  if (!map.is_foreign()) return;
  keys_.resize(size_);
  map.object().keys(keys_);
}

Value MapWalk::value(size_t i) const {
  if (!map_.is_foreign()) return map_.map_data().entries[i].value;
  Value v = map_find(arena_, map_, key(i));
  return v.is_absent() ? Value::null() : v;
}

MapBuilder::MapBuilder(Context& ctx, size_t capacity)
    : ctx_(ctx),
      entries_(ctx.arena.allocate_array<MapEntry>(capacity)),
      capacity_(static_cast<uint32_t>(capacity)) {
  failed_ = entries_ == nullptr;
  if (failed_ || capacity_ <= kLinear) return;
  uint32_t slots = std::bit_ceil(capacity_ * 2);
  slots_ = ctx.arena.allocate_array<uint32_t>(slots);
  failed_ = slots_ == nullptr;
  if (failed_) return;
  std::memset(slots_, 0, slots * sizeof(uint32_t));
  mask_ = slots - 1;
}

Value MapBuilder::add(const Value& key, const Value& value) {
  if (failed_ || size_ == capacity_) return ctx_.out_of_memory();
  if (!is_map_key(key)) {
    return ctx_.fault(Fault::kInvalidArgument, "unsupported key type: " + std::string(type_name(key)));
  }
  uint64_t hash = hash_key(key);
  MapData so_far{entries_, size_, mask_, slots_};
  if (find_entry(so_far, key, hash) != nullptr)
    return ctx_.fault(Fault::kInvalidArgument, "repeated key: " + literal_text(key, 80));
  new (&entries_[size_]) MapEntry{key, value, hash};
  ++size_;
  if (slots_ != nullptr) {
    uint64_t at = hash & mask_;
    uint32_t probes = 0;
    for (; slots_[at] != 0; at = (at + 1) & mask_)
      if (++probes > kMaxProbes) return ctx_.out_of_steps();
    slots_[at] = size_;
  }
  return Value();
}

Value MapBuilder::build() {
  void* p = failed_ ? nullptr : ctx_.arena.allocate(sizeof(MapData));
  if (p == nullptr) return ctx_.out_of_memory();
  return Value::map(*new (p) MapData{entries_, size_, mask_, slots_});
}

}  // namespace ctrlplane::cel
