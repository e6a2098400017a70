#pragma once
/// The events of one location in chronological order, from its frames, one of which is in memory at a time.

#include <deque>
#include <memory>
#include <vector>

#include "offline/experiment/events_reader.hpp"
#include "offline/trace/event.hpp"

namespace refrain::trace {

/// From ticks of a rank's counter to nanoseconds of the trace.
class RankClock {
 public:
  RankClock() = default;
  /// `begin_ns`: of the trace, on the rank's monotonic clock.
  RankClock(const experiment::EventsOfRank& events, double ticks_per_second, std::int64_t begin_ns);
  std::int64_t time_of(std::int64_t ticks) const;

 private:
  std::int64_t ticks_ = 0, offset_ns_ = 0;
  double ns_per_tick_ = 1;
};

/// A call is told when the next one is known: calls may lie within calls, and the inner one is recorded first.
class EventStream {
 public:
  /// All must outlive it. `location`: the number that its events have. `paths`: of the experiment, by node.
  EventStream(std::shared_ptr<const experiment::EventFile> file, std::int32_t thread, std::uint32_t location,
              const std::vector<std::uint32_t>& paths, const RankClock& clock);

  /// The next event; null: there is none.
  const Event* next();

 private:
  bool read_record(events::Record& record);
  bool next_frame();
  void take(const events::Record& record);
  void take_call(const events::Record& record);
  void put(Type type, std::int64_t ticks, const events::Record& record);
  void release();

  std::shared_ptr<const experiment::EventFile> file_;
  std::int32_t thread_;
  std::uint32_t location_;
  const std::vector<std::uint32_t>& paths_;
  const RankClock& clock_;
  std::size_t frame_ = 0;  ///< index of the next
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
  events::Context context_;
  std::vector<events::Record> moved_;           ///< communications of the call to come
  std::deque<Event> held_;                      ///< the last call, and what came after it
  std::int64_t held_begin_ = 0, held_end_ = 0;  ///< ticks of the calls in it
  bool holds_call_ = false;
  std::deque<Event> ready_;
  Event event_;
};

}  // namespace refrain::trace
