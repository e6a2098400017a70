#pragma once
/// Raking: shares per row are moved until the rows, by their masses, add up to given column sums (iterative
/// proportional fitting, Deming and Stephan 1940). A share of 0 stays 0, and where nothing contradicts each row keeps
/// what sets it apart from the others. Pure.

#include <cstdint>
#include <span>
#include <vector>

#include "offline/run/share_tree.hpp"

namespace refrain::run {

struct RakedRow {
  double mass = 0;                              ///< what the row is to have in all; rows without count for nothing
  double samples = 0;                           ///< that its shares rest on
  std::vector<ShareTree::Share> shares;         ///< above 0; the path is the column
  const std::vector<bool>* excluded = nullptr;  ///< columns that the row cannot have; null: none

  bool may_have(std::uint32_t column) const { return !excluded || column >= excluded->size() || !(*excluded)[column]; }
};

/// `targets` by column. They are scaled to the sum of the masses, as far as they are in columns that a row has; columns
/// that no row has are left out. Rows come out with shares that add up to 1, to rounding, always. Returns the largest
/// difference of a column from its target, as a part of all masses: 0 to 1e-9 unless zeros make the targets impossible.
double rake(std::span<RakedRow> rows, std::span<const double> targets);

/// The same, but where zeros make the targets impossible by more than chance, each row first gets one sample more that
/// is divided as what is missed. Else a row that has nothing of what is wanted but one rare path would come out with
/// that path alone. `samples`: that the targets rest on. What they miss by chance is no reason to give a row what it
/// does not have: it stays missed.
double rake_beyond_zeros(std::span<RakedRow> rows, std::span<const double> targets, double samples);

}  // namespace refrain::run
