#pragma once
/// Readings of the metrics that the user has asked for (REFRAIN_METRICS): counts since the location began. A record
/// stores the difference from the previous reading of the same metric.
///
/// Writer and reader keep the previous readings. Both begin anew with each span, frame, gap and jump; the first reading
/// of a metric after that is stored whole.
///
/// Async-signal-safe; nothing is allocated. Belongs to one thread at a time.

#include <cstdint>

#include "events/record.hpp"
#include "format/bytes.hpp"

namespace refrain::events {

class MetricValues {
 public:
  /// Forgets all readings.
  void forget() { known_ = 0; }
  /// Writer: stores a reading of the metric `record.region`, which must be below max_metrics.
  void put(Record& record, std::int64_t value) {
    record.is_whole = (known_ >> record.region & 1) == 0;
    record.value = record.is_whole ? value : format::wrapping_difference(value, last_[record.region]);
    know(record, value);
  }
  /// Reader: the count of a decoded record.
  std::int64_t take(const Record& record) {
    const bool is_known = (known_ >> record.region & 1) != 0;
    const std::int64_t value =
        record.is_whole || !is_known ? record.value : format::wrapping_sum(last_[record.region], record.value);
    know(record, value);
    return value;
  }

 private:
  void know(const Record& record, std::int64_t value) {
    last_[record.region] = value;
    known_ |= 1u << record.region;
  }

  std::uint32_t known_ = 0;  ///< a bit for each metric
  std::int64_t last_[max_metrics] = {};
};

}  // namespace refrain::events
