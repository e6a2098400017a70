#include "offline/experiment/frame_search.hpp"

#include <algorithm>

namespace refrain::experiment {

std::uint64_t find_frame(const InputFile& file, std::uint64_t at, std::uint64_t end, std::uint32_t magic,
                         std::string_view what, const std::function<void(std::uint64_t place)>& check) {
  constexpr std::uint64_t piece = 1 << 20;
  std::byte first[sizeof magic];
  format::store_little_endian(first, magic);
  while (at < end) {
    const auto bytes = file.read(at, std::min(piece, end - at), what);
    for (auto found = bytes.begin();; ++found) {
      found = std::search(found, bytes.end(), std::begin(first), std::end(first));
      if (found == bytes.end()) break;
      const std::uint64_t place = at + static_cast<std::uint64_t>(found - bytes.begin());
      try {
        check(place);
        return place;
      } catch (const ReadError&) {  // these bytes are not a frame
      }
    }
    if (bytes.size() < piece) break;
    at += piece - sizeof first + 1;  // a frame may begin at the end of the piece
  }
  return end;
}

bool read_node_paths(format::ByteCursor& in, const std::vector<std::uint32_t>& paths, std::vector<std::uint32_t>& out) {
  const std::size_t nodes = in.count(1);
  const auto count = static_cast<std::int64_t>(paths.size());
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < nodes && !in.failed(); ++i) {
    const std::int64_t step = in.signed_varint();
    if (step < -expected || step >= count - expected) return false;
    out.push_back(paths[static_cast<std::size_t>(expected + step)]);
    expected += step + 1;
  }
  return true;
}

}  // namespace refrain::experiment
