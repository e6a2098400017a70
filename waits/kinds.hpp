#pragma once
/// The calls in which processes wait for others, and what their durations prove (kinds.def).

#include <cstdint>
#include <span>
#include <string_view>

#include "format/mpi_functions.hpp"
#include "waits/call_bin.hpp"

namespace refrain::waits {

enum class Which : std::uint8_t { all, receiving, only_receiving, sending, collective, nothing };
/// The shortest call of the process, or of all processes, is assumed not to have waited (Mao et al.,
/// sections 3.1, 3.2).
enum class ShortestOf : std::uint8_t { of_process, of_all };
/// What makes calls much longer than the shortest ones. Polling: the calls return when they have found nothing, so
/// their number and not their length shows waiting, and all of their time may be waiting.
enum class LongBy : std::uint8_t { waiting, data, polling };
/// Name of the kind of waiting with LongBy::polling.
inline constexpr const char* polling_name = "polling";

struct WaitKind {
  format::MpiWaits waits;
  Which which;
  ShortestOf shortest;
  LongBy long_by;
  const char* name;

  /// LongBy for calls of a bin that fits this kind.
  LongBy long_by_of(CallBin bin) const;
  /// In each operation some process does not wait for the others, and its call is of this kind, too: the last one to
  /// enter an operation of all processes. False: all calls of the kind may have waited.
  bool has_one_without_waiting() const { return shortest == ShortestOf::of_all && which == Which::all; }
};

/// Smaller messages are sent eagerly: the eager limits of MPI libraries are at this size or above.
inline constexpr unsigned size_of_large = 13;  ///< CallBin::size(): 4096 bytes and more

/// The rows of a function, such as "MPI_Recv". Empty: durations of its calls prove no waiting.
std::span<const WaitKind> kinds_of(std::string_view function);
/// The row of a function for calls of a bin. Null: no process waits in such calls.
const WaitKind* kind_of(std::span<const WaitKind> kinds_of_function, CallBin bin);
inline const WaitKind* kind_of(std::string_view function, CallBin bin) { return kind_of(kinds_of(function), bin); }

}  // namespace refrain::waits
