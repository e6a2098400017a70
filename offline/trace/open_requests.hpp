#pragma once
/// Requests that are open while events are read. A program may free requests, and a trace may end before they complete,
/// so some have to be forgotten: the older half, once there are too many. Requests that are still open are mostly
/// recent ones, and the user counts those that were forgotten.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace refrain::trace {

/// Maximum number of open requests in a trace with so many locations.
constexpr std::size_t most_open_requests(std::size_t locations) {
  constexpr std::size_t least = std::size_t{1} << 20, of_a_location = std::size_t{1} << 12;
  return std::max(least, of_a_location * locations);
}

/// What is known of open requests, by number. A hash table with linear probing: numbers are already well spread, as
/// those of Trace::request_of() are.
template <class T>
class RequestTable {
 public:
  using key_type = std::uint64_t;
  std::size_t size() const { return size_; }
  /// Null: the request is not open. Valid until the table changes.
  const T* find(std::uint64_t number) const {
    const std::size_t at = slot_of(number);
    return slots_[at].is_open ? &slots_[at].second : nullptr;
  }
  /// Opens the request, and returns the place for what is known of it. The caller sets all of it: a new request may
  /// have values of one that was closed. Valid until the table changes.
  T& open(std::uint64_t number) {
    if (2 * (size_ + 1) > slots_.size()) [[unlikely]]
      rebuild(2 * slots_.size(), [](const Slot&) { return true; });
    Slot& slot = slots_[slot_of(number)];
    size_ += !slot.is_open;
    slot.is_open = true;
    slot.first = number;
    return slot.second;
  }
  /// Closes the request and returns what was known of it; nothing: it was not open.
  std::optional<T> close(std::uint64_t number) {
    std::size_t at = slot_of(number);
    if (!slots_[at].is_open) return std::nullopt;
    std::optional<T> known(slots_[at].second);
    --size_;
    // An item that a free slot would hide moves into it.
    for (std::size_t next = behind(at); slots_[next].is_open; next = behind(next)) {
      const std::size_t wanted = slots_[next].first & mask();
      if (((next - wanted) & mask()) < ((next - at) & mask())) continue;
      slots_[at] = slots_[next];
      at = next;
    }
    slots_[at].is_open = false;
    return known;
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Slot& slot : slots_)
      if (slot.is_open) visit(slot);
  }
  template <class IsMeant>
  void close_if(const IsMeant& is_meant) {
    rebuild(slots_.size(), [&](const Slot& slot) { return !is_meant(slot); });
  }

 private:
  /// An item, as in a map, while it is open.
  struct Slot {
    std::uint64_t first = 0;
    T second{};
    bool is_open = false;
  };
  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t behind(std::size_t slot) const { return (slot + 1) & mask(); }
  /// The slot of the request, or the free one where it would be.
  std::size_t slot_of(std::uint64_t number) const {
    std::size_t at = number & mask();
    while (slots_[at].is_open && slots_[at].first != number) at = behind(at);
    return at;
  }
  template <class IsKept>
  void rebuild(std::size_t slots, const IsKept& is_kept) {
    const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(slots));
    size_ = 0;
    for (const Slot& slot : before)
      if (slot.is_open && is_kept(slot)) {
        slots_[slot_of(slot.first)] = slot;
        ++size_;
      }
  }
  /// The size is a power of two; at least half of the slots are free, and mostly nearly all.
  std::vector<Slot> slots_ = std::vector<Slot>(256);
  std::size_t size_ = 0;
};

template <class T, class Visit>
void for_each_item(const RequestTable<T>& map, const Visit& visit) {
  map.for_each(visit);
}
template <class Map, class Visit>
void for_each_item(const Map& map, const Visit& visit) {
  for (const auto& item : map) visit(item);
}
template <class T, class IsMeant>
void erase_items(RequestTable<T>& map, const IsMeant& is_meant) {
  map.close_if(is_meant);
}
template <class Map, class IsMeant>
void erase_items(Map& map, const IsMeant& is_meant) {
  std::erase_if(map, is_meant);
}

/// Removes half of the items of a map: those with the lowest age_of(item), an integer, and among equal ages those with
/// the lowest keys. `forget` is called with each item before.
template <class Map, class AgeOf, class Forget>
void forget_older_half(Map& map, const AgeOf& age_of, const Forget& forget) {
  const auto place_of = [&](const auto& item) {
    return std::pair(static_cast<std::int64_t>(age_of(item)), item.first);
  };
  std::vector<std::pair<std::int64_t, typename Map::key_type>> places;
  places.reserve(map.size());
  for_each_item(map, [&](const auto& item) { places.push_back(place_of(item)); });
  const auto middle = places.begin() + static_cast<std::ptrdiff_t>(places.size() / 2);
  std::nth_element(places.begin(), middle, places.end());
  erase_items(map, [&](const auto& item) {
    const bool is_old = place_of(item) < *middle;
    if (is_old) forget(item);
    return is_old;
  });
}

}  // namespace refrain::trace
