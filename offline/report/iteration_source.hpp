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
  /// The values of one loop at one location. `selection`: of these call paths; null: of all. The value is NaN for an
  /// iteration of which nothing is known. `profiles` and `selection` must outlive the result.
  virtual run::IterationValue of(const run::IterationProfiles& profiles, std::int32_t thread,
                                 const run::PathSelection* selection) const = 0;
  virtual run::Known known() const = 0;
  /// A sentence on how the values are known. `share`: the part of the iterations that have values, above 0.
  virtual std::string origin(double share) const = 0;
  /// The reason why no iteration of a loop has a value.
  virtual std::string why_none() const = 0;
};

/// Finds the source of a metric by its name. Null: there is none of this name. Throws UsageError when only other
/// experiments have one.
using FindIterationSource = std::function<std::shared_ptr<const IterationSource>(const std::string& metric)>;

}  // namespace refrain::report
