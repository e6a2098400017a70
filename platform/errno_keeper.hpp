#pragma once
/// errno belongs to the program: whatever Refrain does between two of its instructions leaves errno unchanged.

#include <cerrno>

namespace refrain::platform {

/// Restores errno to its value at construction. Async-signal-safe.
class ErrnoKeeper {
 public:
  ErrnoKeeper() : kept_(errno) {}
  ~ErrnoKeeper() { errno = kept_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  int kept_;
};

}  // namespace refrain::platform
