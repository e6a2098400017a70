#pragma once
/// Blocks the signals that ask this process to end, while it does work that may be abandoned or waits for a process
/// that does such work.

#include <csignal>
#include <stdexcept>

namespace refrain::tools {

class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// The destructor discards the signals that arrived in the meantime.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// Throws Interrupted if a signal is pending.
  void check() const;
  /// Becomes readable when the first signal arrives; -1: there are too many descriptors.
  int descriptor() const { return descriptor_; }
  /// Unblocks the signals. For a child process, which they end.
  void release() const;

 private:
  sigset_t ending_, before_;
  int descriptor_ = -1;
};

}  // namespace refrain::tools
