#pragma once
/// The records of a location that are in memory: encoded, one behind the other, in a piece of memory of fixed size.
///
/// Belongs to one thread at a time. Async-signal-safe: a handler only appends.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "events/codec.hpp"

namespace refrain::events {

/// A block: records that can be read without what was before.
struct Block {
  Context begin;
  std::int64_t end = 0;  ///< time of the last record
  std::uint32_t count = 0;
  std::span<const std::byte> records;
};

class Buffer {
 public:
  /// A position between two records.
  struct Position {
    std::size_t size = 0;
    std::uint32_t count = 0;
    std::uint32_t missing = 0;  ///< dropped between the last record and this position
    std::uint64_t dropped = 0;  ///< all that were by then
    Context context;
  };

  /// `memory` is to outlive this.
  void create(std::span<std::byte> memory, std::int32_t thread);

  /// Appends. What finds no room is counted and told by a Gap before the next record that finds some; then false.
  bool append(const Record& record);
  bool append(const CallRecord& call) {
    if (!has_room(room_for(Kind::Call)) || missing_ > 0) [[unlikely]]
      return append(call, 0);
    take(encode(call, context_, data_ + size_));
    return true;
  }
  /// A call in which the thread was off the CPU for `off_ns`.
  bool append(const CallRecord& call, std::int64_t off_ns);
  /// A record that is not even tried.
  void drop() {
    ++missing_;
    ++dropped_;
  }

  Position end() const { return {size_, count_, missing_, dropped_, context_}; }
  /// Forgets what was appended or dropped since.
  void rewind(const Position& position);
  /// A function of the buffer was left by a jump, at any instruction, since it was at `position`: the buffer holds the
  /// whole records behind `position`, as far as they had come. Reads them.
  void recover(const Position& position);
  /// Drops all records.
  void drop_all();
  /// The records up to `position`.
  Block until(const Position& position) const;
  /// Removes them; positions behind it are not valid any more, and the returned one is where it was.
  Position remove(const Position& position);

  /// A Jump to where the buffer is: what follows can be read without what was before.
  bool append_jump(std::int64_t time);
  /// Whoever owns the memory has taken so much out of it, and moved what was behind forward. Then no position is valid.
  void close_gaps(std::size_t bytes, std::uint32_t records) {
    size_ -= bytes;
    count_ -= records;
  }
  /// Bytes of the memory that are for records; the rest is for who owns it.
  void set_capacity(std::size_t bytes) { capacity_ = bytes; }

  std::size_t size() const { return size_; }
  std::uint32_t count() const { return count_; }
  std::size_t capacity() const { return capacity_; }
  /// How many were removed, and how many were dropped.
  std::uint64_t removed() const { return removed_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  /// A gap may come before each record. The end of a span or thread is worth more than a call, and a call more than one
  /// of its communications or the reading of a metric: when the room ends, the former still find some.
  static constexpr std::size_t room_for(Kind kind) {
    constexpr std::size_t room = 2 * longest_record;
    if (kind == Kind::Span || kind == Kind::ThreadEnd || kind == Kind::Jump) return room;
    return is_communication(kind) || kind == Kind::Metric ? 3 * room : 2 * room;
  }
  bool has_room(std::size_t bytes) const { return size_ + bytes <= capacity_; }
  void write(const Record& record);
  /// A record of so many bytes is there.
  void take(std::size_t bytes) {
    std::atomic_signal_fence(std::memory_order_release);
    size_ += bytes;
    ++count_;
  }

  // What every record needs comes first: one cache line.
  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0, size_ = 0;
  Context context_;
  std::uint32_t count_ = 0;
  std::uint32_t missing_ = 0;  ///< dropped since the last record
  std::uint64_t removed_ = 0, dropped_ = 0;
  Context first_;
};

}  // namespace refrain::events
