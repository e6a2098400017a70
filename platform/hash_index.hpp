#pragma once
/// Finds the items of an array by hash. The array belongs to the user, who passes numbers of items and compares the
/// items. Items are never removed.
///
/// Memory: at most 32 bytes per item. Thread safety: none, the owner locks.

#include <cstddef>
#include <cstdint>

#include "platform/pages.hpp"

namespace refrain::platform {

class HashIndex {
 public:
  static constexpr std::uint32_t none = 0xffff'ffff;

  /// The number of the item for which `same(item)` is true; `none`: there is none.
  template <class Same>
  std::uint32_t find(std::uint64_t hash, Same&& same) const {
    if (slots_.empty()) return none;
    for (std::size_t at = hash & (slots_.size() - 1); slots_[at].item_plus_1; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].hash == static_cast<std::uint32_t>(hash) && same(slots_[at].item_plus_1 - 1))
        return slots_[at].item_plus_1 - 1;
    return none;
  }
  /// Makes room for `more` items, at a load of at most a half. False: no memory.
  [[nodiscard]] bool reserve(std::size_t more) {
    if (slots_.size() >= 2 * (count_ + more)) return true;
    std::size_t slots = slots_.empty() ? first_slots : slots_.size();
    while (slots < 2 * (count_ + more)) slots *= 2;
    HashIndex larger;
    if (!larger.slots_.resize(slots)) return false;
    for (const Slot& slot : slots_)
      if (slot.item_plus_1) larger.insert(slot.hash, slot.item_plus_1 - 1);
    slots_.swap(larger.slots_);
    return true;
  }
  /// Needs room: call reserve() first.
  void insert(std::uint64_t hash, std::uint32_t item) {
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].item_plus_1) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {item + 1, static_cast<std::uint32_t>(hash)};
    ++count_;
  }
  void release() {
    slots_.release();
    count_ = 0;
  }

  std::size_t bytes() const { return slots_.size() * sizeof(Slot); }

 private:
  static constexpr std::size_t first_slots = 512;
  struct Slot {
    std::uint32_t item_plus_1, hash;
  };
  GrowableArray<Slot> slots_;  ///< size is a power of two; a slot of zero bytes is empty
  std::size_t count_ = 0;
};

}  // namespace refrain::platform
