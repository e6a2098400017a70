#pragma once
/// The address ranges that an object occupies: its segments, and not the range from the first to the last of them.
/// Linkers leave holes between segments (`-z max-page-size`, `-z separate-code`), where other objects, the heap or
/// generated code may lie. Everything here is async-signal-safe.

#include <cstdint>
#include <link.h>

namespace refrain::platform {

struct Segment {
  std::uintptr_t begin, end;

  constexpr bool contains(std::uintptr_t address) const { return begin <= address && address < end; }
};

/// Segments in the order of their addresses. Segments without a whole page between them count as one, and so do the
/// closest ones of an object that has more than there is room for.
struct Segments {
  static constexpr std::uint32_t limit = 8;

  Segment of[limit];
  std::uint32_t count;

  constexpr bool contains(std::uintptr_t address) const {
    for (std::uint32_t i = 0; i < count; ++i)
      if (of[i].contains(address)) return true;
    return false;
  }
  void add(Segment segment);
};

/// The segments that `info` lists as mapped; none if there are none.
Segments segments_of(const dl_phdr_info& info);

}  // namespace refrain::platform
