#include "adapters/mpi/requests/request_table.hpp"

#include "adapters/mpi/calls/datatypes.hpp"
#include "platform/pages.hpp"

namespace refrain::adapters::mpi {

namespace {
constexpr unsigned slots_per_bucket = 7;
constexpr std::uint32_t first_buckets = 512;
constexpr unsigned longest_probe = 8;
constexpr std::uint64_t empty = 0, claimed = 1;

std::uint64_t key_of(std::uint64_t handle) { return handle << 1; }  // the lowest bit means claimed

/// For TrackedRequest::to_slot. Both lie in one table, which is smaller than 16 GiB.
std::int32_t distance(const TrackedRequest& request, const std::atomic<std::uint64_t>& slot) {
  const auto bytes = reinterpret_cast<const std::byte*>(&slot) - reinterpret_cast<const std::byte*>(&request);
  return static_cast<std::int32_t>(bytes / static_cast<std::ptrdiff_t>(sizeof slot));
}
}  // namespace

struct alignas(64) RequestTable::Bucket {
  std::atomic<std::uint64_t> keys[slots_per_bucket];
  std::atomic<std::uint64_t> overflow;  ///< entries that belong here but are stored further on
};

struct RequestTable::Table {
  Table* older;
  std::uint32_t buckets;  ///< a power of two
  Bucket* bucket;
  TrackedRequest* requests;

  std::uint32_t home(std::uint64_t key) const { return spread(key) >> 32 & (buckets - 1); }
  std::uint32_t after(std::uint32_t i) const { return (i + 1) & (buckets - 1); }
};

constinit RequestTable request_table;

RequestTable::Table* RequestTable::grow(Table* full) {
  Locked locked(growing_);
  Table* newest = newest_.load(std::memory_order_relaxed);
  if (newest != full) return newest;  // another thread has grown it
  const std::uint32_t buckets = full ? full->buckets * 4 : first_buckets;
  const std::uint64_t bytes =
      sizeof(Bucket) + buckets * (sizeof(Bucket) + std::uint64_t{slots_per_bucket} * sizeof(TrackedRequest));
  auto* memory = static_cast<std::byte*>(platform::map_pages(bytes));
  if (!memory) return nullptr;
  static_assert(sizeof(Table) <= sizeof(Bucket));
  auto* table = reinterpret_cast<Table*>(memory);
  table->older = full;
  table->buckets = buckets;
  table->bucket = reinterpret_cast<Bucket*>(memory + sizeof(Bucket));
  table->requests = reinterpret_cast<TrackedRequest*>(table->bucket + buckets);
  newest_.store(table, std::memory_order_release);
  return table;
}

TrackedRequest* RequestTable::add(std::uint64_t handle, events::Kind kind) {
  const std::uint64_t key = key_of(handle);
  Table* table = newest_.load(std::memory_order_acquire);
  if (!table && !(table = grow(nullptr))) return nullptr;
  for (;;) {
    const std::uint32_t home = table->home(key);
    std::uint32_t at = home;
    for (unsigned probe = 0; probe < longest_probe; ++probe, at = table->after(at)) {
      Bucket& bucket = table->bucket[at];
      for (unsigned i = 0; i < slots_per_bucket; ++i) {
        std::uint64_t there = bucket.keys[i].load(std::memory_order_relaxed);
        const bool forgotten = there == key;
        if (!forgotten && there != empty) continue;
        if (!bucket.keys[i].compare_exchange_strong(there, key | claimed, std::memory_order_acquire)) continue;
        if (!forgotten)
          for (std::uint32_t full = home; full != at; full = table->after(full))
            table->bucket[full].overflow.fetch_add(1, std::memory_order_relaxed);
        TrackedRequest& request = table->requests[at * slots_per_bucket + i];
        request = {.key = key,
                   .to_slot = distance(request, bucket.keys[i]),
                   .kind = kind,
                   .peer = events::no_peer,
                   .communicator = events::unknown_communicator};
        bucket.keys[i].store(key, std::memory_order_release);
        return &request;
      }
    }
    if (!(table = grow(table))) return nullptr;
  }
}

TrackedRequest* RequestTable::look(std::uint64_t handle, bool claim) {
  const std::uint64_t key = key_of(handle);
  for (Table* table = newest_.load(std::memory_order_acquire); table; table = table->older) {
    std::uint32_t at = table->home(key);
    for (unsigned probe = 0; probe < longest_probe; ++probe, at = table->after(at)) {
      Bucket& bucket = table->bucket[at];
      for (unsigned i = 0; i < slots_per_bucket; ++i) {
        std::uint64_t there = bucket.keys[i].load(std::memory_order_acquire);
        if (there != key) continue;
        if (claim && !bucket.keys[i].compare_exchange_strong(there, key | claimed, std::memory_order_acquire)) continue;
        return &table->requests[at * slots_per_bucket + i];
      }
      if (bucket.overflow.load(std::memory_order_relaxed) == 0) break;
    }
  }
  return nullptr;
}

bool RequestTable::has_handle(const TrackedRequest& request, std::uint64_t handle) {
  return request.key == key_of(handle);
}

TrackedRequest* RequestTable::move(TrackedRequest& request, std::uint64_t handle) {
  if (has_handle(request, handle)) return &request;
  TrackedRequest* other = add(handle, request.kind);
  if (other) {
    other->slot().store(key_of(handle) | claimed, std::memory_order_relaxed);
    const std::int32_t to_slot = other->to_slot;
    *other = request;
    other->to_slot = to_slot;
    other->key = key_of(handle);
  }
  release(request);
  return other;
}

void RequestTable::release(TrackedRequest& request) {
  for (Table* table = newest_.load(std::memory_order_acquire); table; table = table->older) {
    const auto* slot = reinterpret_cast<std::byte*>(&request.slot());
    const auto* first = reinterpret_cast<std::byte*>(table->bucket);
    const auto* end = reinterpret_cast<std::byte*>(table->bucket + table->buckets);
    if (slot < first || slot >= end) continue;
    const auto own = static_cast<std::uint32_t>((slot - first) / sizeof(Bucket));
    for (std::uint32_t full = table->home(request.key); full != own; full = table->after(full))
      table->bucket[full].overflow.fetch_sub(1, std::memory_order_relaxed);
    request.slot().store(empty, std::memory_order_release);
    return;
  }
}

std::uint64_t RequestTable::count(bool (*is_such)(const TrackedRequest&)) const {
  std::uint64_t entries = 0;
  for (Table* table = newest_.load(std::memory_order_acquire); table; table = table->older)
    for (std::uint32_t at = 0; at < table->buckets; ++at)
      for (unsigned i = 0; i < slots_per_bucket; ++i)
        entries += table->bucket[at].keys[i].load(std::memory_order_relaxed) != empty &&
                   is_such(table->requests[at * slots_per_bucket + i]);
  return entries;
}

}  // namespace refrain::adapters::mpi
