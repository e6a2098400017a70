#pragma once
/// What the events of a job prove about the clocks of its machines: a message is sent before it is received, and no
/// process leaves an operation in which all send to all before the last one has entered it.
///
/// Such operations are barriers, allreduce, allgather and reduce-scatter in all their forms. Operations among
/// neighbours are left out, and so are MPI_Alltoallv and MPI_Alltoallw, in which a rank need not wait for a peer that
/// sends it nothing. For the same reason ranks that send or receive nothing are left out of the other operations.
///
/// Memory: what is in flight. Belongs to one thread. The trace must outlive it.

#include <cstdint>
#include <functional>
#include <vector>

#include "offline/trace/clock_correction.hpp"
#include "offline/trace/collectives.hpp"
#include "offline/trace/pairing.hpp"

namespace refrain::trace {

/// One event came before another event on another machine. Times are those of the trace.
struct ClockBound {
  std::uint32_t before_machine;
  std::int64_t before_ns;
  std::uint32_t after_machine;
  std::int64_t after_ns;
  bool holds() const { return before_ns <= after_ns; }
};

class ClockBounds {
 public:
  using Take = std::function<void(const ClockBound&)>;
  ClockBounds(const Trace& trace, Take take);
  ClockBounds(const ClockBounds&) = delete;
  ClockBounds& operator=(const ClockBounds&) = delete;

  /// Takes every event, in order of time.
  void add(const Event& event);
  /// Call after the last event.
  void finish();
  const MessageCounts& messages() const { return pairing_.counts(); }

 private:
  void tell(const CollectiveOperation& operation) const;

  const Trace& trace_;
  Take take_;
  Pairing pairing_;
  Collectives collectives_;
  bool several_;                         ///< there are several machines
  std::vector<std::uint32_t> machines_;  ///< by location
  std::vector<std::int64_t> enter_ns_;   ///< by location: when its most recent call was entered
};

/// Reads all events of a trace whose clocks run evenly, once.
ClockCorrection correction_of(const Trace& trace);

}  // namespace refrain::trace
