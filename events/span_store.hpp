#pragma once
/// A sample of whole spans in memory: iterations that a hash chooses (format/kept_iterations.hpp), the same ones on
/// every location and every rank, however long the run.
///
/// All of them stay until the memory is used up. Then every second one of the loop that takes most is dropped, and from
/// then on one of two is kept; later one of four, and so on. Time outside of iterations is treated as one more loop.
/// The first and the last span always stay. Besides these, the slowest iterations of each loop stay, as long as they
/// take no more than a quarter of the memory; and the iteration before some of the chosen ones, because messages sent
/// there may be received here, as long as these take no more than a sixteenth. A quarter is left for the span in
/// progress: a larger one is kept as far as it goes, and ends with a Gap.
///
/// When the memory is used up, spans are compressed first (packer.hpp), some at a time so that nobody waits long. The
/// level rises when all are compressed, when the next ones become no smaller, or when uncompressed they would take more
/// than twice the memory, so that files stay small. Very small and very large spans are not compressed, nor are those
/// of small memories (packer.hpp).
///
/// Belongs to one thread at a time; nothing is allocated. The spans lie in the memory of the buffer, one behind the
/// other, each beginning with a Jump. The descriptions of the spans lie at its end and grow downwards.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "events/buffer.hpp"
#include "events/packer.hpp"
#include "format/kept_iterations.hpp"

namespace refrain::events {

class SpanStore {
 public:
  static constexpr unsigned max_loops = 17;  ///< including the one for time outside of iterations
  static constexpr unsigned max_slow = 64;
  struct Slow {
    std::uint64_t number;
    std::int64_t duration;
  };
  struct Loop {
    std::uint16_t region = 0;  ///< 0: outside of iterations
    std::uint8_t level = 0;    ///< one of 2^level iterations is kept
    std::uint8_t slow_count = 0, slow_most = 0;
    std::uint64_t bytes = 0;            ///< of its spans that the hash has chosen
    std::uint64_t slow_bytes = 0;       ///< of spans that are kept only because they are slow
    std::uint8_t sparse = 0;            ///< for one of 2^sparse chosen spans the one before is kept
    std::uint64_t preceding_bytes = 0;  ///< of spans that are kept only for that
    std::array<Slow, max_slow> slow{};
    std::span<const Slow> slowest() const { return {slow.data(), slow_count}; }
  };

  /// `memory` is all memory of the buffer. The first span begins at `time`. `slowest`: how many of the slowest
  /// iterations of each loop to keep, at most max_slow. With a packer, spans must end in ordinary context.
  void create(std::span<std::byte> memory, Buffer& buffer, std::int64_t time, unsigned slowest,
              const Packer& packer = {});

  /// All records of the span in progress so far belong to its begin: without further ones it is empty.
  void note_begin(const Buffer& buffer) { begin_records_ = buffer.count() - begin_.count; }
  bool is_empty(const Buffer& buffer) const { return buffer.count() <= begin_.count + begin_records_; }
  /// The span in progress has ended. It is kept, with `end` as its last record, or dropped, and the next span begins.
  void end_span(Buffer& buffer, const Record& end);
  /// A jump has left one of these functions, at any instruction: drops all spans, and begins one at `time`.
  void start_over(Buffer& buffer, std::int64_t time);
  /// Where the span in progress begins in the buffer.
  const Buffer::Position& begin() const { return begin_; }
  /// The span in progress is the last one, and stays.
  void finish(Buffer& buffer);

  std::span<const Loop> loops() const { return {loops_.data(), loop_count_}; }
  /// Drops spans of the loop that are not kept at that level, nor among these slowest iterations, nor before one of
  /// 2^sparse chosen ones, and keeps no such spans from now on.
  void agree(Buffer& buffer, std::uint16_t region, unsigned level, unsigned sparse,
             std::span<const std::uint64_t> slowest);

  /// Whether there is a span that was not handed to next_block() yet. Also false in a handler that has interrupted this
  /// store in the middle of a move.
  bool has_more() const { return written_ < count_ && !is_moving_; }
  /// The records of the next spans, for a frame of the file: at least one span, and no more bytes than `room` has
  /// unless one span alone has more. `room`, at least min_room bytes, is where compressed spans are unpacked.
  Block next_block(const Buffer& buffer, std::span<std::byte> room);
  static constexpr std::size_t min_room = Packer::most;
  /// Records that could not be unpacked.
  std::uint64_t lost() const { return lost_; }
  /// Whether the file has spans that were dropped since. write_anew() begins again with the first span that is kept.
  bool is_outdated() const { return dropped_written_; }
  void write_anew();

  std::uint64_t iterations() const { return iterations_; }  ///< kept ones, without those kept only for preceding one
  std::uint64_t records() const { return records_; }        ///< in all kept spans

 private:
  /// The description of a kept span.
  struct Kept {
    std::uint64_t number;
    std::int64_t end;  ///< time
    std::uint32_t size, records;
    std::uint32_t raw_size;  ///< differs from `size` if it is compressed
    std::uint16_t loop;      ///< index
    bool always;
    bool is_packed() const { return raw_size != size; }
  };
  Kept& kept(std::size_t i) { return end_[-1 - static_cast<std::ptrdiff_t>(i)]; }
  const Kept& kept(std::size_t i) const { return end_[-1 - static_cast<std::ptrdiff_t>(i)]; }
  Loop* loop_of(std::uint16_t region);
  std::span<Loop> loops_in_use() { return {loops_.data(), loop_count_}; }
  /// Bytes for records. Behind them there is room for one more description.
  std::size_t top() const { return memory_ - (count_ + 1) * sizeof(Kept); }
  std::size_t max_span_bytes() const;
  void limit_span(Buffer& buffer) const;
  bool note_slow(Loop& loop, std::uint64_t number, std::int64_t duration);
  void forget_slow(Loop& loop, std::uint64_t number);
  void keep(Buffer& buffer, Loop& loop, std::uint64_t number, bool always);
  bool drop_slow(Buffer& buffer);
  bool drop_preceding(Buffer& buffer);
  bool pack_some(Buffer& buffer);
  Block next_packed_block(Block block, std::span<std::byte> room);
  static std::uint64_t& bytes_of(Loop& loop, std::uint64_t number);
  static bool is_counted(const Loop& loop, const Kept& of);
  void begin_span(Buffer& buffer, std::int64_t time);
  void make_room(Buffer& buffer);
  void drop_unwanted(Buffer& buffer);

  std::byte* data_ = nullptr;
  Kept* end_ = nullptr;
  std::size_t memory_ = 0;
  Packer packer_;
  std::size_t count_ = 0, written_ = 0;  ///< spans
  std::size_t looked_at_ = 0;            ///< spans that are compressed, or not worth it
  std::size_t raw_bytes_ = 0;            ///< size of all spans if none were compressed
  std::size_t written_bytes_ = 0;
  std::uint64_t lost_ = 0;
  bool dropped_written_ = false;
  bool is_moving_ = false;     ///< read by handlers that interrupt a move
  bool has_unwanted_ = false;  ///< a kept span is no longer among the slowest
  unsigned slowest_ = 0;
  Buffer::Position begin_;           ///< where the span in progress begins
  std::uint32_t begin_records_ = 0;  ///< the jump, and the records that every span begins with
  std::uint64_t outside_ = 0;        ///< spans outside of iterations so far
  std::uint64_t iterations_ = 0, records_ = 0;
  std::array<Loop, max_loops> loops_{};
  unsigned loop_count_ = 0;
};

}  // namespace refrain::events
