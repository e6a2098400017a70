#pragma once
/// Assigns records to objects of a kind that a program may make forever.
///
/// All ranks that have objects of one family make them in the same order. The first `most` objects of a family have a
/// record each. After that each takes over a record from the second half of these, in turn, since long-lived objects
/// are made early. The assignment depends only on the order, so all these ranks agree on it.
///
/// Thread safety: none; the owner locks.

#include <cstdint>

#include "platform/hash_index.hpp"
#include "platform/pages.hpp"

namespace refrain::adapters::mpi {

/// `Key` holds what the objects of a family have in common.
template <class Key>
class Families {
 public:
  static constexpr std::int32_t none = -1;

  struct Family {
    Key key;
    std::int32_t last = none;               ///< the last record of the family
    std::int32_t ring = none, turn = none;  ///< the first record that may be taken over, and the next one to be
    std::int64_t made = 0;
  };

  /// Null: the family is not there, and there is no memory for it or `may_grow` is false.
  Family* find_or_make(std::uint64_t hash, const Key& key, bool may_grow = true) {
    const std::uint32_t known = index_.find(hash, [&](std::uint32_t i) { return families_[i].key == key; });
    if (known != platform::HashIndex::none) return &families_[known];
    if (!may_grow || !index_.reserve(1) || !families_.push_back({key})) return nullptr;
    index_.insert(hash, static_cast<std::uint32_t>(families_.size() - 1));
    return &families_.back();
  }

  /// The record that the next object takes over; `none`: it needs a record of its own.
  std::int32_t take_over(Family& family, std::int64_t most) {
    if (family.made < most) return none;
    ++family.made;
    if (family.turn == none) return family.last;
    const std::int32_t taken = family.turn;
    family.turn = next_[taken] == none ? family.ring : next_[taken];
    return taken;
  }

  [[nodiscard]] bool reserve_record() { return next_.reserve(next_.size() + 1); }
  /// Gives the next object a record of its own: the next number among those of all families. Call reserve_record()
  /// first.
  void add_record(Family& family, std::int64_t most) {
    const auto record = static_cast<std::int32_t>(next_.size());
    (void)next_.push_back(none);
    if (family.made++ == most / 2) family.ring = family.turn = record;
    if (family.last != none) next_[family.last] = record;
    family.last = record;
  }

 private:
  platform::GrowableArray<Family> families_;
  platform::HashIndex index_;
  platform::GrowableArray<std::int32_t> next_;  ///< by record: the next record of its family
};

}  // namespace refrain::adapters::mpi
