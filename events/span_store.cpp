#include "events/span_store.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace refrain::events {

namespace {

/// How many bytes are compressed at once: about 2 ms. Larger for large memories, because all records behind are moved.
constexpr std::size_t min_packed_at_once = std::size_t{512} << 10, pieces = 16;

}  // namespace

void SpanStore::create(std::span<std::byte> memory, Buffer& buffer, std::int64_t time, unsigned slowest,
                       const Packer& packer) {
  *this = SpanStore{};
  data_ = memory.data();
  memory_ = memory.size() / alignof(Kept) * alignof(Kept);
  packer_ = packer;
  end_ = reinterpret_cast<Kept*>(data_ + memory_);
  slowest_ = std::min(slowest, max_slow);
  (void)loop_of(0);
  begin_span(buffer, time);
}

SpanStore::Loop* SpanStore::loop_of(std::uint16_t region) {
  for (unsigned i = 0; i < loop_count_; ++i)
    if (loops_[i].region == region) return &loops_[i];
  if (loop_count_ == max_loops) return nullptr;
  loops_[loop_count_].region = region;
  loops_[loop_count_].slow_most = static_cast<std::uint8_t>(region == 0 ? 0 : slowest_);
  return &loops_[loop_count_++];
}

namespace {

bool is_wanted(const SpanStore::Loop& loop, std::uint64_t number) {
  return format::KeptIterations{.level = loop.level}.has(number);
}

bool precedes_wanted(const SpanStore::Loop& loop, std::uint64_t number) {
  return loop.region != 0 && format::KeptIterations{.level = loop.level}.precedes(number, loop.sparse);
}

bool is_among_slow(const SpanStore::Loop& loop, std::uint64_t number) {
  return std::ranges::find(loop.slowest(), number, &SpanStore::Slow::number) != loop.slowest().end();
}

}  // namespace

/// Whether the iteration is among the slowest so far.
bool SpanStore::note_slow(Loop& loop, std::uint64_t number, std::int64_t duration) {
  if (loop.slow_count < loop.slow_most) {
    loop.slow[loop.slow_count++] = {number, duration};
    return true;
  }
  if (loop.slow_count == 0) return false;
  Slow& least = *std::ranges::min_element(std::span(loop.slow).first(loop.slow_count), {}, &Slow::duration);
  if (duration <= least.duration) return false;
  least = {number, duration};
  has_unwanted_ = true;
  return true;
}

void SpanStore::forget_slow(Loop& loop, std::uint64_t number) {
  const auto slow = std::span(loop.slow).first(loop.slow_count);
  const auto at = std::ranges::find(slow, number, &Slow::number);
  if (at == slow.end()) return;
  *at = slow.back();
  --loop.slow_count;
}

std::size_t SpanStore::max_span_bytes() const { return std::min(memory_ / 4, std::size_t{64} << 20); }

void SpanStore::limit_span(Buffer& buffer) const {
  buffer.set_capacity(std::min(top(), begin_.size + max_span_bytes()));
}

void SpanStore::begin_span(Buffer& buffer, std::int64_t time) {
  begin_ = buffer.end();
  begin_.missing = 0;
  limit_span(buffer);
  (void)buffer.append_jump(time);
  begin_records_ = 1;
}

/// The sum in which the size of a span counts.
std::uint64_t& SpanStore::bytes_of(Loop& loop, std::uint64_t number) {
  return is_wanted(loop, number) ? loop.bytes : precedes_wanted(loop, number) ? loop.preceding_bytes : loop.slow_bytes;
}

/// Whether a span counts as a kept iteration, and not only as one that precedes another.
bool SpanStore::is_counted(const Loop& loop, const Kept& of) {
  return loop.region != 0 && (of.always || is_wanted(loop, of.number) || is_among_slow(loop, of.number));
}

void SpanStore::keep(Buffer& buffer, Loop& loop, std::uint64_t number, bool always) {
  const Buffer::Position end = buffer.end();
  Kept& of = kept(count_++);
  of = {number,
        end.context.time,
        static_cast<std::uint32_t>(end.size - begin_.size),
        end.count - begin_.count,
        static_cast<std::uint32_t>(end.size - begin_.size),
        static_cast<std::uint16_t>(&loop - loops_.data()),
        always};
  if (!always) bytes_of(loop, number) += of.size + sizeof(Kept);
  iterations_ += is_counted(loop, of);
  records_ += of.records;
  raw_bytes_ += of.raw_size;
}

