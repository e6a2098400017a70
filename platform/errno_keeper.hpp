#pragma once
/// Errno is the program's: what Refrain does between two of its instructions leaves it as it was.

#include <cerrno>

namespace refrain::platform {

/// Gives errno back as it was when this was made. Async-signal-safe.
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
