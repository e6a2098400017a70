#pragma once
/// Shared by the readers of frames: the search for the next frame after damage, and the call paths of location nodes.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "format/bytes.hpp"
#include "offline/experiment/input_file.hpp"

namespace refrain::experiment {

/// Offset of the first frame in [at, end), which begins with `magic` and for which `check` throws no ReadError; `end`
/// when there is none. `what` names a frame in messages.
std::uint64_t find_frame(const InputFile& file, std::uint64_t at, std::uint64_t end, std::uint32_t magic,
                         std::string_view what, const std::function<void(std::uint64_t place)>& check);

/// Reads a count and, for each node of a location, the rank's own path number minus (the previous one plus 1). Appends
/// the `paths` entry of each number. False: a path does not exist. Malformed input: in.failed().
bool read_node_paths(format::ByteCursor& in, const std::vector<std::uint32_t>& paths, std::vector<std::uint32_t>& out);

}  // namespace refrain::experiment
