#include "waits/durations.hpp"

#include "format/saturating.hpp"

namespace refrain::waits {

void Durations::add(const Durations& other) {
  if (other.empty()) return;
  if (empty()) {
    *this = other;
    return;
  }
  // Calls that are long compared with the shortest call of both are not short.
  Durations rest = other;
  std::int64_t& shortest = (*this)[Column::Shortest];
  shortest = rest[Column::Shortest] = std::min(shortest, other[Column::Shortest]);
  forget_short_if_long();
  rest.forget_short_if_long();
  for (std::size_t i = 0; i < column_count; ++i) {
    std::int64_t& value = values[i];
    switch (column_table[i].reduction) {
      case format::Reduction::Sum: value = format::add_saturating(value, rest.values[i]); break;
      case format::Reduction::Min: value = std::min(value, rest.values[i]); break;
      case format::Reduction::Max: value = std::max(value, rest.values[i]); break;
    }
  }
}

void DurationTable::move_to(std::byte* memory, unsigned bits) {
  const std::span<const Entry> before = view();
  word_ = reinterpret_cast<std::uintptr_t>(memory) | (64 - bits);
  for (const Entry& entry : before)
    if (entry.node != 0) *find(entry.node, entry.bin) = entry;
}

DurationTable::Entry* DurationTable::find(std::uint32_t node, CallBin bin) const {
  Entry* at = first_slot(node, bin);
  while (at->node != 0 && (at->node != node || at->bin != bin)) at = next_slot(at);
  return at;
}

bool DurationTable::add(std::uint32_t node, CallBin bin, std::int64_t ticks, std::int64_t whole) {
  if (word_ == 0) return false;
  Entry* const at = find(node, bin);
  if (at->node == 0) return false;
  at->durations.add_call(ticks, whole);
  at->short_limit = Durations::short_limit(at->durations[Column::Shortest]);
  return true;
}

void DurationTable::add_entry(std::uint32_t node, CallBin bin, std::int64_t ticks, std::int64_t whole) {
  Entry* const at = find(node, bin);
  at->bin = bin;
  at->durations.add_call(ticks, whole);
  at->short_limit = Durations::short_limit(at->durations[Column::Shortest]);
  at->node = node;
}

}  // namespace refrain::waits
