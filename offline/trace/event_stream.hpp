#pragma once
/// The events of one location of an experiment, read from its frames, one of which is in memory at a time.

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

/// Converts ticks of a rank's counter to nanoseconds of the trace.
class RankClock {
 public:
  RankClock() = default;
  /// Two moments, each in ticks and as a time of the trace. If they are the same, `ticks_per_second` applies. `curve`:
  /// what to add to these times; null: nothing.
  RankClock(std::int64_t first_ticks, std::int64_t first_ns, std::int64_t last_ticks, std::int64_t last_ns,
            double ticks_per_second, std::shared_ptr<const ClockCurve> curve = nullptr);
  std::int64_t time_of(std::int64_t ticks) const {
    // Damaged files may contain any time; 2^62 ns are 146 years.
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

/// Whether a span in the file is shown: ranks may have kept different iterations of a sample. `region` 0: outside of
/// iterations.
using IsShown = std::function<bool(std::uint32_t region, std::int64_t iteration)>;

/// What the numbers in a location's events refer to. Must outlive the stream.
struct NamesOfLocation {
  std::span<const std::uint32_t> paths;    ///< call paths of the experiment, by node
  std::span<const std::uint32_t> metrics;  ///< indices into Trace::metrics(), by the rank's own number
  std::int64_t begin = std::numeric_limits<std::int64_t>::min();  ///< begin of the location, ticks
};

/// Events are made in batches. What happens within a call is recorded before the call: it is held until the call is
/// known.
class EventStream final : public EventSource {
 public:
  /// `location`: the number that its events get. `is_shown`: null: all spans are shown. Frames that end before
  /// `from_ns` are skipped.
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
  std::size_t frame_ = 0;   ///< of the next frame
  std::uint32_t read_ = 0;  ///< records of the frame that were read
  std::vector<std::byte> bytes_;
  const std::byte* at_ = nullptr;  ///< the next record in `bytes_`
  const std::byte* end_ = nullptr;
  events::Context context_;
  events::MessageNumbers numbers_;
  events::MetricValues metrics_;
  std::vector<events::Record> moved_;  ///< the first moved_count_: communications of the call to come
  std::size_t moved_count_ = 0;
  std::deque<Held> held_;
  bool in_call_ = false;  ///< held events lie within a call to come
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace refrain::trace
