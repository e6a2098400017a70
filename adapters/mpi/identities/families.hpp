#pragma once
/// Which record an object gets, where a program may make objects of a kind for ever.
///
/// Objects of one family are made in one order by all ranks that have them. The first `most` of a family have a record
/// each; after that each takes over one from the second half of these, in turn: objects that live long are made early.
/// That depends on nothing but the order, so that all these ranks agree on the record.
///
/// Thread safety: none, the owner locks.

#include <cstdint>

#include "platform/hash_index.hpp"
#include "platform/pages.hpp"

namespace refrain::adapters::mpi {

/// `Key` says what objects of a family have in common.
template <class Key>
class Families {
 public:
  static constexpr std::int32_t none = -1;

  struct Family {
    Key key;
    std::int32_t last = none;               ///< record of the family
    std::int32_t ring = none, turn = none;  ///< the first record that is taken over, and the one whose turn it is
    std::int64_t made = 0;
  };

  /// Null: it is not there, and there is no memory for it or no `may_grow`.
  Family* find_or_make(std::uint64_t hash, const Key& key, bool may_grow = true) {
    const std::uint32_t known = index_.find(hash, [&](std::uint32_t i) { return families_[i].key == key; });
    if (known != platform::HashIndex::none) return &families_[known];
    if (!may_grow || !index_.reserve(1) || !families_.push_back({key})) return nullptr;
    index_.insert(hash, static_cast<std::uint32_t>(families_.size() - 1));
    return &families_.back();
  }

  /// The record that the next object takes over; `none`: it is to get one of its own.
  std::int32_t take_over(Family& family, std::int64_t most) {
    if (family.made < most) return none;
    ++family.made;
    if (family.turn == none) return family.last;
    const std::int32_t taken = family.turn;
    family.turn = next_[taken] == none ? family.ring : next_[taken];
    return taken;
  }

  [[nodiscard]] bool reserve_record() { return next_.reserve(next_.size() + 1); }
  /// The next object gets a record of its own: the next number among those of all families. After reserve_record().
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
  platform::GrowableArray<std::int32_t> next_;  ///< by record: the next one of its family
};

}  // namespace refrain::adapters::mpi
