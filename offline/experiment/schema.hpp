#pragma once
/// Maps the metrics and losses of a file to this program's tables, by name, and reads what sections with values have in
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
inline constexpr std::uint64_t most_totals = 1000;  ///< maximum number of totals of a unit, in any version
inline constexpr std::size_t max_extra_metrics = 64;

/// Destination of a column of call paths. A column with neither is skipped.
struct ColumnPlace {
  int own = -1;    ///< index in the rows of this program's table
  int later = -1;  ///< index in Schema::later
};

/// Metrics of the file that this program does not know are skipped, unless their values can be added up: these are
/// shown like metrics that the user requested. Metrics that the file does not have are zero.
struct Schema {
  std::vector<ColumnPlace> columns[node_kinds];    ///< by kind, by column in the file
  std::vector<std::optional<std::size_t>> losses;  ///< our loss for each loss in the file
  bool losses_known = true;                        ///< false: their names are damaged; ranks have counts without names
  std::vector<std::optional<std::size_t>> totals;  ///< index in format::total_columns, by total of a unit in the file
  std::vector<ExtraMetric> later;
};

/// The current name of a metric of an older file.
inline std::string_view present_name(std::string_view name) {
  return name == "ticks_lost" ? "ticks_without_sample" : name;
}

/// Reads a 32-bit number; a larger one makes `in` fail.
std::int32_t narrow(SectionReader& in);
/// Reads a real number. Throws ReadError when it is not finite.
double finite(SectionReader& in);

/// Reads the rank's own number of the next call path of an ascending list, after `row` of them. Throws ReadError.
std::uint64_t path_after(SectionReader& in, std::uint64_t before, std::size_t row, std::size_t paths);

/// Sorts rows by `path`. Throws ReadError when two rows have the same path.
template <class Row>
void sort_by_path(SectionReader& in, std::vector<Row>& rows);

/// Reads the description of a location, which comes before its values. Throws ReadError.
void read_location_head(SectionReader& in, const Schema& schema, LocationDefinition& location);

/// Reads the totals of a unit, of which `count` are in the file. Throws ReadError.
void read_unit_totals(SectionReader& in, const Schema& schema, std::uint64_t count, format::UnitTotals& totals);
/// Reads how many totals a unit has in this section. Throws ReadError.
std::uint64_t read_total_count(SectionReader& in);

/// Reads the rank's extra metrics and adds new ones to `all`. Returns the index of each in `all`. Throws ReadError.
std::vector<std::size_t> read_extra_metrics(SectionReader& in, std::vector<ExtraMetric>& all);

/// Reads the columns of call paths of one rank.
class ColumnsReader {
 public:
  ColumnsReader(SectionReader& in, const Schema& schema, const ProfileDefinitions& definitions, const Rank& rank);
  /// Appends the columns of `path` to `columns` and returns where they begin. Columns of later versions go to `extra`,
  /// which gets a row for them, and are added to its totals. Throws ReadError.
  std::uint32_t read(std::uint32_t path, std::vector<std::int64_t>& columns, ExtraValues& extra);

 private:
  SectionReader& in_;
  const Schema& schema_;
  const ProfileDefinitions& definitions_;
  std::vector<double> later_unit_;   ///< factor of each metric of a later version: ticks become nanoseconds
  std::vector<std::int64_t> later_;  ///< values of the current call path
};

}  // namespace refrain::experiment
