#pragma once
/// Encodes records as bytes: a head, then numbers relative to earlier records, so that most of them take one byte.
///
/// Async-signal-safe; nothing is allocated.

#include <cstddef>
#include <cstdint>
#include <span>

#include "events/record.hpp"

namespace refrain::events {

/// What the numbers of the next record are relative to. With it, decoding can begin at that record.
struct Context {
  std::int64_t time = 0;
  std::uint64_t request = 0;  ///< count part of the last request number
  std::uint32_t node = 0;
  std::int32_t thread = 0;  ///< the location's thread; never changes
  bool operator==(const Context&) const = default;
};

/// The most bytes that a record takes.
inline constexpr std::size_t longest_record = 96;

/// Writes `record` to `out`, which must have room for `longest_record` bytes. Returns its size.
std::size_t encode(const Record& record, Context& context, std::byte* out);

/// Encodes a call likewise.
std::size_t encode(const CallRecord& call, Context& context, std::byte* out);

/// Reads one record at the beginning of `in`. Returns its size; 0: there is none, or it is malformed.
std::size_t decode(std::span<const std::byte> in, Context& context, Record& record);

}  // namespace refrain::events
