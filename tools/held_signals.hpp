#pragma once
/// Signals that ask this process to end, held back while it does something that may be left undone, or waits for
/// another process that does.

#include <csignal>
#include <stdexcept>

namespace refrain::tools {

class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// Those that came in the meantime are taken away at the end, and do nothing else.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// Throws Interrupted when one has come.
  void check() const;
  /// The first of them makes it readable; -1: there are too many descriptors.
  int descriptor() const { return descriptor_; }
  /// In a child process, which ends by them.
  void release() const;

 private:
  sigset_t ending_, before_;
  int descriptor_ = -1;
};

}  // namespace refrain::tools
