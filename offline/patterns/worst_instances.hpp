#pragma once
/// The calls that waited longest, for each pattern and call path: what to look at first.
///
/// Memory: at most `most` instances for each pattern and call path that has any. Belongs to one thread.

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "offline/patterns/compound_events.hpp"
#include "offline/patterns/findings.hpp"

namespace refrain::patterns {

/// A call, and how long it waited in the way that a pattern is about.
struct Instance {
  std::uint32_t location = 0;
  std::int64_t enter_ns = 0;  ///< of the call
  std::int64_t ns = 0;
  std::uint16_t loop = 0;      ///< index into Search::loops(); 0: outside of iterations
  std::int64_t iteration = 0;  ///< of that loop
  std::uint32_t span = 0;      ///< number of the location's span in which the call was entered
};

/// Largest first, then by location and time.
bool is_worse(const Instance& a, const Instance& b);

class WorstInstances {
 public:
  static constexpr std::size_t most = 8;

  explicit WorstInstances(std::size_t locations) : touched_(locations), ended_(locations) {}
  /// Adds `ns` to the wait of the call.
  void add(Quantity quantity, const Call& call, std::int64_t ns);
  /// The location's span in progress has ended.
  void end_span(std::uint32_t location, std::uint32_t span, const SpanEnd& end);
  /// The instances of a quantity, by call path, largest first.
  std::vector<std::pair<std::uint32_t, std::vector<Instance>>> of(Quantity quantity) const;

 private:
  std::unordered_map<std::uint64_t, std::vector<Instance>> worst_;  ///< by quantity and call path
  std::vector<std::vector<std::uint64_t>> touched_;                 ///< by location: keys added in the span in progress
  /// The last spans of each location, at their number modulo `remembered`: the wait of a call may become known later.
  static constexpr std::size_t remembered = 16;
  struct Ended {
    std::uint32_t span = ~std::uint32_t{0};
    std::uint16_t loop = 0;
    std::int64_t iteration = 0;
  };
  std::vector<std::array<Ended, remembered>> ended_;
};

}  // namespace refrain::patterns
