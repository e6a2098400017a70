#pragma once
/// Records as bytes: a head, then numbers relative to the records before, so that most of them take one byte.
///
/// Async-signal-safe; nothing is allocated.

#include <cstddef>
#include <cstdint>
#include <span>

#include "events/record.hpp"

namespace refrain::events {

/// What the numbers of the next record are relative to. Whoever has it can read on from there.
struct Context {
  std::int64_t time = 0;
  std::uint64_t request = 0;  ///< count part of the last number
  std::uint32_t node = 0;
  std::int32_t thread = 0;  ///< of the location: it stays
  bool operator==(const Context&) const = default;
};

/// No record takes more bytes.
inline constexpr std::size_t longest_record = 96;

/// Writes `record` to `out`, which has room for `longest_record` bytes; returns how many it took.
std::size_t encode(const Record& record, Context& context, std::byte* out);

/// The same of a call, from that part alone.
std::size_t encode(const CallRecord& call, Context& context, std::byte* out);

/// Reads one record at the begin of `in`. Returns how many bytes it took; 0: there is none, or it is malformed.
std::size_t decode(std::span<const std::byte> in, Context& context, Record& record);

}  // namespace refrain::events
