#pragma once
/// Whether a thread has kept its processor all the time since it last asked, without a system call.
///
/// Source: restartable sequences, <linux/rseq.h>: the C library registers a structure per thread, and the kernel clears
/// its field `rseq_cs` when the thread is switched out, moved or given a signal outside of the sequence that the field
/// describes. A field that describes a sequence nobody ever runs is a flag for that.
///
/// That the kernel does so is not promised for a thread that is switched out within a system call, where no sequence
/// can be: by their source, kernels from 6.19 on leave the field alone then (kernel/rseq.c). So the first thread of the
/// process tries it, and where the flag outlives a sleep no watch works.
///
/// Of the thread that calls; ordinary context. A program's own sequences are left alone: the field is only taken while
/// it is empty, and a program that sets it ends the watch. Several askers share one watch: each remembers its number.

#include <cstdint>

namespace refrain::platform {

class SwitchWatch {
 public:
  /// For the calling thread, which the object belongs to from now on. Without the kernel's or the library's help every
  /// watch is over at once. The first call of a process sleeps for 50 us to find that out.
  void attach();
  /// Nothing of the watch is left in the thread's structure.
  void detach();

  /// The number of the watch that is in progress now, perhaps for somebody else already. Async-signal-safe, but not
  /// inside itself.
  std::uint32_t begin() {
    if (field_ && !*field_) {
      *field_ = flag_;
      ++number_;
    }
    return number_;
  }
  /// The thread has been on its processor since `begin` gave this number. False also when that is not known.
  bool holds(std::uint32_t number) const { return number == number_ && field_ && *field_ == flag_; }
  /// The same for the watch that was begun last.
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
