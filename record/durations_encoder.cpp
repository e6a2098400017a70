#include "record/durations_encoder.hpp"

#include <algorithm>
#include <compare>

namespace refrain::record {
namespace {

struct Group {
  std::uint32_t path;
  waits::CallBin bin;
  waits::Durations durations;
  bool is_same_as(const Group& other) const { return path == other.path && bin == other.bin; }
};

/// Collects the groups in ascending order of path and bin, and merges those of several nodes of one path.
bool collect(const LocationRecord& location, Paths paths, platform::GrowableArray<Group>& groups) {
  groups.clear();
  for (const waits::DurationTable::Entry& entry : location.durations) {
    if (entry.node == 0 || entry.node >= paths.size() || entry.durations.empty()) continue;
    if (!groups.push_back({paths[entry.node], entry.bin, entry.durations})) return false;
  }
  std::sort(groups.begin(), groups.end(),
            [](const Group& a, const Group& b) { return a.path != b.path ? a.path < b.path : a.bin < b.bin; });
  std::size_t count = 0;
  for (const Group& group : groups.view()) {
    if (count > 0 && groups[count - 1].is_same_as(group)) groups[count - 1].durations.add(group.durations);
    else groups[count++] = group;
  }
  return groups.resize(count);
}

}  // namespace

bool has_durations(const RankRecord& record) {
  return std::ranges::any_of(record.locations, [](const LocationRecord& location) {
    return std::ranges::any_of(location.durations, [](const auto& entry) { return entry.node != 0; });
  });
}

void encode_durations(const RankRecord& record, const Numbers& all_paths, Encoder& out) {
  out.varint(waits::column_count);
  for (const waits::ColumnRow& row : waits::column_table) {
    out.text(row.name);
    out.text(row.unit);
    out.fixed(static_cast<std::uint8_t>(row.reduction));
  }
  out.varint(record.locations.size());
  platform::GrowableArray<Group> groups;
  for_each_location(record, all_paths, [&](const LocationRecord& location, Paths paths) {
    if (!collect(location, paths, groups)) return out.fail();
    out.varint(groups.size());
    std::uint32_t last_path = 0;
    for (const Group& group : groups.view()) {
      out.varint(group.path - last_path);
      out.varint(group.bin.code());
      for (const std::int64_t value : group.durations.values) out.signed_varint(value);
      last_path = group.path;
    }
  });
}

}  // namespace refrain::record
