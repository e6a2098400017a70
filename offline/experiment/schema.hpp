#pragma once
/// What the definitions of a file say of its numbers, and what several sections have in common.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "offline/experiment/block_reader.hpp"
#include "offline/experiment/profile.hpp"

namespace refrain::experiment {

inline constexpr std::size_t path_kinds = 6;        ///< of call paths
inline constexpr std::uint64_t most_totals = 1000;  ///< of a unit, that any version will have
inline constexpr std::size_t most_extra_metrics = 64;

/// The metrics and losses of the file in terms of this program's tables, by name: columns that it does not know are
/// dropped, those that the file does not have are zero.
struct Schema {
  std::vector<std::optional<std::size_t>> columns[path_kinds];  ///< by kind: own column of each column in the file
  std::vector<std::optional<std::size_t>> losses;
  /// Own index of each total that units have in the file. Before 1.6 it does not say, but these it has.
  std::vector<std::optional<std::size_t>> totals;
};

/// A number of 32 bits; a larger one is a failure of `in`.
std::int32_t narrow(SectionReader& in);
/// A real number; throws ReadError for what is none.
double finite(SectionReader& in);

/// What a location is, as it stands before its values. Throws ReadError.
void read_location_head(SectionReader& in, const Schema& schema, LocationDefinition& location);

/// The totals of a unit; `count` of them are in the file. Throws ReadError.
void read_unit_totals(SectionReader& in, const Schema& schema, std::uint64_t count, format::UnitTotals& totals);
/// How many totals units have in this section. Throws ReadError.
std::uint64_t read_total_count(SectionReader& in);

/// The rank's extra metrics, which are added to those of the profile: the number of each there. Throws ReadError.
std::vector<std::size_t> read_extra_metrics(SectionReader& in, ProfileDefinitions& profile);

}  // namespace refrain::experiment
