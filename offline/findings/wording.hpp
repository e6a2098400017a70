#pragma once
/// What the sentences of findings share.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace refrain::findings {

std::string times_text(double ratio);  ///< "2.1 times", "12 times"
/// "rank 3", "ranks 0-3, 7", "17 ranks". Ascending.
std::string ranks_text(std::span<const std::int32_t> ranks);
/// "10, 20, 30, ...".
std::string list_text(std::span<const std::size_t> numbers);

}  // namespace refrain::findings