void SpanStore::end_span(Buffer& buffer, const Record& end) {
  if (is_moving_) return;  // a signal came meanwhile, and its handler ends the process
  const bool is_outside = end.region == 0;
  const std::uint64_t number = is_outside ? outside_++ : static_cast<std::uint64_t>(end.value);
  const bool has_records = !is_empty(buffer);
  Loop* loop = loop_of(end.region);
  const bool is_first = number == 0 && (is_outside || end.region == stretches);
  const bool is_slow = loop && note_slow(*loop, number, end.time - end.begin);
  const bool wanted = loop && (is_first || is_slow || is_wanted(*loop, number) || precedes_wanted(*loop, number)) &&
                      (has_records || !is_outside);
  if (wanted && buffer.append(end)) {
    keep(buffer, *loop, number, is_first);
    make_room(buffer);
  } else {
    if (is_slow) forget_slow(*loop, number);
    // The buffer's context goes back, too; its time is that of the jump.
    buffer.rewind(begin_);
  }
  begin_span(buffer, end.time);
}

void SpanStore::start_over(Buffer& buffer, std::int64_t time) {
  buffer.drop_all();  // counts them as dropped
  Buffer::Position position = buffer.end();
  position.missing = 0;
  buffer.rewind(position);
  for (Loop& loop : loops_in_use()) {
    loop.bytes = loop.slow_bytes = loop.preceding_bytes = 0;
    loop.slow_count = 0;
  }
  dropped_written_ |= written_ > 0;
  count_ = written_ = looked_at_ = raw_bytes_ = written_bytes_ = 0;
  iterations_ = records_ = 0;
  is_moving_ = has_unwanted_ = false;
  begin_span(buffer, time);
}

void SpanStore::finish(Buffer& buffer) {
  if (is_moving_ || is_empty(buffer)) return;
  keep(buffer, loops_[0], outside_, true);
  begin_ = buffer.end();
}

/// Makes a quarter of the memory free for the span in progress.
void SpanStore::make_room(Buffer& buffer) {
  while (top() - buffer.size() < max_span_bytes()) {
    if (has_unwanted_) {
      drop_unwanted(buffer);
      continue;
    }
    if (drop_slow(buffer) || drop_preceding(buffer) || pack_some(buffer)) continue;
    const std::span<Loop> loops = loops_in_use();
    Loop& largest = *std::ranges::max_element(loops, {}, &Loop::bytes);
    if (largest.bytes == 0 || largest.level == format::highest_level) return;  // the remaining spans always stay
    ++largest.level;
    drop_unwanted(buffer);
  }
}

/// If the slowest iterations take more than a quarter of the memory, the loop with most of them keeps one less. False:
/// they do not.
bool SpanStore::drop_slow(Buffer& buffer) {
  const std::span<Loop> loops = loops_in_use();
  std::uint64_t bytes = 0;
  for (const Loop& loop : loops) bytes += loop.slow_bytes;
  if (bytes <= memory_ / 4) return false;
  Loop& largest = *std::ranges::max_element(loops, {}, &Loop::slow_bytes);
  if (largest.slow_count == 0) return false;
  const auto slow = std::span(largest.slow).first(largest.slow_count);
  forget_slow(largest, std::ranges::min_element(slow, {}, &Slow::duration)->number);
  largest.slow_most = largest.slow_count;
  drop_unwanted(buffer);
  return true;
}

/// If spans that precede a chosen one take more than a sixteenth of the memory, the loop with most of them keeps half
/// of them. False: they do not.
bool SpanStore::drop_preceding(Buffer& buffer) {
  const std::span<Loop> loops = loops_in_use();
  std::uint64_t bytes = 0;
  for (const Loop& loop : loops) bytes += loop.preceding_bytes;
  Loop& largest = *std::ranges::max_element(loops, {}, &Loop::preceding_bytes);
  if (bytes <= memory_ / 16 || largest.sparse == format::highest_level) return false;
  ++largest.sparse;
  drop_unwanted(buffer);
  return true;
}

/// Compresses some more spans. False: all have been tried, uncompressed they would take more than twice the memory, or
/// these became no smaller.
bool SpanStore::pack_some(Buffer& buffer) {
  if (!packer_.exists() || looked_at_ == count_ || raw_bytes_ > 2 * memory_) return false;
  std::size_t from = 0;
  for (std::size_t i = 0; i < looked_at_; ++i) from += kept(i).size;
  std::size_t to = from, seen = 0;
  const std::size_t max_packed_at_once = std::max(min_packed_at_once, buffer.size() / pieces);
  is_moving_ = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  for (; looked_at_ < count_ && seen < max_packed_at_once; ++looked_at_) {
    Kept& of = kept(looked_at_);
    const std::size_t before = of.size;
    seen += before;
    std::span<const std::byte> packed;
    if (before >= Packer::least && !of.is_packed()) packed = packer_.pack({data_ + from, before});
    if (!packed.empty()) {
      std::memcpy(data_ + to, packed.data(), packed.size());
      of.size = static_cast<std::uint32_t>(packed.size());
      if (!of.always) bytes_of(loops_[of.loop], of.number) -= before - of.size;
      if (looked_at_ < written_) written_bytes_ -= before - of.size;
    } else if (to != from) {
      std::memmove(data_ + to, data_ + from, before);
    }
    from += before;
    to += of.size;
  }
  if (to != from) std::memmove(data_ + to, data_ + from, buffer.size() - from);
  buffer.close_gaps(from - to, 0);
  begin_.size -= from - to;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  is_moving_ = false;
  return to != from;
}

