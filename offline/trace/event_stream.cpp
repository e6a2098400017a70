#include "offline/trace/event_stream.hpp"

#include <algorithm>

namespace refrain::trace {
namespace {

constexpr std::uint32_t unknown_metric = 0xffffffff;

}  // namespace

using events::Kind;
using events::Phase;
using events::Record;

RankClock::RankClock(std::int64_t first_ticks, std::int64_t first_ns, std::int64_t last_ticks, std::int64_t last_ns,
                     double ticks_per_second, std::shared_ptr<const ClockCurve> curve)
    : ticks_(first_ticks), offset_ns_(first_ns), curve_(std::move(curve)) {
  const double ticks = static_cast<double>(last_ticks) - static_cast<double>(first_ticks);
  const double ns = static_cast<double>(last_ns) - static_cast<double>(first_ns);
  ns_per_tick_ = ticks > 0 && ns > 0 ? ns / ticks : 1e9 / ticks_per_second;
}

EventStream::EventStream(std::shared_ptr<const experiment::EventFile> file, std::int32_t thread, std::uint32_t location,
                         const NamesOfLocation& names, const RankClock& clock, const IsShown& is_shown,
                         std::int64_t from_ns)
    : file_(std::move(file)), thread_(thread), location_(location), names_(names), clock_(clock), is_shown_(is_shown) {
  const auto& frames = file_->frames();
  while (frame_ < frames.size() && (frames[frame_].thread != thread_ || clock_.time_of(frames[frame_].end) < from_ns))
    ++frame_;
}

/// A frame of a sample has whole spans, each beginning with a jump. Malformed data stays, and is found later.
void EventStream::drop_hidden_spans() {
  std::vector<std::byte> shown;
  events::Context context = context_;
  std::size_t begin = 0;
  bool is_hidden = false;
  const auto end_span = [&](std::size_t end) {
    if (!is_hidden) shown.insert(shown.end(), bytes_.data() + begin, bytes_.data() + end);
    begin = end;
    is_hidden = false;
  };
  for (std::size_t at = 0; at < bytes_.size();) {
    Record record;
    const std::size_t size = events::decode(std::span(bytes_).subspan(at), context, record);
    if (size == 0) {
      is_hidden = false;
      break;
    }
    if (record.kind == Kind::Jump) end_span(at);
    if (record.kind == Kind::Span) is_hidden = !is_shown_(record.region, record.value);
    at += size;
  }
  end_span(bytes_.size());
  bytes_ = std::move(shown);
}

bool EventStream::next_frame() {
  const auto& frames = file_->frames();
  while (frame_ < frames.size() && frames[frame_].thread != thread_) ++frame_;
  if (frame_ == frames.size()) return false;
  const experiment::EventFrame& frame = frames[frame_++];
  file_->read(frame, bytes_);
  context_ = frame.begin;
  numbers_.forget();
  metrics_.forget();
  read_ = 0;
  if (bytes_.empty()) lose(frame.begin.time, frame.records);
  else if (is_shown_) drop_hidden_spans();
  at_ = bytes_.data();
  end_ = at_ + bytes_.size();
  return true;
}

/// Numbers of messages and metrics are relative to earlier ones, as far as nothing is missing.
inline void EventStream::note_what_is_known(Record& record) {
  if (events::has_number(record.kind, record.phase)) {
    const events::MessageNumber number = numbers_.take(record);
    record.ordinal = number.ordinal;
    record.tags_before = number.tags_before;
  } else if (record.kind == Kind::Metric) {
    record.value = metrics_.take(record);
    record.node = record.region < names_.metrics.size() ? names_.metrics[record.region] : unknown_metric;
  } else if (record.kind == Kind::Gap || record.kind == Kind::Jump) {
    numbers_.forget();
    metrics_.forget();
  }
}

/// Decodes the next record of the frame. False: it is malformed, and the rest of the frame is lost.
inline bool EventStream::decode(Record& record) {
  const std::size_t size = events::decode({at_, end_}, context_, record);
  at_ += size;
  ++read_;
  if (size > 0) [[likely]]
    return note_what_is_known(record), true;
  const experiment::EventFrame& frame = file_->frames()[frame_ - 1];
  file_->note_damage(frame);
  lose(context_.time, std::int64_t{frame.records} - read_ + 1);
  at_ = end_;
  return false;
}

/// The next record, stored behind the communications of the call to come; if it is one of these, it stays there until
/// the call comes. Null: there are no more records.
const Record* EventStream::read_record() {
  for (;;) {
    while (at_ == end_)
      if (!next_frame()) return nullptr;
    if (moved_count_ == moved_.size()) moved_.resize(2 * moved_count_ + 8);
    if (Record& record = moved_[moved_count_]; decode(record)) return &record;
  }
}

/// Damage: records are missing from here on. The time that the first record of a location is relative to may be long
/// before its begin.
void EventStream::lose(std::int64_t ticks, std::int64_t records) {
  ticks = std::max(ticks, std::min(names_.begin, file_->frames()[frame_ - 1].end));
  moved_count_ = 0;
  in_call_ = false;
  Record gap;
  gap.kind = Kind::Gap;
  gap.time = ticks;
  gap.value = records;
  put(Type::Gap, ticks, gap);
}

/// A tick may come between the clock reading that ends an iteration and the record of it: then the sample is recorded
/// first.
void EventStream::put(Type type, std::int64_t ticks, const Record& record) {
  auto at = held_.end();
  while (at != held_.begin() && std::prev(at)->ticks > ticks) --at;
  held_.insert(at, {ticks, type, record});
}

void EventStream::emit(Type type, std::int64_t ticks, const Record& record) {
  Event& event = add();
  event.type = type;
  event.location = location_;
  event.time_ns = last_ns_ = std::max(last_ns_, clock_.time_of(ticks));
  const bool has_path = type <= Type::MarkEnd;
  event.path = has_path && record.node < names_.paths.size() ? names_.paths[record.node] : no_path;
  event.record = record;
}

void EventStream::release() {
  for (const Held& held : held_) emit(held.type, held.ticks, held.record);
  held_.clear();
}

namespace {

constexpr std::size_t enough = 64;  // events per batch

/// A message is received when the call returns; sends and begun operations happen when it is entered.
bool is_at_end(const Record& moved) {
  const bool received = moved.kind == Kind::Receive || moved.kind == Kind::Read;
  return moved.phase >= Phase::Completed || (moved.phase == Phase::Whole && received);
}

}  // namespace

void EventStream::take_call(const Record& call) {
  const std::span<Record> moved_here(moved_.data(), moved_count_);
  for (Record& moved : moved_here) moved.node = call.node;
  moved_count_ = 0;
  if (held_.empty() && !call.is_within) [[likely]] {
    emit(Type::Enter, call.begin, call);
    for (const Record& moved : moved_here)
      if (!is_at_end(moved)) emit(Type::Communication, call.begin, moved);
    for (const Record& moved : moved_here)
      if (is_at_end(moved)) emit(Type::Communication, call.time, moved);
    return emit(Type::Leave, call.time, call);
  }
  // A call that was left by a jump ends when it was last seen, but not before the calls within it.
  std::int64_t end = call.time;
  if (in_call_ && !held_.empty()) end = std::max(end, held_.back().ticks);
  // Goes before everything that begins at the same time or later.
  auto at = held_.end();
  const auto is_later = [&](const Held& held) {
    const bool begins = held.type == Type::Enter || held.type == Type::Communication;
    return held.ticks > call.begin || (held.ticks == call.begin && begins);
  };
  while (at != held_.begin() && is_later(*std::prev(at))) --at;
  at = std::next(held_.insert(at, {call.begin, Type::Enter, call}));
  for (const Record& moved : moved_here)
    if (!is_at_end(moved)) at = std::next(held_.insert(at, {call.begin, Type::Communication, moved}));
  for (const Record& moved : moved_here)
    if (is_at_end(moved)) put(Type::Communication, end, moved);
  put(Type::Leave, end, call);
}

/// Makes the events of a call and of its communications, which are in their places except for the Enter.
inline void EventStream::place_call(std::size_t moved) {
  Event* const enter = &place(0);
  Event* const leave = enter + 1 + moved;
  const Record& call = leave->record;
  const std::uint32_t node = call.node, path = node < names_.paths.size() ? names_.paths[node] : no_path;
  const std::int64_t begin_ns = std::max(last_ns_, clock_.time_of(call.begin));
  const std::int64_t end_ns = last_ns_ = std::max(begin_ns, clock_.time_of(call.time));
  const auto describe = [&](Event& event, Type type, std::int64_t time_ns) {
    event.type = type;
    event.location = location_;
    event.time_ns = time_ns;
    event.path = path;
  };
  describe(*enter, Type::Enter, begin_ns);
  enter->record = call;
  for (Event* event = enter + 1; event != leave; ++event) {
    describe(*event, Type::Communication, is_at_end(event->record) ? end_ns : begin_ns);
    event->record.node = node;
  }
  describe(*leave, Type::Leave, end_ns);
  add_placed(2 + moved);
}

/// Most records are calls within which nothing happened. While nothing is held, records are decoded to where their
/// events stay: the place of Enter comes first, then the communications of the call. Null: there are enough events, or
/// the frame has ended; else the record that has to be handled in another way, behind the communications of the call.
const Record* EventStream::take_calls() {
  constexpr std::size_t most_moved = 256;
  std::size_t moved = 0;
  bool in_order = true, any_at_end = false;
  while (count() < enough && at_ != end_) {
    Record& record = place(1 + moved).record;
    if (!decode(record)) return nullptr;
    if (events::is_communication(record.kind) && moved < most_moved) {
      const bool at_end = is_at_end(record);
      in_order &= at_end || !any_at_end;
      any_at_end |= at_end;
      ++moved;
    } else if (record.kind == Kind::Call && !record.is_within && in_order) [[likely]] {
      place_call(moved);
      moved = 0;
      any_at_end = false;
    } else {
      keep_moved(moved);
      return &(moved_[moved] = record);
    }
  }
  keep_moved(moved);
  return nullptr;
}

/// Moves the communications in the places behind the next one to moved_, where they wait for their call.
void EventStream::keep_moved(std::size_t moved) {
  moved_.resize(std::max(moved_.size(), moved + 1));
  for (std::size_t i = 0; i < moved; ++i) moved_[i] = place(1 + i).record;
  moved_count_ = moved;
}

void EventStream::take(const Record& record) {
  switch (record.kind) {
    case Kind::Call: take_call(record); break;
    case Kind::Sample: return put(Type::Sample, record.time, record);
    case Kind::Mark: return put(record.begins ? Type::MarkBegin : Type::MarkEnd, record.time, record);
    case Kind::Span:
      if (held_.empty() && !record.is_within) emit(Type::SpanEnd, record.time, record);
      else put(Type::SpanEnd, record.time, record);
      break;
    case Kind::Gap: moved_count_ = 0; return put(Type::Gap, record.time, record);
    case Kind::Jump:
      moved_count_ = 0;
      in_call_ = false;
      return;
    case Kind::Metric: put(Type::Metric, record.time, record); break;
    case Kind::Flush: put(Type::FlushBegin, record.begin, record); return put(Type::FlushEnd, record.time, record);
    default: return put(Type::ThreadEnd, record.time, record);
  }
  // A call may last for the whole run, on a thread that only receives: not everything within it can be held.
  constexpr std::size_t most_held = std::size_t{1} << 18;
  in_call_ = record.is_within && held_.size() < most_held;
}

void EventStream::make_some() {
  constexpr std::size_t most_samples = 64;
  while (count() < enough) {
    const Record* record = held_.empty() && moved_count_ == 0 ? take_calls() : nullptr;
    if (!record) {
      if (count() >= enough) break;
      record = read_record();
    }
    if (!record) {
      release();
      break;
    }
    if (events::is_communication(record->kind)) {
      constexpr std::size_t most_moved = std::size_t{1} << 20;  // more than any call moves
      if (++moved_count_ == most_moved) lose(context_.time, static_cast<std::int64_t>(most_moved));
      continue;
    }
    take(*record);
    if (held_.empty()) continue;
    const bool may_be_early = record->kind == Kind::Sample && held_.size() < most_samples;
    if (!in_call_ && moved_count_ == 0 && !may_be_early) release();
  }
}

}  // namespace refrain::trace
