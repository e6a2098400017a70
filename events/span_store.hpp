#pragma once
/// A sample of whole spans in memory: iterations that a hash chooses (format/kept_iterations.hpp), the same ones on
/// every location and every rank, however long the run.
///
/// All of them stay until the memory is used up. Then one of two of the loop that takes most is dropped, and from then
/// on one of two is kept; then one of four, and so on. Time outside of iterations is treated as one more loop; the
/// first span always stays, and so does the last. Beside them stay the slowest iterations of each loop, as far as
/// these take no more than a quarter of the memory, and before some of the chosen iterations the one before: what was
/// sent there may be received here. These take no more than a sixteenth. A quarter remains for the span in progress:
/// what is larger is kept as far as it goes, and ends with a Gap.
///
/// When the memory is used up spans are compressed first (packer.hpp), some at a time so that nobody waits long, and
/// the level rises once all are, or the next ones become no smaller, or once they would be more than twice the memory:
/// files are to stay small. Very small and very large spans stay as they are, and so do those of small memories
/// (packer.hpp).
///
/// Belongs to one thread at a time; nothing is allocated. The spans lie in the memory of the buffer, one behind the
/// other, each beginning with a Jump; from its end downwards lies what is known of each.

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
  static constexpr unsigned max_loops = 17;  ///< with the one that stands for outside
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
    std::uint64_t slow_bytes = 0;       ///< of those that are kept for being slow alone
    std::uint8_t sparse = 0;            ///< the one before is kept of one of 2^sparse that are chosen
    std::uint64_t preceding_bytes = 0;  ///< of those that are kept for that alone
    std::array<Slow, max_slow> slow{};
    std::span<const Slow> slowest() const { return {slow.data(), slow_count}; }
  };

  /// `memory` is all that the buffer has. The first span begins at `time`. `slowest`: of each loop, up to max_slow.
  /// With a packer its spans must end in ordinary context.
  void create(std::span<std::byte> memory, Buffer& buffer, std::int64_t time, unsigned slowest,
              const Packer& packer = {});

  /// All that the span in progress has so far it has from its begin: without more it is empty.
  void note_begin(const Buffer& buffer) { begin_records_ = buffer.count() - begin_.count; }
  bool is_empty(const Buffer& buffer) const { return buffer.count() <= begin_.count + begin_records_; }
  /// The span in progress has ended: it is kept, with `end` as its last record, or dropped; the next one begins.
  void end_span(Buffer& buffer, const Record& end);
  /// One of these functions was left by a jump, at any instruction: all spans are dropped, and one begins at `time`.
  void start_over(Buffer& buffer, std::int64_t time);
  /// Where the span in progress begins in the buffer.
  const Buffer::Position& begin() const { return begin_; }
  /// The span in progress is the last, and stays.
  void finish(Buffer& buffer);

  std::span<const Loop> loops() const { return {loops_.data(), loop_count_}; }
  /// Drops what is not kept at that level of the loop, nor among these iterations of it, nor before one of 2^sparse,
  /// and will not keep it.
  void agree(Buffer& buffer, std::uint16_t region, unsigned level, unsigned sparse,
             std::span<const std::uint64_t> slowest);

  /// Whether a span is in memory that was not handed to next_block() yet.
  /// False as well in a handler that has interrupted this store in the middle of a move.
  bool has_more() const { return written_ < count_ && !is_moving_; }
  /// The records of the next spans, for a frame of the file: at least one, and not more than `room` has bytes unless
  /// one alone is more. `room`: at least min_room; those that are compressed are unpacked there.
  Block next_block(const Buffer& buffer, std::span<std::byte> room);
  static constexpr std::size_t min_room = Packer::most;
  /// Records that could not be unpacked.
  std::uint64_t lost() const { return lost_; }
  /// The file has spans that were dropped since. write_anew() begins again with the first span that is kept.
  bool is_outdated() const { return dropped_written_; }
  void write_anew();

  std::uint64_t iterations() const { return iterations_; }  ///< kept, whole or not; not those that precede one alone
  std::uint64_t records() const { return records_; }        ///< of all spans that are kept

 private:
  /// What is known of a span that is kept.
  struct Kept {
    std::uint64_t number;
    std::int64_t end;  ///< time
    std::uint32_t size, records;
    std::uint32_t raw_size;  ///< more than `size`: it is compressed
    std::uint16_t loop;      ///< index
    bool always;
    bool is_packed() const { return raw_size != size; }
  };
  Kept& kept(std::size_t i) { return end_[-1 - static_cast<std::ptrdiff_t>(i)]; }
  const Kept& kept(std::size_t i) const { return end_[-1 - static_cast<std::ptrdiff_t>(i)]; }
  Loop* loop_of(std::uint16_t region);
  std::span<Loop> loops_in_use() { return {loops_.data(), loop_count_}; }
  /// Bytes for records; behind them there is room for what is known of one span more.
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
  std::size_t raw_bytes_ = 0;            ///< of all spans, were they not
  std::size_t written_bytes_ = 0;
  std::uint64_t lost_ = 0;
  bool dropped_written_ = false;
  bool is_moving_ = false;     ///< looked at by handlers that interrupt it
  bool has_unwanted_ = false;  ///< a span stays that is not among the slowest any more
  unsigned slowest_ = 0;
  Buffer::Position begin_;           ///< of the span in progress
  std::uint32_t begin_records_ = 0;  ///< the jump, and what every span begins with
  std::uint64_t outside_ = 0;        ///< spans outside of iterations so far
  std::uint64_t iterations_ = 0, records_ = 0;
  std::array<Loop, max_loops> loops_{};
  unsigned loop_count_ = 0;
};

}  // namespace refrain::events
