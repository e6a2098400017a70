#pragma once
/// The events of one location of an experiment, from its frames, one of which is in memory at a time.

#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "events/message_numbers.hpp"
#include "events/metric_values.hpp"
#include "format/bytes.hpp"
#include "offline/experiment/events_reader.hpp"
#include "offline/trace/clock_correction.hpp"
#include "offline/trace/event_source.hpp"

namespace refrain::trace {

/// From ticks of a rank's counter to nanoseconds of the trace.
class RankClock {
 public:
  RankClock() = default;
  /// Two moments, in ticks and as times of the trace. When they are the same the counter has its usual frequency.
  /// `curve`: what to add to these times; null: nothing.
  RankClock(std::int64_t first_ticks, std::int64_t first_ns, std::int64_t last_ticks, std::int64_t last_ns,
            double ticks_per_second, std::shared_ptr<const ClockCurve> curve = nullptr);
  std::int64_t time_of(std::int64_t ticks) const {
    // Damaged files have any times; 2^62 ns are 146 years.
    constexpr double most = 4.6e18;
    const double ns = static_cast<double>(format::wrapping_difference(ticks, ticks_)) * ns_per_tick_;
    const std::int64_t even = offset_ns_ + static_cast<std::int64_t>(ns < -most ? -most : ns > most ? most : ns);
    return curve_ ? even + static_cast<std::int64_t>(curve_->at(static_cast<double>(even))) : even;
  }

 private:
  std::int64_t ticks_ = 0, offset_ns_ = 0;
  double ns_per_tick_ = 1;
  std::shared_ptr<const ClockCurve> curve_;
};

/// Whether a span that is in the file is shown: of a sample of iterations not all ranks have the same. `region` 0:
/// outside of iterations.
using IsShown = std::function<bool(std::uint32_t region, std::int64_t iteration)>;

/// What a location's events are about, by the numbers that they have of it. Outlives the stream.
struct NamesOfLocation {
  std::span<const std::uint32_t> paths;                           ///< of the experiment, by node
  std::span<const std::uint32_t> metrics;                         ///< of Trace::metrics(), by the rank's own number
  std::int64_t begin = std::numeric_limits<std::int64_t>::min();  ///< of the location, ticks
};

/// Some hundred are made at a time. What happens within a call is recorded before the call: it is held until the call
/// is known.
class EventStream final : public EventSource {
 public:
  /// `location`: the number that its events have. `is_shown`: null: all spans are. Frames that end before `from_ns` are
  /// left out.
  EventStream(std::shared_ptr<const experiment::EventFile> file, std::int32_t thread, std::uint32_t location,
              const NamesOfLocation& names, const RankClock& clock, const IsShown& is_shown = nullptr,
              std::int64_t from_ns = std::numeric_limits<std::int64_t>::min());

 private:
  struct Held {
    std::int64_t ticks;
    Type type;
    events::Record record;
  };
  bool decode(events::Record& record);
  const events::Record* read_record();
  const events::Record* take_calls();
  void place_call(std::size_t moved);
  void keep_moved(std::size_t moved);
  bool next_frame();
  void note_what_is_known(events::Record& record);
  void drop_hidden_spans();
  void take(const events::Record& record);
  void take_call(const events::Record& record);
  void put(Type type, std::int64_t ticks, const events::Record& record);
  void emit(Type type, std::int64_t ticks, const events::Record& record);
  void make_some() override;
  void lose(std::int64_t ticks, std::int64_t records);
  void release();

  std::shared_ptr<const experiment::EventFile> file_;
  std::int32_t thread_;
  std::uint32_t location_;
  NamesOfLocation names_;
  RankClock clock_;
  IsShown is_shown_;
  std::size_t frame_ = 0;   ///< index of the next
  std::uint32_t read_ = 0;  ///< records of the frame that were read
  std::vector<std::byte> bytes_;
  const std::byte* at_ = nullptr;  ///< in `bytes_`: the next record
  const std::byte* end_ = nullptr;
  events::Context context_;
  events::MessageNumbers numbers_;
  events::MetricValues metrics_;
  std::vector<events::Record> moved_;  ///< the first of them: communications of the call to come
  std::size_t moved_count_ = 0;
  std::deque<Held> held_;
  bool in_call_ = false;  ///< what is held lies within a call to come
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace refrain::trace
