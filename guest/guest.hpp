#pragma once
/// What stands between the measured program and the C library: its signals and masks, threads, ends, the programs that
/// it becomes, and the libraries that it unloads. This folder defines functions of the C library, calls the next
/// definition, and answers as the program would see it without Refrain. It does not know what is measured: it asks the
/// runtime, and tells it, by one table.

#include <signal.h>
#include <string_view>

/// What the program finds in place of a function of the C library.
#define REFRAIN_EXPORT __attribute__((visibility("default")))

namespace refrain::guest {

/// What an image that continues this one needs (exec.cpp).
struct Traces {
  const char* library;  ///< the runtime; empty: it was not preloaded
  const char* first;    ///< what is preloaded in front of it, separated by colons
  const char* notes;    ///< the file of notes for `refrain run`
  std::string_view inlined_code;
};

/// How the process is at its end, or may be.
enum class End {
  Leaving,  ///< by its own will, without MPI_Finalize
  Dying,    ///< of a signal
  Warned,   ///< the program's handler of SIGTERM has returned, and the process goes on
};

struct Callbacks {
  // ---- Questions. Async-signal-safe.

  /// This process is being measured; a child that shares its memory, or has a copy of it, is not.
  bool (*is_measured)();
  /// This is the process that is or was measured, not such a child.
  bool (*is_original_process)();
  /// The job has other ranks.
  bool (*is_one_of_several)();
  /// The signal of our ticks; 0: there is none, or the program has taken it.
  int (*sampling_signal)();
  /// The signal that our handler was installed for, also when the program has taken it since; 0: none.
  int (*signal_of_handler)();
  /// A signal of that number is a tick of ours, not one that somebody has sent.
  bool (*is_own_tick)(const siginfo_t& info);
  /// This measured process has not come to MPI_Init: when it becomes another image, that one may be measured in its
  /// place.
  bool (*can_be_continued)();
  Traces (*traces)();

  // ---- Events.

  /// The calling thread, which the program has made, begins. True: it is measured from here on.
  bool (*thread_begins)();
  /// The program takes the sampling signal for itself.
  void (*signal_taken)();
  /// A module was unloaded.
  void (*module_unloaded)();
  /// The process becomes another program, `file`, which is not measured. Async-signal-safe.
  void (*replaced)(const char* file);
  /// SIGTERM has come, and the program's own handler is called next. Async-signal-safe.
  void (*end_announced)();
  /// The process ends by quick_exit, after the program's own handlers.
  void (*ends)();

  /// Writes what has been measured as it is, without closing anything. Called on a helper thread, if there can be one:
  /// the thread that ends the process may be anywhere. False: not written.
  bool (*write)(End end);
};
/// runtime/runtime.cpp defines it: it is complete before the first instruction runs.
extern const Callbacks callbacks;

/// Looks up what the functions of exec.cpp call: in a child there may be no other chance. Ordinary context, once.
void find_exec_functions();

/// Before the first thread is measured. False: no memory. Ordinary context, once.
bool watch_threads();

/// The signal that the program is not to see, 0: none. Async-signal-safe.
inline int hidden_signal() {
  const int signal = callbacks.sampling_signal();
  return signal != 0 && callbacks.is_measured() ? signal : 0;
}

}  // namespace refrain::guest
