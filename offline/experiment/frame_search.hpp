#pragma once
/// What the readers of frames share: the next frame behind damage, and the call paths of a location's nodes.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "format/bytes.hpp"
#include "offline/experiment/input_file.hpp"

namespace refrain::experiment {

/// The next place in [at, end) with these first bytes of a frame for which `check` throws no ReadError; `end`: there is
/// none. `what` names a frame in messages.
std::uint64_t find_frame(const InputFile& file, std::uint64_t at, std::uint64_t end, std::uint32_t magic,
                         std::string_view what, const std::function<void(std::uint64_t place)>& check);

/// A count, and for each node of a location the rank's own number of its path less one more than the one before.
/// Appends the numbers that `paths` has for them. False: a path that is not there. Malformed: in.failed().
bool read_node_paths(format::ByteCursor& in, const std::vector<std::uint32_t>& paths, std::vector<std::uint32_t>& out);

}  // namespace refrain::experiment
