// Maps made by expressions: entries in the order they were written, and beyond a handful of them an
// index by hash. Keys are bool, int, uint or string; numerically equal keys are one key.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cel/value/context.h"
#include "cel/value/value.h"

namespace ctrlplane::cel {

struct MapEntry {
  Value key;
  Value value;
  uint64_t hash = 0;
};

struct MapData {
  const MapEntry* entries = nullptr;
  uint32_t size = 0;
  uint32_t mask = 0;                // slots - 1 when there is an index
  const uint32_t* slots = nullptr;  // entry number + 1; 0 is free
};

bool is_map_key(const Value& v);

const MapEntry* find_entry(const MapData& map, const Value& key, uint64_t hash);
const MapEntry* find_entry(const MapData& map, const Name& name);

// Maps whoever they belong to. An absent Value when there is no such key.
Value map_find(Arena& arena, const Value& map, const Value& key);
inline Value map_find(Arena& arena, const Value& map, const Name& name) {
  if (map.is_foreign()) return map.object().field(name, arena);
  const MapEntry* e = find_entry(map.map_data(), name);
  return e == nullptr ? Value() : e->value;
}
size_t map_size(const Value& map);

// Walks over a map: keys and values by number. The keys of a foreign map are asked for once.
class MapWalk {
 public:
  MapWalk(Arena& arena, const Value& map);
  size_t size() const { return size_; }
  Value key(size_t i) const {
    return map_.is_foreign() ? Value::string(keys_[i]) : map_.map_data().entries[i].key;
  }
  Value value(size_t i) const;

 private:
  Arena& arena_;
  Value map_;
  size_t size_;
  std::vector<std::string_view> keys_;
};

// Room for at most `capacity` entries is taken at once. add() answers an absent Value when the entry
// went in, else the error: a key of a wrong kind, a repeated key, or no memory.
class MapBuilder {
 public:
  MapBuilder(Context& ctx, size_t capacity);
  Value add(const Value& key, const Value& value);
  Value build();

 private:
  Context& ctx_;
  MapEntry* entries_;
  uint32_t* slots_ = nullptr;
  uint32_t size_ = 0;
  uint32_t capacity_;
  uint32_t mask_ = 0;
  bool failed_ = false;
};

}  // namespace ctrlplane::cel
