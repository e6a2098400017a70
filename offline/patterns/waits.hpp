#pragma once
/// Publishes Waited: for each message, each part of a collective operation, and the begin and the end of MPI.

#include "offline/patterns/search.hpp"

namespace refrain::patterns {

class Waits {
 public:
  /// Subscribes, before those who want Waited.
  explicit Waits(Search& search);
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;
};

}  // namespace refrain::patterns
