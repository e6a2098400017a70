#pragma once
/// Raking: adjusts the shares of rows until the rows, weighted by their masses, add up to given column sums (iterative
/// proportional fitting, Deming and Stephan 1940). A share of 0 stays 0, and the differences between rows are kept as
/// far as the sums permit. Pure.

#include <cstdint>
#include <span>
#include <vector>

#include "offline/run/share_tree.hpp"

namespace refrain::run {

struct RakedRow {
  double mass = 0;                              ///< the sum that the row is to have; rows of mass 0 are ignored
  double samples = 0;                           ///< number of samples that its shares rest on
  std::vector<ShareTree::Share> shares;         ///< above 0; the path is the column
  const std::vector<bool>* excluded = nullptr;  ///< columns that the row cannot have; null: none

  bool may_have(std::uint32_t column) const { return !excluded || column >= excluded->size() || !(*excluded)[column]; }
};

/// `targets`: by column. Columns that no row has are left out; the other targets are scaled to the sum of the masses.
/// The resulting shares of a row always add up to 1, up to rounding. Returns the largest difference of a column from
/// its target, as a part of all masses: 0 to 1e-9 unless zeros make the targets impossible.
double rake(std::span<RakedRow> rows, std::span<const double> targets);

/// Like rake(), but if zeros make the targets impossible by more than chance, each row first gets one more sample,
/// divided like the missing part of the targets. Otherwise a row whose only target column is one rare path would end up
/// with that path alone. `samples`: number of samples that the targets rest on. A difference within chance is no reason
/// to give a row a new column: it stays.
double rake_beyond_zeros(std::span<RakedRow> rows, std::span<const double> targets, double samples);

}  // namespace refrain::run
