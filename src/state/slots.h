// Entities of one kind in dense slots: everything inside a workspace refers to them by a 32-bit
// number, and only the edges know the 128-bit id. A freed slot is used again.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/uuid.h"
#include "state/growing.h"

namespace ctrlplane {

template <class Tag>
struct Ix {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  uint32_t n = kNone;
  explicit operator bool() const { return n != kNone; }
  auto operator<=>(const Ix&) const = default;
};

struct UuidHash {
  using is_avalanching = void;
  size_t operator()(const Uuid& u) const noexcept { return std::hash<Uuid>{}(u); }
  template <class Tag>
  size_t operator()(const Id<Tag>& id) const noexcept {
    return std::hash<Uuid>{}(id.uuid);
  }
};

template <class Slot, class IdType, class IxType>
class Slots {
 public:
  IxType find(const IdType& id) const {
    const uint32_t* n = by_id_.find(id);
    return n ? IxType{*n} : IxType{};
  }
  // The id must be new.
  IxType add(const IdType& id) {
    uint32_t n;
    if (free_.empty()) {
      n = static_cast<uint32_t>(slots_.size());
      slots_.emplace_back();
      used_.push_back(true);
    } else {
      n = free_.back();
      free_.pop_back();
      slots_[n] = Slot{};
      used_[n] = true;
    }
    CHECK(by_id_.add(id, n), "id added twice");
    return {n};
  }
  void remove(const IdType& id) {
    IxType ix = find(id);
    CHECK(ix, "removing what is not there");
    by_id_.erase(id);
    release(ix);
  }
  // Forgets the id at once but keeps the slot until release(): for entities that are torn down in slices.
  void forget(const IdType& id) { by_id_.erase(id); }
  void release(IxType ix) {
    slots_[ix.n] = Slot{};
    used_[ix.n] = false;
    free_.push_back(ix.n);
  }

  Slot& operator[](IxType ix) { return slots_[ix.n]; }
  const Slot& operator[](IxType ix) const { return slots_[ix.n]; }
  bool used(IxType ix) const { return ix.n < used_.size() && used_[ix.n]; }
  uint32_t bound() const { return static_cast<uint32_t>(slots_.size()); }
  size_t size() const { return by_id_.size(); }

  // fn(IxType, Slot&) for every slot in use, in slot order.
  template <class Fn>
  void each(Fn&& fn) const {
    for (uint32_t n = 0; n < slots_.size(); ++n)
      if (used_[n]) fn(IxType{n}, slots_[n]);
  }

 private:
  GrowingArray<Slot> slots_;
  std::vector<bool> used_;
  std::vector<uint32_t> free_;
  GrowingMap<IdType, uint32_t, UuidHash> by_id_;
};

using SystemIx = Ix<SystemTag>;
using EnvironmentIx = Ix<EnvironmentTag>;
using DeploymentIx = Ix<DeploymentTag>;
using VersionIx = Ix<VersionTag>;
using ResourceIx = Ix<ResourceTag>;
using AgentIx = Ix<AgentTag>;
using JobIx = Ix<JobTag>;
using PolicyIx = Ix<PolicyTag>;
using FreezeIx = Ix<FreezeTag>;
using GroupIx = Ix<GroupTag>;
using TargetIx = Ix<struct TargetTag>;

}  // namespace ctrlplane
