#pragma once
/// The call tree of a profile that lies in memory.

#include <utility>

#include "offline/analysis/call_tree.hpp"

namespace refrain::analysis {

inline CallTree build_call_tree(const experiment::Profile& profile, Symbolizer& symbolizer,
                                const CallTreeOptions& options = {}) {
  experiment::WholeExperiment whole;
  whole.profile = profile;
  return build_call_tree(*experiment::Experiment::of(std::move(whole)), symbolizer, options);
}

}  // namespace refrain::analysis
