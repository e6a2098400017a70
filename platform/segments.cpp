#include "platform/segments.hpp"

namespace refrain::platform {
namespace {

constexpr std::uintptr_t page_size = 4096;

/// Size of the whole pages between two segments, in bytes.
std::uintptr_t hole_between(const Segment& low, const Segment& high) {
  const std::uintptr_t end = (low.end + page_size - 1) & ~(page_size - 1), begin = high.begin & ~(page_size - 1);
  return begin > end ? begin - end : 0;
}

void join_next(Segments& segments, std::uint32_t first) {
  Segment& low = segments.of[first];
  const Segment& high = segments.of[first + 1];
  if (high.end > low.end) low.end = high.end;
  --segments.count;
  for (std::uint32_t i = first + 1; i < segments.count; ++i) segments.of[i] = segments.of[i + 1];
}

std::uint32_t smallest_hole(const Segments& segments) {
  std::uint32_t smallest = 0;
  for (std::uint32_t i = 1; i + 1 < segments.count; ++i)
    if (hole_between(segments.of[i], segments.of[i + 1]) <
        hole_between(segments.of[smallest], segments.of[smallest + 1]))
      smallest = i;
  return smallest;
}

}  // namespace

void Segments::add(Segment segment) {
  if (segment.begin >= segment.end) return;
  if (count == limit) join_next(*this, smallest_hole(*this));
  std::uint32_t at = count++;
  for (; at > 0 && of[at - 1].begin > segment.begin; --at) of[at] = of[at - 1];
  of[at] = segment;
  while (count > 1) {
    const std::uint32_t closest = smallest_hole(*this);
    if (hole_between(of[closest], of[closest + 1]) > 0) break;
    join_next(*this, closest);
  }
}

Segments segments_of(const dl_phdr_info& info) {
  Segments segments{};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& header = info.dlpi_phdr[i];
    const std::uintptr_t begin = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD) segments.add({begin, begin + header.p_memsz});
  }
  return segments;
}

}  // namespace refrain::platform
