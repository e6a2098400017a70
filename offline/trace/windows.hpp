#pragma once
/// Windows of a trace: those of all ranks that are one window.

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "offline/trace/communicators.hpp"
#include "offline/trace/locations.hpp"

namespace refrain::trace {

class Windows {
 public:
  /// Adds those of a rank, whose communicators `communicators` has: to make a window is collective, so those of one
  /// communicator and kind are made in one order by all its members.
  void add(const experiment::Rank& rank, const Communicators& communicators);
  const std::vector<WindowOfTrace>& all() const { return all_; }
  /// Index into all() of the window that the rank calls `id`; -1: it is not known.
  std::int32_t index_of(std::int32_t rank, std::int32_t id) const;

 private:
  std::vector<WindowOfTrace> all_;
  std::map<std::tuple<std::int32_t, format::WindowKind, std::int32_t>, std::int32_t>
      index_;                                                  ///< communicator, kind, n-th
  std::map<std::int32_t, std::vector<std::int32_t>> of_rank_;  ///< by rank, by id
};

}  // namespace refrain::trace
