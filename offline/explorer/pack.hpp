#pragma once
/// Compression and base64, which turn a section into text that cannot end an HTML element.

#include <cstdint>
#include <string>
#include <string_view>

namespace refrain::explorer {

/// The repetitions to search for: repeated sequences, or only runs of one byte. The latter takes a tenth of the time,
/// and less room where numbers scatter, as in maps: a sequence that is repeated by chance costs more than its bytes.
enum class Repeats : std::uint8_t { Sequences, Bytes };

/// gzip. Throws std::runtime_error.
std::string compressed(std::string_view data, Repeats repeats = Repeats::Sequences);
std::string base64(std::string_view data);
/// Number of base64 characters for this many bytes.
constexpr std::size_t base64_size(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

}  // namespace refrain::explorer
