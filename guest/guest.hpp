#pragma once
/// The layer between the measured program and the C library, for the program's signals and masks, threads, ends, exec,
/// and the libraries that it unloads. This folder defines functions of the C library, calls the next definition, and
/// answers as if Refrain did not exist. It does not know what is measured: it asks and informs the runtime by one
/// table.

#include <signal.h>
#include <string_view>

/// Makes a function visible to the program, which calls it in place of the C library's.
#define REFRAIN_EXPORT __attribute__((visibility("default")))

namespace refrain::guest {

/// The environment that an image which continues this one needs (exec.cpp).
struct Traces {
  const char* library;  ///< path of the runtime; empty: it was not preloaded
  const char* first;    ///< libraries preloaded in front of it, separated by colons
  const char* notes;    ///< path of the notes file of `refrain run`
  std::string_view inlined_code;
};

/// How the process ends, or may end.
enum class End {
  Leaving,  ///< by its own will, without MPI_Finalize
  Dying,    ///< a signal ends it
  Warned,   ///< the program's handler of SIGTERM has returned, and the process goes on
};

struct Callbacks {
  // ---- Questions. Async-signal-safe.

  /// Whether this process is being measured. A child that shares its memory, or has a copy of it, is not.
  bool (*is_measured)();
  /// Whether this is the process that is or was measured, and not such a child.
  bool (*is_original_process)();
  /// Whether the job has other ranks.
  bool (*is_one_of_several)();
  /// The signal of our ticks; 0: there is none, or the program has taken it.
  int (*sampling_signal)();
  /// The signal that our handler was installed for, even if the program has taken it since; 0: none.
  int (*signal_of_handler)();
  /// Whether a signal of that number is a tick of ours, and not one that was sent otherwise.
  bool (*is_own_tick)(const siginfo_t& info);
  /// Whether this is a measured process before MPI_Init: if exec replaces its image, the new one may be measured in its
  /// place.
  bool (*can_be_continued)();
  Traces (*traces)();

  // ---- Events.

  /// A thread that the program has made begins, on that thread. True: it is measured from here on.
  bool (*thread_begins)();
  /// The program takes the sampling signal for itself.
  void (*signal_taken)();
  /// A module was unloaded.
  void (*module_unloaded)();
  /// exec replaces the process by another program, `file`, which is not measured. Async-signal-safe.
  void (*replaced)(const char* file);
  /// SIGTERM has come, and the program's own handler is called next. Async-signal-safe.
  void (*end_announced)();
  /// The process ends by quick_exit, after the program's own handlers.
  void (*ends)();

  /// Writes the measurement as it is, without closing anything. Called on a helper thread if there is one, because the
  /// thread that ends the process may be anywhere. False: it was not written.
  bool (*write)(End end);
};
/// Defined by runtime/runtime.cpp as a constant, so that it is complete before the first instruction runs.
extern const Callbacks callbacks;

/// Looks up the function that exec.cpp calls, since a child may have no other chance. Ordinary context, once.
void find_exec_functions();

/// Must be called before the first thread is measured. False: no memory. Ordinary context, once.
bool watch_threads();

/// The signal that the program must not see; 0: none. Async-signal-safe.
inline int hidden_signal() {
  const int signal = callbacks.sampling_signal();
  return signal != 0 && callbacks.is_measured() ? signal : 0;
}

}  // namespace refrain::guest