/// Moves the spans that stay together, in one pass over the memory.
void SpanStore::drop_unwanted(Buffer& buffer) {
  std::size_t from = 0, to = 0, stay = 0, written = 0, written_bytes = 0, looked_at = 0;
  std::uint32_t dropped_records = 0;
  for (Loop& loop : loops_in_use()) loop.bytes = loop.slow_bytes = loop.preceding_bytes = 0;
  has_unwanted_ = false;
  is_moving_ = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  iterations_ = records_ = raw_bytes_ = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const Kept of = kept(i);
    Loop& loop = loops_[of.loop];
    if (of.always || is_wanted(loop, of.number) || precedes_wanted(loop, of.number) || is_among_slow(loop, of.number)) {
      if (to != from) std::memmove(data_ + to, data_ + from, of.size);
      to += of.size;
      kept(stay++) = of;
      if (!of.always) bytes_of(loop, of.number) += of.size + sizeof(Kept);
      iterations_ += is_counted(loop, of);
      records_ += of.records;
      raw_bytes_ += of.raw_size;
      if (i < written_) ++written, written_bytes += of.size;
      if (i < looked_at_) ++looked_at;
    } else {
      dropped_records += of.records;
      dropped_written_ |= i < written_;
    }
    from += of.size;
  }
  std::memmove(data_ + to, data_ + from, buffer.size() - from);
  buffer.close_gaps(from - to, dropped_records);
  begin_.size -= from - to;
  begin_.count -= dropped_records;
  count_ = stay;
  written_ = written;
  written_bytes_ = written_bytes;
  looked_at_ = looked_at;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  is_moving_ = false;
}

void SpanStore::agree(Buffer& buffer, std::uint16_t region, unsigned level, unsigned sparse,
                      std::span<const std::uint64_t> slowest) {
  Loop* loop = loop_of(region);
  if (!loop || is_moving_) return;
  if (level > loop->level && level <= format::highest_level) loop->level = static_cast<std::uint8_t>(level);
  if (sparse > loop->sparse && sparse <= format::highest_level) loop->sparse = static_cast<std::uint8_t>(sparse);
  for (std::size_t i = loop->slow_count; i-- > 0;) {
    const std::uint64_t number = loop->slow[i].number;
    if (std::ranges::find(slowest, number) == slowest.end()) forget_slow(*loop, number);
  }
  loop->slow_most = loop->slow_count;
  drop_unwanted(buffer);
  limit_span(buffer);
}

Block SpanStore::next_block(const Buffer& buffer, std::span<std::byte> room) {
  Block block;
  block.begin.thread = buffer.end().context.thread;
  if (written_ < count_) block.begin.time = kept(written_).end;
  if (written_ < count_ && kept(written_).is_packed()) return next_packed_block(block, room);
  std::size_t size = 0;
  for (; written_ < count_ && !kept(written_).is_packed() && (size == 0 || size + kept(written_).size <= room.size());
       ++written_) {
    size += kept(written_).size;
    block.count += kept(written_).records;
    block.end = kept(written_).end;
  }
  block.records = {data_ + written_bytes_, size};
  written_bytes_ += size;
  return block;
}

/// A block of compressed spans, at least one.
Block SpanStore::next_packed_block(Block block, std::span<std::byte> room) {
  std::size_t size = 0;
  for (; written_ < count_ && kept(written_).is_packed() && size + kept(written_).raw_size <= room.size(); ++written_) {
    const Kept& of = kept(written_);
    const std::span<std::byte> piece = room.subspan(size, of.raw_size);
    const bool is_good = packer_.unpack({data_ + written_bytes_, of.size}, piece);
    written_bytes_ += of.size;
    if (!is_good) {
      lost_ += of.records;
      continue;
    }
    size += of.raw_size;
    block.count += of.records;
    block.end = of.end;
  }
  block.records = {room.data(), size};
  return block;
}

void SpanStore::write_anew() {
  written_ = written_bytes_ = 0;
  dropped_written_ = false;
}

}  // namespace refrain::events
