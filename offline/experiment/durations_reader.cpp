#include "offline/experiment/durations_reader.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

namespace refrain::experiment {
namespace {

using waits::Column;

/// Returns our column for each column of the file. Columns of a newer Refrain have none and are skipped.
std::vector<std::optional<std::size_t>> read_columns(SectionReader& in) {
  std::vector<std::optional<std::size_t>> columns(in.count(3));
  for (auto& column : columns) {
    const std::string_view name = in.text();
    (void)in.text();
    const auto reduction = in.fixed<std::uint8_t>();
    for (std::size_t i = 0; i < waits::column_count; ++i)
      if (name == waits::column_table[i].name &&
          reduction == static_cast<std::uint8_t>(waits::column_table[i].reduction))
        column = i;
  }
  in.check();
  for (std::size_t i = 0; i < waits::column_count; ++i)
    if (std::ranges::count(columns, std::optional(i)) != 1) in.refuse("durations without what they are told by");
  return columns;
}

bool is_possible(const waits::Durations& of) {
  return of[Column::Calls] > 0 && of[Column::Time] >= 0 && of[Column::Shortest] >= 0 &&
         of[Column::Shortest] <= of[Column::Longest] && of[Column::ShortCalls] >= 0 &&
         of[Column::ShortCalls] <= of[Column::Calls] && of[Column::ShortTime] >= 0;
}

}  // namespace

void read_durations(SectionReader& in, Rank& rank) {
  const auto columns = read_columns(in);
  const std::uint64_t locations = in.varint();
  in.check();
  if (locations != rank.locations.size()) in.refuse("durations of other locations than the rank has");
  std::vector<std::vector<CallDurations>> read(rank.locations.size());
  for (auto& groups : read) {
    std::uint64_t own_path = 0;
    const std::size_t count = in.count(2 + columns.size());
    in.check();
    groups.reserve(count);
    for (std::size_t row = 0; row < count; ++row) {
      const std::uint64_t step = in.varint();
      in.check();
      if (step >= rank.paths.size() - std::min<std::uint64_t>(own_path, rank.paths.size()))
        in.refuse("durations of a call path that is not there");
      own_path += step;
      CallDurations& of = groups.emplace_back();
      of.path = rank.paths[own_path];
      const std::uint64_t code = in.varint();
      if (code > std::numeric_limits<std::uint16_t>::max()) in.refuse("an impossible class of calls");
      of.bin = waits::CallBin::from(static_cast<std::uint16_t>(code));
      for (const auto& column : columns) {
        const std::int64_t value = in.signed_varint();
        if (column) of.durations.values[*column] = value;
      }
      in.check();
      if (!is_possible(of.durations)) in.refuse("impossible durations of calls");
    }
    std::ranges::sort(groups, [](const CallDurations& a, const CallDurations& b) {
      return a.path != b.path ? a.path < b.path : a.bin < b.bin;
    });
  }
  in.finish();
  for (std::size_t l = 0; l < read.size(); ++l) rank.locations[l].durations = std::move(read[l]);
}

}  // namespace refrain::experiment
