#pragma once
/// The records of a location in memory: encoded, one behind the other, in a fixed amount of memory.
///
/// Belongs to one thread at a time. Async-signal-safe: a handler only appends.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "events/codec.hpp"

namespace refrain::events {

/// A block of records that can be read without the records before it.
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
    std::uint32_t missing = 0;  ///< records dropped between the last record and this position
    std::uint64_t dropped = 0;  ///< all records dropped up to this position
    Context context;
  };

  /// `memory` must outlive this object.
  void create(std::span<std::byte> memory, std::int32_t thread);

  /// Appends a record. Returns false if there is no room; the next record that is appended then has a Gap with the
  /// number of missing ones in front of it.
  bool append(const Record& record);
  bool append(const CallRecord& call) {
    if (!has_room(room_for(Kind::Call)) || missing_ > 0) [[unlikely]]
      return append(call, 0);
    take(encode(call, context_, data_ + size_));
    return true;
  }
  /// Appends a call in which the thread was off the CPU for `off_ns`.
  bool append(const CallRecord& call, std::int64_t off_ns);
  /// Counts a record as dropped without trying to append it.
  void drop() {
    ++missing_;
    ++dropped_;
  }

  Position end() const { return {size_, count_, missing_, dropped_, context_}; }
  /// Forgets what was appended or dropped since `position`.
  void rewind(const Position& position);
  /// Repairs the buffer after a jump has left one of its functions, at any instruction, since it was at `position`: it
  /// then holds the complete records behind `position`. Reads these records.
  void recover(const Position& position);
  /// Drops all records.
  void drop_all();
  /// The records up to `position`.
  Block until(const Position& position) const;
  /// Removes the records up to `position`. Positions behind it are no longer valid; the returned one replaces
  /// `position`.
  Position remove(const Position& position);

  /// Appends a Jump: the records that follow can be read without those before.
  bool append_jump(std::int64_t time);
  /// The owner of the memory has removed `bytes` and `records` from it and moved the rest forward. No position is
  /// valid afterwards.
  void close_gaps(std::size_t bytes, std::uint32_t records) {
    size_ -= bytes;
    count_ -= records;
  }
  /// Sets how many bytes of the memory are for records; the owner uses the rest.
  void set_capacity(std::size_t bytes) { capacity_ = bytes; }

  std::size_t size() const { return size_; }
  std::uint32_t count() const { return count_; }
  std::size_t capacity() const { return capacity_; }
  /// How many records were removed, and how many were dropped.
  std::uint64_t removed() const { return removed_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  /// A Gap may come before each record. The end of a span or thread is worth more than a call, and a call more than one
  /// of its communications or a reading of a metric; so the more important ones may use the last of the room.
  static constexpr std::size_t room_for(Kind kind) {
    constexpr std::size_t room = 2 * longest_record;
    if (kind == Kind::Span || kind == Kind::ThreadEnd || kind == Kind::Jump) return room;
    return is_communication(kind) || kind == Kind::Metric ? 3 * room : 2 * room;
  }
  bool has_room(std::size_t bytes) const { return size_ + bytes <= capacity_; }
  void write(const Record& record);
  /// Makes an encoded record of `bytes` bytes part of the buffer.
  void take(std::size_t bytes) {
    std::atomic_signal_fence(std::memory_order_release);
    size_ += bytes;
    ++count_;
  }

  // What every record needs comes first, in one cache line.
  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0, size_ = 0;
  Context context_;
  std::uint32_t count_ = 0;
  std::uint32_t missing_ = 0;  ///< records dropped since the last record
  std::uint64_t removed_ = 0, dropped_ = 0;
  Context first_;
};

}  // namespace refrain::events
