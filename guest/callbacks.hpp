#pragma once
/// What the functions between the program and the C library ask and tell. The table is defined where the measurement is
/// composed (runtime/runtime.cpp). It is constant, so it is there before the first constructor of the process runs.
///
/// A child of vfork shares the memory of the measured process: it is no measured process, and nothing here may be
/// written for it.

#include <cstdint>

namespace refrain::guest {

/// How the measurement of a process ends.
enum class Ending : std::uint8_t {
  Complete,  ///< MPI_Finalize, or the ordinary end of a program without MPI: all ranks write together
  Left,      ///< the process ends by its own will, without MPI_Finalize: it writes what it has, alone
  Killed,    ///< the same, it dies of a signal
  Warned,    ///< a signal announced the end: it writes what it has, and goes on
};

struct Callbacks {
  bool (*is_measuring)();  ///< Async-signal-safe.
  /// This is the measured process, not a child that shares its memory or has a copy of it. Async-signal-safe.
  bool (*is_home_process)();
  /// This is the measured process, it has not come to MPI_Init, and when it becomes another image, that one may be
  /// measured in its place. Async-signal-safe.
  bool (*can_be_continued)();
  bool (*is_one_of_several)();  ///< The job has other ranks. Async-signal-safe.

  void (*thread_begins)();    ///< on a thread that the program made: it is measured from here to its end
  void (*signal_taken)();     ///< the program takes the sampling signal for itself
  void (*module_unloaded)();  ///< by dlclose
  /// The program handles a signal that announces its end: what has been measured should be written soon.
  /// Async-signal-safe.
  void (*end_announced)();
  /// Writes what has been measured as it is. On a thread of its own (endings.hpp). False: it was not written.
  bool (*write_as_it_is)(Ending);
  void (*process_ends)();  ///< by quick_exit
};
extern const Callbacks callbacks;

}  // namespace refrain::guest
