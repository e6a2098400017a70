#pragma once
/// Tells without a system call whether a thread has kept its processor since it last asked.
///
/// Source: restartable sequences, <linux/rseq.h>. The C library registers a structure per thread, and the kernel clears
/// its field `rseq_cs` when the thread is switched out, moved or given a signal outside of the sequence that the field
/// describes. A field that describes a sequence that is never executed serves as a flag.
///
/// The kernel does not promise to do so for a thread that is switched out inside a system call, where no sequence can
/// be: according to their source, kernels from 6.19 on then leave the field alone (kernel/rseq.c). So the first thread
/// of the process tries it, and if the flag survives a sleep, no watch works.
///
/// Belongs to the calling thread; ordinary context. A program's own sequences are left alone: the field is only taken
/// while it is empty, and a program that sets it ends the watch. Several users share one watch: each remembers its
/// number.

#include <cstdint>

namespace refrain::platform {

class SwitchWatch {
 public:
  /// For the calling thread, which the object belongs to from now on. Without help of the kernel and the library every
  /// watch ends at once. The first call of a process sleeps for 50 us to find that out.
  void attach();
  /// Removes the watch from the thread's structure.
  void detach();

  /// Begins a watch unless one is in progress, perhaps for another user, and returns its number. Async-signal-safe, but
  /// not re-entrant.
  std::uint32_t begin() {
    if (field_ && !*field_) {
      *field_ = flag_;
      ++number_;
    }
    return number_;
  }
  /// Whether the thread has kept its processor since `begin` returned this number. False also if that is unknown.
  bool holds(std::uint32_t number) const { return number == number_ && field_ && *field_ == flag_; }
  /// The same for the last watch.
  bool holds() const { return holds(number_); }
  /// False: nothing can be known.
  bool works() const { return field_ && (!*field_ || *field_ == flag_); }

 private:
  volatile std::uint64_t* field_ = nullptr;
  std::uint64_t flag_ = 0;
  std::uint32_t number_ = 0;
};

/// Whether the kernel clears `field` while the calling thread sleeps. Ordinary context.
bool is_cleared_by_a_switch(volatile std::uint64_t& field, std::uint64_t flag);

}  // namespace refrain::platform
