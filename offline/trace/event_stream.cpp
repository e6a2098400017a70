#include "offline/trace/event_stream.hpp"

#include <algorithm>

namespace refrain::trace {

using events::Kind;
using events::Phase;
using events::Record;

const char* name_of(Type type) {
  constexpr const char* names[types] = {"enter",    "leave", "communication", "sample",    "mark_begin", "mark_end",
                                        "span_end", "gap",   "flush_begin",   "flush_end", "thread_end"};
  return names[static_cast<std::size_t>(type)];
}

const char* name_of(Kind kind) {
  constexpr const char* names[events::kinds] = {"call", "send",  "receive",      "collective",  "one_sided",
                                                "read", "write", "communicator", "generalized", "sample",
                                                "mark", "span",  "gap",          "flush",       "thread_end"};
  return names[static_cast<std::size_t>(kind)];
}

const char* name_of(Phase phase) {
  constexpr const char* names[] = {"whole", "begun", "completed", "cancelled"};
  return names[static_cast<std::size_t>(phase)];
}

RankClock::RankClock(const experiment::EventsOfRank& events, double ticks_per_second, std::int64_t begin_ns)
    : ticks_(events.first.ticks), offset_ns_(events.first.monotonic_ns - begin_ns) {
  const auto ticks = static_cast<double>(events.last.ticks - events.first.ticks);
  const auto ns = static_cast<double>(events.last.monotonic_ns - events.first.monotonic_ns);
  ns_per_tick_ = ticks > 0 && ns > 0 ? ns / ticks : 1e9 / ticks_per_second;
}

std::int64_t RankClock::time_of(std::int64_t ticks) const {
  // Damaged files have any times; 2^62 ns are 146 years.
  constexpr double most = 4.6e18;
  const double ns = std::clamp(static_cast<double>(ticks - ticks_) * ns_per_tick_, -most, most);
  return offset_ns_ + static_cast<std::int64_t>(ns);
}

EventStream::EventStream(std::shared_ptr<const experiment::EventFile> file, std::int32_t thread, std::uint32_t location,
                         const std::vector<std::uint32_t>& paths, const RankClock& clock)
    : file_(std::move(file)), thread_(thread), location_(location), paths_(paths), clock_(clock) {}

bool EventStream::next_frame() {
  const auto& frames = file_->frames();
  while (frame_ < frames.size() && frames[frame_].thread != thread_) ++frame_;
  if (frame_ == frames.size()) return false;
  bytes_ = file_->read(frames[frame_]);
  context_ = frames[frame_].begin;
  at_ = 0;
  ++frame_;
  return true;
}

bool EventStream::read_record(Record& record) {
  for (;;) {
    while (at_ == bytes_.size())
      if (!next_frame()) return false;
    const std::size_t size = events::decode(std::span(bytes_).subspan(at_), context_, record);
    at_ += size;
    if (size > 0) return true;
    file_->note_damage(file_->frames()[frame_ - 1]);
    at_ = bytes_.size();
  }
}

void EventStream::put(Type type, std::int64_t ticks, const Record& record) {
  Event& event = held_.emplace_back();
  event.type = type;
  event.location = location_;
  event.time_ns = clock_.time_of(ticks);
  const bool has_path = type <= Type::MarkEnd;
  if (has_path && record.node < paths_.size()) event.path = paths_[record.node];
  event.record = record;
  // A tick may come between the reading of the clock that an iteration ends with and its record.
  for (auto at = held_.rbegin(); std::next(at) != held_.rend(); ++at) {
    Event &later = *at, &earlier = *std::next(at);
    if (earlier.type != Type::Sample || earlier.time_ns <= later.time_ns) return;
    std::swap(earlier, later);
  }
}

/// What is held comes before all that follows.
void EventStream::release() {
  std::ranges::move(held_, std::back_inserter(ready_));
  held_.clear();
  holds_call_ = false;
}

void EventStream::take_call(const Record& call) {
  const bool is_around = holds_call_ && call.begin < held_begin_ && held_end_ <= call.time;
  if (!is_around) release();
  std::deque<Event> within;
  held_.swap(within);
  put(Type::Enter, call.begin, call);
  const auto put_moved = [&](bool at_end) {
    for (Record& moved : moved_) {
      // A message is received when the call returns; what is sent or begun, at its begin.
      const bool received = moved.kind == Kind::Receive || moved.kind == Kind::Read;
      if ((moved.phase >= Phase::Completed || (moved.phase == Phase::Whole && received)) != at_end) continue;
      moved.node = call.node;
      put(Type::Communication, at_end ? call.time : call.begin, moved);
    }
  };
  put_moved(false);
  std::ranges::move(within, std::back_inserter(held_));
  put_moved(true);
  moved_.clear();
  put(Type::Leave, call.time, call);
  holds_call_ = true;
  held_begin_ = call.begin;
  held_end_ = call.time;
}

void EventStream::take(const Record& record) {
  if (events::is_communication(record.kind)) {
    moved_.push_back(record);
    return;
  }
  switch (record.kind) {
    case Kind::Call: return take_call(record);
    case Kind::Sample: return put(Type::Sample, record.time, record);
    case Kind::Mark: return put(record.begins ? Type::MarkBegin : Type::MarkEnd, record.time, record);
    case Kind::Span: return put(Type::SpanEnd, record.time, record);
    case Kind::Gap: moved_.clear(); return put(Type::Gap, record.time, record);
    case Kind::Flush: put(Type::FlushBegin, record.begin, record); return put(Type::FlushEnd, record.time, record);
    default: return put(Type::ThreadEnd, record.time, record);
  }
}

const Event* EventStream::next() {
  while (ready_.empty()) {
    Record record;
    if (!read_record(record)) {
      release();
      if (ready_.empty()) return nullptr;
      break;
    }
    take(record);
    // Without a call nothing can turn out to lie around what is held; a sample may come too early.
    constexpr std::size_t most_samples = 64;
    const bool may_be_early = record.kind == Kind::Sample && held_.size() < most_samples;
    if (!holds_call_ && moved_.empty() && !may_be_early) release();
  }
  event_ = ready_.front();
  ready_.pop_front();
  return &event_;
}

}  // namespace refrain::trace
