#include "measurement/call_durations.hpp"

#include <cerrno>
#include <utility>

#include "measurement/lifecycle.hpp"
#include "platform/hot.hpp"
#include "platform/pages.hpp"

namespace refrain::measurement {

REFRAIN_HOT_DATA std::atomic<bool> durations_are_noted{false};

namespace {

using waits::DurationTable;

constexpr unsigned first_bits = 6;
std::atomic<std::size_t> memory_taken{0};

bool is_waited_in(RegionId region) {
  const auto number = static_cast<std::size_t>(region);
  return number < mpi_regions_waited_in.size() && mpi_regions_waited_in[number];
}

bool take_memory(std::size_t bytes) {
  if (memory_taken.fetch_add(bytes, std::memory_order_relaxed) + bytes <= max_durations_memory) return true;
  memory_taken.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}
std::size_t bytes_of(unsigned bits) { return bits == 0 ? 0 : DurationTable::bytes(bits); }
void unmap(std::byte* memory, unsigned bits) {
  if (bits > 0) platform::unmap_pages(memory, bytes_of(bits));
}

/// Doubles the size of the table. False: no memory.
bool grow(DurationTable& table) {
  std::byte* const before = table.memory();
  const unsigned bits_before = table.bits();
  const unsigned bits = bits_before == 0 ? first_bits : bits_before + 1;
  const std::size_t more = bytes_of(bits) - bytes_of(bits_before);
  if (!take_memory(more)) return false;
  auto* const memory = static_cast<std::byte*>(platform::map_pages(bytes_of(bits)));
  if (!memory) {
    memory_taken.fetch_sub(more, std::memory_order_relaxed);
    return false;
  }
  table.move_to(memory, bits);
  unmap(before, bits_before);
  return true;
}

}  // namespace

void start_durations() { durations_are_noted.store(true, std::memory_order_relaxed); }

void free_durations(Location& l) {
  unmap(l.durations.memory(), l.durations.bits());
  memory_taken.fetch_sub(bytes_of(l.durations.bits()), std::memory_order_relaxed);
  l.durations = {};
  l.duration_entries = 0;
  l.durations_are_full = false;
}

void forget_durations() { memory_taken.store(0, std::memory_order_relaxed); }

std::optional<DurationTable::Entry> duration_of_open_call(const Location& l, platform::Ticks end) {
  const OpenCall& call = l.call;
  const platform::Ticks whole = end - call.begin;
  if (!durations_are_noted.load(std::memory_order_relaxed) || call.node == unrecorded_call ||
      !is_waited_in(call.region) || l.resumed_at > call.begin || whole <= 0)
    return {};
  // What the call would have moved is not known. The best guess is the most frequent bin of this call path, or else of
  // the function.
  const auto node = static_cast<std::uint32_t>(call.node);
  DurationTable::Entry entry{node, waits::CallBin(waits::Transfer{.what = waits::Transfer::receives}), {}};
  std::int64_t max_here = 0, max_calls = 0;
  for (const DurationTable::Entry& other : l.durations.view()) {
    if (other.node == 0 || l.tree.node(NodeId{other.node}).key != l.tree.node(call.node).key) continue;
    const std::int64_t calls = other.durations[waits::Column::Calls], here = other.node == node ? calls : 0;
    if (std::pair(here, calls) <= std::pair(max_here, max_calls)) continue;
    entry.bin = other.bin;
    max_here = here;
    max_calls = calls;
  }
  entry.durations.add_call(whole, whole);
  return entry;
}

void note_rare_duration(Location& l, platform::Ticks end, waits::CallBin bin) {
  if (l.call.node == unrecorded_call || !is_waited_in(l.call.region)) return;
  // The duration of a stop during the call is not known any more. Neither is the cost of ticks before a cut, but that
  // is small.
  if (l.stopped || l.resumed_at > l.call.begin) return;
  const platform::Ticks whole = end - l.call.begin;
  if (whole <= 0) return;  // the clock was set back
  const platform::Ticks duration = std::max(whole - l.call.taken_out, platform::Ticks{0});
  const auto node = static_cast<std::uint32_t>(l.call.node);
  if (l.durations.add(node, bin, duration, whole)) return;
  if (l.durations_are_full) return l.count_loss(Loss::DurationsLost);
  const int saved_errno = errno;
  l.durations_are_full = l.duration_entries >= l.durations.max_entries() && !grow(l.durations);
  errno = saved_errno;
  if (l.durations_are_full) return l.count_loss(Loss::DurationsLost);
  ++l.duration_entries;
  l.durations.add_entry(node, bin, duration, whole);
}

}  // namespace refrain::measurement
