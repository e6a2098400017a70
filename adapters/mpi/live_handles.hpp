#pragma once
/// Which record the handles in use stand for. Handles come again: one that is bound twice stands for the newer record.
///
/// Memory: one entry per handle in use, and at most as many of handles that no longer are. Thread safety: none, the
/// owner locks.

#include <cstdint>

#include "adapters/mpi/datatypes.hpp"
#include "adapters/mpi/hash_index.hpp"
#include "platform/pages.hpp"

namespace refrain::adapters::mpi {

template <class Handle>
class LiveHandles {
 public:
  static constexpr std::int32_t unknown = -1;

  /// False: there is no memory.
  [[nodiscard]] bool bind(Handle handle, std::int32_t record) {
    if (Entry* known = entry_of(handle)) {
      live_ += known->record == unknown;
      known->record = record;
      return true;
    }
    if (entries_.size() > 64 && entries_.size() > 2 * live_) drop_dead();
    if (!index_.reserve_one() || !entries_.push_back({handle, record})) return false;
    index_.insert(hash_of(handle), static_cast<std::uint32_t>(entries_.size() - 1));
    ++live_;
    return true;
  }
  std::int32_t find(Handle handle) {
    const Entry* known = entry_of(handle);
    return known ? known->record : unknown;
  }
  std::int32_t forget(Handle handle) {
    Entry* known = entry_of(handle);
    if (!known || known->record == unknown) return unknown;
    --live_;
    const std::int32_t record = known->record;
    known->record = unknown;
    return record;
  }

 private:
  struct Entry {
    Handle handle;
    std::int32_t record;
  };

  static std::uint64_t hash_of(Handle handle) { return spread(handle_bits(handle)) >> 32; }

  Entry* entry_of(Handle handle) {
    const std::uint32_t at =
        index_.find(hash_of(handle), [&](std::uint32_t item) { return entries_[item].handle == handle; });
    return at == HashIndex::none ? nullptr : &entries_[at];
  }

  void drop_dead() {
    std::size_t kept = 0;
    index_.clear();
    for (const Entry entry : entries_) {
      if (entry.record == unknown) continue;
      index_.insert(hash_of(entry.handle), static_cast<std::uint32_t>(kept));
      entries_[kept++] = entry;
    }
    (void)entries_.resize(kept);
  }

  platform::GrowableArray<Entry> entries_;
  HashIndex index_;
  std::size_t live_ = 0;
};

}  // namespace refrain::adapters::mpi
