#pragma once
/// Publishes Waited for messages, parts of collective operations, waits for windows, and the start and end of MPI.

#include "offline/patterns/search.hpp"

namespace refrain::patterns {

class Waits {
 public:
  /// Subscribes; must be constructed before the subscribers to Waited.
  explicit Waits(Search& search);
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;
};

}  // namespace refrain::patterns
