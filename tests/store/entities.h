// Random entities of every type, and a printable form to compare them by. Filled through the column
// descriptions, so a new member or entity is covered without a line here.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "model/change.h"
#include "store/store.h"

namespace ctrlplane::store::test {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() { return mix64(state_++); }
  uint64_t below(uint64_t n) { return next() % n; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  Uuid uuid() {
    const uint64_t high = next();
    return Uuid::from_halves(high, next());
  }
  template <class T>
  T id() {
    return T{uuid()};
  }

 private:
  uint64_t state_;
};

// Every member set to something, often to something nasty: absent, empty, extreme, huge, unicode.
Entity random_entity(Random& random, size_t table);

// Table and cells as text; long cells by length and digest. Equal text = equal rows.
std::string text_of(const Entity& entity);
std::set<std::string> texts_of(const std::vector<Entity>& entities);

}  // namespace ctrlplane::store::test
