#pragma once
/// An open-addressing index from hashes to the numbers of items that live elsewhere. On mapped pages; runtime half.

#include <cstdint>

#include "platform/pages.hpp"

namespace refrain::record {

class HashIndex {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;

  /// The item with this hash for which `equal(item)` holds, or `none`.
  template <class Equal>
  std::uint32_t find(std::uint64_t hash, Equal equal) const {
    if (slots_.empty()) return none;
    const auto tag = static_cast<std::uint32_t>(hash);
    for (std::size_t at = tag & mask();; at = (at + 1) & mask()) {
      const Slot& slot = slots_[at];
      if (slot.item_plus_1 == 0) return none;
      if (slot.tag == tag && equal(slot.item_plus_1 - 1)) return slot.item_plus_1 - 1;
    }
  }

  /// Adds an item that is not there yet. False: no memory.
  [[nodiscard]] bool insert(std::uint64_t hash, std::uint32_t item) {
    if (2 * (used_ + 1) > slots_.size() && !grow()) return false;
    place({static_cast<std::uint32_t>(hash), item + 1});
    ++used_;
    return true;
  }

 private:
  struct Slot {
    std::uint32_t tag;
    std::uint32_t item_plus_1;  ///< 0: the slot is free
  };
  std::size_t mask() const { return slots_.size() - 1; }
  void place(Slot slot) {
    std::size_t at = slot.tag & mask();
    while (slots_[at].item_plus_1 != 0) at = (at + 1) & mask();
    slots_[at] = slot;
  }
  bool grow() {
    platform::GrowableArray<Slot> old;
    old.swap(slots_);
    if (!slots_.resize(old.empty() ? 512 : old.size() * 2)) {
      slots_.swap(old);
      return false;
    }
    for (const Slot& slot : old)
      if (slot.item_plus_1 != 0) place(slot);
    return true;
  }

  platform::GrowableArray<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace refrain::record
