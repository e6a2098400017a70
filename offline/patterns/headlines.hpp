#pragma once
/// The parts of an analysis to report first: the most expensive kinds of waiting, where they occur, and their causes.

#include <functional>
#include <optional>
#include <vector>

#include "offline/patterns/analysis.hpp"

namespace refrain::patterns {

/// The functions, from the root, in which both calls around a computation are made.
std::vector<std::string> common_path(const NamedActivity& computation, const Naming& naming);

/// The function that takes most of a computation between two calls: the largest one called where the paths of both
/// calls part, if it takes half of the computation; from there down as long as one callee has nearly all of its
/// caller's time. Its names from the root; empty: no function takes half of it, or there are no samples.
std::vector<std::string> main_function(const CauseResult& computation, const Naming& naming);

/// The largest waits of patterns that are a kind of waiting by themselves: one for each call path, at most `most`, each
/// above `least_share` of all time; smaller call paths count together. Excludes the start and end of MPI, where the
/// launcher causes the waiting, and runs of less than a second. `causes_of(node)`: causes of waiting at that call path.
std::vector<Headline> headlines(const Analysis& analysis, std::size_t most, double least_share,
                                const std::function<CauseResults(std::uint32_t node)>& causes_of);

}  // namespace refrain::patterns
