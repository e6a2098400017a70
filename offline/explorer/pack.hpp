#pragma once
/// Compression and base64, so that a section is text which no element of HTML can be ended by.

#include <cstdint>
#include <string>
#include <string_view>

namespace refrain::explorer {

/// The repetitions that are looked for: sequences that come again, or runs of one byte alone. The latter takes a tenth
/// of the time and less room where numbers scatter, as in maps: a sequence that comes again by chance costs more than
/// its bytes.
enum class Repeats : std::uint8_t { Sequences, Bytes };

/// gzip. Throws std::runtime_error.
std::string compressed(std::string_view data, Repeats repeats = Repeats::Sequences);
std::string base64(std::string_view data);
/// Characters that base64 has for so many bytes.
constexpr std::size_t base64_size(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

}  // namespace refrain::explorer
