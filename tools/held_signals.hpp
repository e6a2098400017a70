#pragma once
/// Signals that ask the process to end, while it does something that may be left undone.

#include <csignal>
#include <stdexcept>

namespace refrain::tools {

class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// Holds them back; those that came are taken in the end, and do nothing else.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// Throws Interrupted when one has come.
  void check() const;

 private:
  sigset_t ending_, before_;
};

}  // namespace refrain::tools
