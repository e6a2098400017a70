#pragma once
/// In which calls processes wait for others, and what durations of these calls tell of it (kinds.def).

#include <cstdint>
#include <span>
#include <string_view>

#include "format/mpi_functions.hpp"
#include "waits/call_bin.hpp"

namespace refrain::waits {

enum class Which : std::uint8_t { all, receiving, only_receiving, sending, collective, nothing };
/// Whose shortest call is taken for one without waiting (Mao et al., sections 3.1 and 3.2).
enum class ShortestOf : std::uint8_t { of_process, of_all };
/// What makes calls much longer than the shortest ones. Polling: calls that return when they have found nothing, so it
/// is their number and not their length that tells of waiting: all of their time may be waiting.
enum class LongBy : std::uint8_t { waiting, data, polling };
/// Name of the kind of waiting of these.
inline constexpr const char* polling_name = "polling";

struct WaitKind {
  format::MpiWaits waits;
  Which which;
  ShortestOf shortest;
  LongBy long_by;
  const char* name;

  /// Of calls of a bin that fits.
  LongBy long_by_of(CallBin bin) const;
  /// Of each operation there is a process that does not wait for the others, and its call is of this kind, too: the
  /// last one to enter an operation of all. Else all calls of the kind may have waited.
  bool has_one_without_waiting() const { return shortest == ShortestOf::of_all && which == Which::all; }
};

/// Smaller messages are sent at once. The limits of MPI libraries are here or above.
inline constexpr unsigned size_of_large = 13;  ///< CallBin::size(): 4096 bytes and more

/// The rows of a function, "MPI_Recv". Empty: durations of its calls do not tell of waiting.
std::span<const WaitKind> kinds_of(std::string_view function);
/// Of the rows of a function. Null: nobody waits in such calls.
const WaitKind* kind_of(std::span<const WaitKind> kinds_of_function, CallBin bin);
inline const WaitKind* kind_of(std::string_view function, CallBin bin) { return kind_of(kinds_of(function), bin); }

}  // namespace refrain::waits
