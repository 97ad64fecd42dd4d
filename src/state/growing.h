// Containers for what a workspace has very many of. They grow piece by piece: a vector or a hash table
// that doubles moves all it holds in one step, and with 100,000 entries that step alone takes longer
// than a turn of the loop may.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

namespace ctrlplane {

// Like a vector that only grows; references hold until the next emplace_back.
template <class T>
class GrowingArray {
 public:
  T& operator[](size_t i) { return pieces_[i / kPiece][i % kPiece]; }
  const T& operator[](size_t i) const { return pieces_[i / kPiece][i % kPiece]; }
  size_t size() const { return pieces_.empty() ? 0 : (pieces_.size() - 1) * kPiece + pieces_.back().size(); }

  T& emplace_back() {
    if (pieces_.empty() || pieces_.back().size() == kPiece) {
      pieces_.emplace_back();
      // The first piece grows as a vector does, so that a small workspace stays small.
      if (pieces_.size() > 1) pieces_.back().reserve(kPiece);
    }
    return pieces_.back().emplace_back();
  }

 private:
  static constexpr size_t kPiece = 256;
  std::vector<std::vector<T>> pieces_;
};

// From a key to a small value. `Hash` must spread over all bits.
template <class Key, class Value, class Hash>
class GrowingMap {
 public:
  // Null if there is none.
  const Value* find(const Key& key) const {
    const auto& shard = shards_[at(key)];
    auto it = shard.find(key);
    return it == shard.end() ? nullptr : &it->second;
  }
  Value* find(const Key& key) { return const_cast<Value*>(std::as_const(*this).find(key)); }
  // False if the key is there already: then nothing changes.
  bool add(const Key& key, Value value) {
    bool added = shards_[at(key)].emplace(key, value).second;
    size_ += added;
    return added;
  }
  bool erase(const Key& key) {
    bool erased = shards_[at(key)].erase(key) > 0;
    size_ -= erased;
    return erased;
  }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kShards = 64;
  // Middle bits: the tables inside place by the high ones and tell apart by the low ones.
  static size_t at(const Key& key) { return (Hash{}(key) >> 16) % kShards; }

  std::array<boost::unordered_flat_map<Key, Value, Hash>, kShards> shards_;
  size_t size_ = 0;
};

}  // namespace ctrlplane
