#include "runtime/event_levels.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "archive/tree_exchange.hpp"
#include "format/checksum.hpp"
#include "measurement/event_log.hpp"
#include "measurement/locations.hpp"
#include "measurement/regions.hpp"

namespace refrain::runtime {
namespace {

using measurement::Location;

/// Ranks have numbers of their own for their loops: the level of a loop is found by its name. Two loops whose names
/// meet in one place have the level of the higher one, which costs iterations and is not wrong.
using Levels = std::array<std::uint8_t, 256>;

std::uint8_t& level_of(Levels& levels, std::uint16_t region) {
  const auto names = measurement::user_region_names();
  const std::size_t i = region - std::size_t{measurement::first_user_region};
  if (region == 0 || i >= names.size()) return levels[0];  // outside of iterations
  return levels[1 + format::checksum(names[i], std::strlen(names[i])) % (levels.size() - 1)];
}

template <class Do>
void for_each_store(Do action) {
  for (Location* l = measurement::first_location(); l; l = l->next)
    if (l->events) action(*l->events);
}

bool exchange(const measurement::Peers& peers, Levels& levels, std::int64_t deadline) {
  if (peers.size <= 1) return true;
  const archive::TreePlace place = archive::place_in_tree(peers.rank, peers.size);
  const bool heard = archive::receive_from_children(peers, place, deadline, [&](int, const platform::Bytes& message) {
    if (message.size() != levels.size()) return false;
    for (std::size_t i = 0; i < levels.size(); ++i)
      levels[i] = std::max(levels[i], static_cast<std::uint8_t>(message.data()[i]));
    return true;
  });
  platform::Bytes message;
  const auto bytes = std::as_bytes(std::span(levels));
  if (!message.append(bytes.data(), bytes.size())) return false;
  if (place.parent >= 0 && !peers.send(peers.state, place.parent, message, deadline)) return false;
  if (!heard) return false;
  message.clear();
  if (place.parent < 0 && !message.append(bytes.data(), bytes.size())) return false;
  if (!archive::broadcast(peers, message, deadline) || message.size() != levels.size()) return false;
  std::memcpy(levels.data(), message.data(), levels.size());
  return true;
}

}  // namespace

std::span<const archive::EventLevel> own_event_levels() {
  static std::array<archive::EventLevel, events::SpanStore::most_loops> levels;
  std::size_t count = 0;
  for_each_store([&](const measurement::EventLog& log) {
    for (const events::SpanStore::Loop& loop : log.spans.loops()) {
      std::size_t i = 0;
      while (i < count && levels[i].region != loop.region) ++i;
      if (i == levels.size()) continue;
      if (i == count) levels[count++] = {loop.region, 0};
      levels[i].level = std::max(levels[i].level, loop.level);
    }
  });
  return std::span(levels).first(count);
}

bool agree_on_event_levels(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns) {
  Levels levels{};
  const auto own = own_event_levels();
  for (const archive::EventLevel& of : own) {
    std::uint8_t& level = level_of(levels, of.region);
    level = std::max(level, of.level);
  }
  if (!exchange(peers, levels, deadline_monotonic_ns)) return false;
  for_each_store([&](measurement::EventLog& log) {
    for (const archive::EventLevel& of : own) log.spans.raise(log.records, of.region, level_of(levels, of.region));
  });
  return true;
}

bool help_to_agree_on_event_levels(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns) {
  Levels levels{};
  return exchange(peers, levels, deadline_monotonic_ns);
}

}  // namespace refrain::runtime
