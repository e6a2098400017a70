#pragma once
/// The parts of an analysis that should be told first: the kinds of waiting that cost most, where, and their causes.

#include <functional>
#include <optional>
#include <vector>

#include "offline/patterns/analysis.hpp"

namespace refrain::patterns {

/// The functions, from the root, in which both calls around a computation are made.
std::vector<std::string> common_path(const NamedActivity& computation, const Naming& naming);

/// The function that takes most of a computation between two calls: the largest one that is called where the
/// paths of both calls part, if it takes half of it; from there down as long as one has nearly all of its caller. Its
/// names from the root; empty: none takes half of it, or there are no samples.
std::vector<std::string> main_function(const CauseResult& computation, const Naming& naming);

/// Of patterns that are a kind of waiting by themselves the largest, one of each call path, at most `most`, each above
/// `least_share` of all time; call paths that are below it count together. Not those of begin and end of MPI, which are
/// the launcher's, and none of a run of less than a second. `causes_of(node)`: of waiting at that call path.
std::vector<Headline> headlines(const Analysis& analysis, std::size_t most, double least_share,
                                const std::function<CauseResults(std::uint32_t node)>& causes_of);

}  // namespace refrain::patterns
