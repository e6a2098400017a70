#pragma once
/// The metrics and losses of a file in terms of this program's tables, by name, and what sections with values have in
/// common.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "offline/experiment/block_reader.hpp"
#include "offline/experiment/profile.hpp"

namespace refrain::experiment {

inline constexpr std::size_t node_kinds = 6;
inline constexpr std::uint64_t most_totals = 1000;  ///< of a unit, that any version will have
inline constexpr std::size_t most_extra_metrics = 64;

/// Where a column of call paths goes. Neither: it is skipped.
struct ColumnPlace {
  int own = -1;    ///< place in the rows of this program's table
  int later = -1;  ///< index of Schema::later
};

/// What the file has and this program does not know is skipped, unless values can be added up: such a metric is shown
/// like those that the user has asked for. What the file does not have is zero.
struct Schema {
  std::vector<ColumnPlace> columns[node_kinds];    ///< by kind, by column in the file
  std::vector<std::optional<std::size_t>> losses;  ///< by loss in the file: ours
  bool losses_known = true;                        ///< their names are damaged: ranks have numbers without them
  std::vector<std::optional<std::size_t>> totals;  ///< by total of a unit in the file: of format::total_columns
  std::vector<ExtraMetric> later;
};

/// What a metric of an older file is called today.
inline std::string_view present_name(std::string_view name) {
  return name == "ticks_lost" ? "ticks_without_sample" : name;
}

/// A number of 32 bits; a larger one is a failure of `in`.
std::int32_t narrow(SectionReader& in);
/// A real number; throws ReadError for what is none.
double finite(SectionReader& in);

/// The rank's own number of the next call path of an ascending list of which `row` were read. Throws ReadError.
std::uint64_t path_after(SectionReader& in, std::uint64_t before, std::size_t row, std::size_t paths);

/// Ascending by `path`. Throws ReadError when there are two of one.
template <class Row>
void sort_by_path(SectionReader& in, std::vector<Row>& rows);

/// What a location is, as it stands before its values. Throws ReadError.
void read_location_head(SectionReader& in, const Schema& schema, LocationDefinition& location);

/// The totals of a unit; `count` of them are in the file. Throws ReadError.
void read_unit_totals(SectionReader& in, const Schema& schema, std::uint64_t count, format::UnitTotals& totals);
/// How many totals units have in this section. Throws ReadError.
std::uint64_t read_total_count(SectionReader& in);

/// The rank's extra metrics, which are added to `all`: the number of each there. Throws ReadError.
std::vector<std::size_t> read_extra_metrics(SectionReader& in, std::vector<ExtraMetric>& all);

/// Reads the columns of call paths of one rank.
class ColumnsReader {
 public:
  ColumnsReader(SectionReader& in, const Schema& schema, const ProfileDefinitions& definitions, const Rank& rank);
  /// Appends those of `path` to `columns`; returns where they begin. What later versions have goes to `extra`, which
  /// gets a row for it, and a total. Throws ReadError.
  std::uint32_t read(std::uint32_t path, std::vector<std::int64_t>& columns, ExtraValues& extra);

 private:
  SectionReader& in_;
  const Schema& schema_;
  const ProfileDefinitions& definitions_;
  std::vector<double> later_unit_;   ///< what these metrics are multiplied by: ticks become nanoseconds
  std::vector<std::int64_t> later_;  ///< of the call path in hand
};

}  // namespace refrain::experiment
