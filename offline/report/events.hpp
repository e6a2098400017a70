#pragma once
/// `refrain events`: the events of an experiment, one after the other, for people or for programs.

#include <cstdint>
#include <optional>

#include "offline/report/request.hpp"
#include "offline/trace/matched_messages.hpp"
#include "offline/trace/pairing.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::report {

struct EventOptions {
  Format format = Format::Text;
  std::optional<std::int64_t> iteration;  ///< only events in this iteration, of any loop
  std::optional<double> from_s, to_s;     ///< seconds since the begin of the trace
};

/// Prints the events of all locations in chronological order. Throws UsageError when there is no such iteration.
void print_events(const trace::Trace& trace, const EventOptions& options, const Sink& out);

/// Prints messages that were sampled one by one, with both ends, in the order of their receives. The times of `options`
/// are those of receives. Throws UsageError for an iteration in `options`, and for the events of an archive.
void print_matched_messages(const trace::Trace& trace, const EventOptions& options, const Sink& out);

/// "MPI_COMM_WORLD", or a substitute for a communicator without a name. `index`: into trace::Communicators::all().
std::string name_of_communicator(const trace::Trace& trace, std::int32_t index);

/// The iterations that were kept on the first thread of a rank, or stretches if no loop was marked.
struct KeptIterations {
  std::uint64_t count = 0, hash = 0;  ///< hash: of (loop, number), in order
  std::uint64_t slow = 0;             ///< kept for being slow, besides those of a sample
};
/// Messages that were sampled one by one.
struct KeptMessages {
  unsigned level;
  std::uint64_t ends, paired, alone, lost;
  std::int64_t begin_ns;
  trace::LateSenders waiting;
};
struct KeptOfTrace {
  std::vector<KeptIterations> iterations;  ///< in the order of Trace::ranks()
  trace::MessageCounts messages;           ///< of all threads
  std::optional<KeptMessages> matched;     ///< nullopt: no messages were sampled one by one
  /// Events whose time is before that of an event on another machine that must have come earlier.
  std::uint64_t clock_violations = 0;
};
/// Reads the whole trace.
KeptOfTrace count_kept(const trace::Trace& trace);

}  // namespace refrain::report
