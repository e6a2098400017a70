#pragma once
/// The part of a location's events (event_log.hpp) that every call needs: the last 64 bytes of this. It lies in the
/// location: to look up one page less is much of what a cold call costs.

#include "events/buffer.hpp"

namespace refrain::measurement {

struct EventHead {
  events::Buffer records;
  bool skips = false;             ///< the rest of the span in progress, which was not asked for
  bool is_changing = false;       ///< more than that a record is appended
  bool goes_to_file = false;      ///< not a sample: records are moved to the file while the program runs
  bool samples_messages = false;  ///< of a sample: EventLog::matched is on
  bool ends_stretch = false;      ///< the call in progress is an operation that ends one

  /// The records should go to the file, and: another thread is to see to that. Of a sample nothing is done before
  /// messages are sampled.
  bool is_full() const { return samples_messages || (goes_to_file && records.size() >= records.capacity() / 4 * 3); }
  bool is_very_full() const {
    return samples_messages || (goes_to_file && records.size() >= records.capacity() / 8 * 7);
  }
};

}  // namespace refrain::measurement
