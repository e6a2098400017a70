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
    if (places_.empty()) return none;
    for (std::size_t at = hash & (places_.size() - 1); places_[at].item_plus_1; at = (at + 1) & (places_.size() - 1))
      if (places_[at].hash == static_cast<std::uint32_t>(hash) && same(places_[at].item_plus_1 - 1))
        return places_[at].item_plus_1 - 1;
    return none;
  }
  /// Makes room for `more` items, at a load of at most a half. False: no memory.
  [[nodiscard]] bool reserve(std::size_t more) {
    if (places_.size() >= 2 * (count_ + more)) return true;
    std::size_t places = places_.empty() ? first_places : places_.size();
    while (places < 2 * (count_ + more)) places *= 2;
    HashIndex larger;
    if (!larger.places_.resize(places)) return false;
    for (const Place& place : places_)
      if (place.item_plus_1) larger.insert(place.hash, place.item_plus_1 - 1);
    places_.swap(larger.places_);
    return true;
  }
  /// Needs room: call reserve() first.
  void insert(std::uint64_t hash, std::uint32_t item) {
    std::size_t at = hash & (places_.size() - 1);
    while (places_[at].item_plus_1) at = (at + 1) & (places_.size() - 1);
    places_[at] = {item + 1, static_cast<std::uint32_t>(hash)};
    ++count_;
  }
  void release() {
    places_.release();
    count_ = 0;
  }

  std::size_t bytes() const { return places_.size() * sizeof(Place); }

 private:
  static constexpr std::size_t first_places = 512;
  struct Place {
    std::uint32_t item_plus_1, hash;
  };
  GrowableArray<Place> places_;  ///< size is a power of two; a place of zero bytes is empty
  std::size_t count_ = 0;
};

}  // namespace refrain::platform
