#include "events/span_store.hpp"

#include <algorithm>
#include <cstring>

namespace refrain::events {

void SpanStore::create(std::span<std::byte> memory, Buffer& buffer, std::int64_t time) {
  *this = SpanStore{};
  data_ = memory.data();
  memory_ = memory.size() / alignof(Kept) * alignof(Kept);
  end_ = reinterpret_cast<Kept*>(data_ + memory_);
  (void)loop_of(0);
  begin_span(buffer, time);
}

SpanStore::Loop* SpanStore::loop_of(std::uint16_t region) {
  for (unsigned i = 0; i < loop_count_; ++i)
    if (loops_[i].region == region) return &loops_[i];
  if (loop_count_ == most_loops) return nullptr;
  loops_[loop_count_].region = region;
  return &loops_[loop_count_++];
}

namespace {

bool is_wanted(const SpanStore::Loop& loop, std::uint64_t number) {
  format::KeptIterations chosen;
  chosen.level = loop.level;
  return chosen.has(number);
}

}  // namespace

std::size_t SpanStore::most_of_a_span() const { return std::min(memory_ / 4, std::size_t{1} << 30); }

void SpanStore::limit_span(Buffer& buffer) const {
  buffer.set_capacity(std::min(top(), begin_.size + most_of_a_span()));
}

void SpanStore::begin_span(Buffer& buffer, std::int64_t time) {
  begin_ = buffer.end();
  begin_.missing = 0;
  limit_span(buffer);
  (void)buffer.append_jump(time);
}

void SpanStore::keep(Buffer& buffer, Loop& loop, std::uint64_t number, bool always) {
  const Buffer::Place end = buffer.end();
  Kept& of = kept(count_++);
  of = {number,
        end.context.time,
        static_cast<std::uint32_t>(end.size - begin_.size),
        end.count - begin_.count,
        static_cast<std::uint16_t>(&loop - loops_.data()),
        always};
  if (!always) loop.bytes += of.size + sizeof(Kept);
  iterations_ += loop.region != 0;
  records_ += of.records;
}

void SpanStore::end_span(Buffer& buffer, const Record& end) {
  const bool is_outside = end.region == 0;
  const std::uint64_t number = is_outside ? outside_++ : static_cast<std::uint64_t>(end.value);
  const bool has_records = buffer.end().count > begin_.count + 1;  // than the jump
  Loop* loop = loop_of(end.region);
  const bool is_first = is_outside && number == 0;
  if (loop && (is_first || is_wanted(*loop, number)) && (has_records || !is_outside) && buffer.append(end)) {
    keep(buffer, *loop, number, is_first);
    make_room(buffer);
  } else {
    // What numbers are relative to goes on; the time is that of the jump.
    buffer.rewind(begin_);
  }
  begin_span(buffer, end.time);
}

void SpanStore::finish(Buffer& buffer) {
  if (buffer.end().count <= begin_.count + 1) return;
  keep(buffer, loops_[0], outside_, true);
  begin_ = buffer.end();
}

/// The span in progress shall find a quarter of the memory.
void SpanStore::make_room(Buffer& buffer) {
  while (top() - buffer.size() < most_of_a_span()) {
    const auto loops = std::span(loops_).first(loop_count_);
    Loop& largest = *std::ranges::max_element(loops, {}, &Loop::bytes);
    if (largest.bytes == 0 || largest.level == format::highest_level) return;  // what is left always stays
    ++largest.level;
    drop_unwanted(buffer);
  }
}

/// One pass over the memory: what stays is moved together.
void SpanStore::drop_unwanted(Buffer& buffer) {
  std::size_t from = 0, to = 0, stay = 0, written = 0, written_bytes = 0;
  std::uint32_t dropped_records = 0;
  for (Loop& loop : std::span(loops_).first(loop_count_)) loop.bytes = 0;
  iterations_ = records_ = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const Kept of = kept(i);
    Loop& loop = loops_[of.loop];
    if (of.always || is_wanted(loop, of.number)) {
      if (to != from) std::memmove(data_ + to, data_ + from, of.size);
      to += of.size;
      kept(stay++) = of;
      if (!of.always) loop.bytes += of.size + sizeof(Kept);
      iterations_ += loop.region != 0;
      records_ += of.records;
      if (i < written_) ++written, written_bytes += of.size;
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
}

void SpanStore::raise(Buffer& buffer, std::uint16_t region, unsigned level) {
  Loop* loop = loop_of(region);
  if (!loop || level <= loop->level || level > format::highest_level) return;
  loop->level = static_cast<std::uint8_t>(level);
  drop_unwanted(buffer);
  limit_span(buffer);
}

Block SpanStore::next_block(const Buffer& buffer, std::size_t bytes) {
  Block block;
  const std::byte* begin = data_ + written_bytes_;
  std::size_t size = 0;
  block.begin.thread = buffer.end().context.thread;
  if (written_ < count_) block.begin.time = kept(written_).end;
  for (; written_ < count_ && (size == 0 || size + kept(written_).size <= bytes); ++written_) {
    size += kept(written_).size;
    block.count += kept(written_).records;
    block.end = kept(written_).end;
  }
  block.records = {begin, size};
  written_bytes_ += size;
  return block;
}

void SpanStore::write_anew() {
  written_ = written_bytes_ = 0;
  dropped_written_ = false;
}

}  // namespace refrain::events
