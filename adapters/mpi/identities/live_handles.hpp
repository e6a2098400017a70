#pragma once
/// Maps the handles in use to their records. MPI reuses handles: one that is bound twice stands for the newer record.
///
/// Thread safety: any thread may call `find`, which does not wait for changes of other handles. One thread at a time
/// may call `bind` and `forget`, under the owner's lock. A program that uses a handle while another thread frees it is
/// erroneous already, and may get either answer.
///
/// Memory: an open-addressing table that is at most half full, of handles in use and of some that no longer are. When
/// it fills up, it is rebuilt without the latter in a second table. The two take turns, and a larger one follows if
/// that is not enough. A reader that is overtaken sees it by the version and looks again; tables stay mapped.

#include <atomic>
#include <cstdint>

#include "adapters/mpi/calls/datatypes.hpp"
#include "platform/pages.hpp"

namespace refrain::adapters::mpi {

template <class Handle>
class LiveHandles {
 public:
  static constexpr std::int32_t unknown = -1;

  /// False: no memory.
  [[nodiscard]] bool bind(Handle handle, std::int32_t record) {
    const std::uint64_t key = key_of(handle);
    if (Place* known = place_of(table_.load(std::memory_order_relaxed), key)) {
      live_ += known->record.load(std::memory_order_relaxed) == unknown;
      known->record.store(record, std::memory_order_relaxed);
      return true;
    }
    Table* table = with_room();
    if (!table) return false;
    insert(*table, key, record);
    ++live_;
    return true;
  }

  std::int32_t find(Handle handle) const {
    const std::uint64_t key = key_of(handle);
    for (;;) {
      const std::uint64_t version = version_.load(std::memory_order_acquire);
      const Place* place = place_of(table_.load(std::memory_order_acquire), key);
      const std::int32_t record = place ? place->record.load(std::memory_order_relaxed) : unknown;
      std::atomic_thread_fence(std::memory_order_acquire);
      if (version_.load(std::memory_order_relaxed) == version) return record;
    }
  }

  std::int32_t forget(Handle handle) {
    Place* known = place_of(table_.load(std::memory_order_relaxed), key_of(handle));
    if (!known) return unknown;
    const std::int32_t record = known->record.exchange(unknown, std::memory_order_relaxed);
    live_ -= record != unknown;
    return record;
  }

 private:
  static constexpr std::uint64_t empty = 0;  // the key of a handle of all ones, which no MPI has
  static constexpr std::size_t first_places = 256;

  struct Place {
    std::atomic<std::uint64_t> key;
    std::atomic<std::int32_t> record;
  };
  struct Table {
    std::size_t places;  ///< a power of two
    Place place[];
  };

  static std::uint64_t key_of(Handle handle) { return ~handle_bits(handle); }

  template <class T>
  static Place* place_of(T* table, std::uint64_t key) {
    if (!table) return nullptr;
    for (std::size_t at = spread(key) >> 32;; ++at) {
      Place& place = table->place[at & (table->places - 1)];
      const std::uint64_t there = place.key.load(std::memory_order_acquire);
      if (there == key) return &place;
      if (there == empty) return nullptr;
    }
  }

  void insert(Table& table, std::uint64_t key, std::int32_t record) {
    std::size_t at = spread(key) >> 32;
    while (table.place[at & (table.places - 1)].key.load(std::memory_order_relaxed) != empty) ++at;
    Place& place = table.place[at & (table.places - 1)];
    place.record.store(record, std::memory_order_relaxed);
    place.key.store(key, std::memory_order_release);
    ++used_;
  }

  /// The table, with room for one more entry. Null: no memory.
  Table* with_room() {
    Table* old = table_.load(std::memory_order_relaxed);
    if (old && 2 * (used_ + 1) <= old->places) return old;
    std::size_t places = old ? old->places : first_places;
    while (4 * (live_ + 1) > places) places *= 2;
    Table* made = spare_;
    if (!made || made->places != places) {
      made = static_cast<Table*>(platform::map_pages(sizeof(Table) + places * sizeof(Place)));
      if (!made) return nullptr;
      made->places = places;
    }
    // A reader of the spare table, which was current when the reader took it, sees the new version and looks again.
    version_.fetch_add(1, std::memory_order_acq_rel);
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < places; ++i) made->place[i].key.store(empty, std::memory_order_relaxed);
    used_ = 0;
    for (std::size_t i = 0; old && i < old->places; ++i) {
      const std::int32_t record = old->place[i].record.load(std::memory_order_relaxed);
      const std::uint64_t key = old->place[i].key.load(std::memory_order_relaxed);
      if (key != empty && record != unknown) insert(*made, key, record);
    }
    spare_ = old;
    table_.store(made, std::memory_order_release);
    return made;
  }

  std::atomic<Table*> table_{nullptr};
  std::atomic<std::uint64_t> version_{0};
  Table* spare_ = nullptr;
  std::size_t used_ = 0, live_ = 0;  ///< places with a key in the current table; those in use
};

}  // namespace refrain::adapters::mpi
