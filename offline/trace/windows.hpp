#pragma once
/// The windows of a trace, matched across its ranks.

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "offline/trace/communicators.hpp"
#include "offline/trace/locations.hpp"

namespace refrain::trace {

class Windows {
 public:
  /// Adds the windows of a rank, whose communicators are in `communicators`. Making a window is collective, so all
  /// members of a communicator make its windows of one kind in the same order.
  void add(const experiment::Rank& rank, const Communicators& communicators);
  const std::vector<WindowOfTrace>& all() const { return all_; }
  /// Index into all() of the window that the rank calls `id`; -1: not known.
  std::int32_t index_of(std::int32_t rank, std::int32_t id) const;

 private:
  std::vector<WindowOfTrace> all_;
  std::map<std::tuple<std::int32_t, format::WindowKind, std::int32_t>, std::int32_t>
      index_;                                                  ///< communicator, kind, n-th
  std::map<std::int32_t, std::vector<std::int32_t>> of_rank_;  ///< by rank, by id
};

}  // namespace refrain::trace
