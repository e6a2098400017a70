#pragma once
/// A metric of iterations that is not in their profiles: waiting, and patterns of waiting.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "offline/run/iteration_metrics.hpp"
#include "offline/run/quantities.hpp"

namespace refrain::report {

/// The values of one metric, in seconds.
class IterationSource {
 public:
  virtual ~IterationSource() = default;
  /// The values of a loop of a location; `selection`: of these call paths, null: of all. An iteration of which nothing
  /// is known has NaN. `profiles` and `selection` must outlive the result.
  virtual run::IterationValue of(const run::IterationProfiles& profiles, std::int32_t thread,
                                 const run::PathSelection* selection) const = 0;
  virtual run::Known known() const = 0;
  /// A sentence on how the values are known; `share`: of so many of the iterations, more than none.
  virtual std::string origin(double share) const = 0;
  /// The reason why no iteration of a loop has a value.
  virtual std::string why_none() const = 0;
};

/// Finds the source of a metric by its name. Null: there is none of the name. Throws UsageError when there would be one
/// in other experiments.
using FindIterationSource = std::function<std::shared_ptr<const IterationSource>(const std::string& metric)>;

}  // namespace refrain::report
