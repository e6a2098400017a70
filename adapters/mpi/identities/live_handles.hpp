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
    if (Slot* known = find_slot(table_.load(std::memory_order_relaxed), key)) {
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
      const Slot* slot = find_slot(table_.load(std::memory_order_acquire), key);
      const std::int32_t record = slot ? slot->record.load(std::memory_order_relaxed) : unknown;
      std::atomic_thread_fence(std::memory_order_acquire);
      if (version_.load(std::memory_order_relaxed) == version) return record;
    }
  }

  std::int32_t forget(Handle handle) {
    Slot* known = find_slot(table_.load(std::memory_order_relaxed), key_of(handle));
    if (!known) return unknown;
    const std::int32_t record = known->record.exchange(unknown, std::memory_order_relaxed);
    live_ -= record != unknown;
    return record;
  }

 private:
  static constexpr std::uint64_t empty = 0;  // the key of a handle of all ones, which no MPI has
  static constexpr std::size_t first_slot_count = 256;

  struct Slot {
    std::atomic<std::uint64_t> key;
    std::atomic<std::int32_t> record;
  };
  struct Table {
    std::size_t slot_count;  ///< a power of two
    Slot slots[];
  };

  static std::uint64_t key_of(Handle handle) { return ~handle_bits(handle); }

  template <class T>
  static Slot* find_slot(T* table, std::uint64_t key) {
    if (!table) return nullptr;
    for (std::size_t at = spread(key) >> 32;; ++at) {
      Slot& slot = table->slots[at & (table->slot_count - 1)];
      const std::uint64_t there = slot.key.load(std::memory_order_acquire);
      if (there == key) return &slot;
      if (there == empty) return nullptr;
    }
  }

  void insert(Table& table, std::uint64_t key, std::int32_t record) {
    std::size_t at = spread(key) >> 32;
    while (table.slots[at & (table.slot_count - 1)].key.load(std::memory_order_relaxed) != empty) ++at;
    Slot& slot = table.slots[at & (table.slot_count - 1)];
    slot.record.store(record, std::memory_order_relaxed);
    slot.key.store(key, std::memory_order_release);
    ++used_;
  }

  /// The table, with room for one more entry. Null: no memory.
  Table* with_room() {
    Table* old = table_.load(std::memory_order_relaxed);
    if (old && 2 * (used_ + 1) <= old->slot_count) return old;
    std::size_t slot_count = old ? old->slot_count : first_slot_count;
    while (4 * (live_ + 1) > slot_count) slot_count *= 2;
    Table* made = spare_;
    if (!made || made->slot_count != slot_count) {
      made = static_cast<Table*>(platform::map_pages(sizeof(Table) + slot_count * sizeof(Slot)));
      if (!made) return nullptr;
      made->slot_count = slot_count;
    }
    // A reader of the spare table, which was current when the reader took it, sees the new version and looks again.
    version_.fetch_add(1, std::memory_order_acq_rel);
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < slot_count; ++i) made->slots[i].key.store(empty, std::memory_order_relaxed);
    used_ = 0;
    for (std::size_t i = 0; old && i < old->slot_count; ++i) {
      const std::int32_t record = old->slots[i].record.load(std::memory_order_relaxed);
      const std::uint64_t key = old->slots[i].key.load(std::memory_order_relaxed);
      if (key != empty && record != unknown) insert(*made, key, record);
    }
    spare_ = old;
    table_.store(made, std::memory_order_release);
    return made;
  }

  std::atomic<Table*> table_{nullptr};
  std::atomic<std::uint64_t> version_{0};
  Table* spare_ = nullptr;
  std::size_t used_ = 0, live_ = 0;  ///< slots with a key in the current table; those in use
};

}  // namespace refrain::adapters::mpi
