#pragma once
/// Unpacks what a file stores in one of the encodings of format/profile_file.hpp.

#include <cstdint>
#include <string>
#include <vector>

#include "format/profile_file.hpp"
#include "offline/experiment/input_file.hpp"

namespace refrain::experiment {

/// Unpacks `stored`, from byte `at` of `file`, to `raw` bytes; `name` names it in messages. Allocates no more memory
/// than the unpacked data need. Throws ReadError.
std::vector<std::byte> unpack(const InputFile& file, std::uint64_t at, const std::string& name,
                              format::Encoding encoding, std::vector<std::byte> stored, std::uint64_t raw);

/// As above, but replaces `contents` and reuses its memory. After an error `contents` is unspecified.
void unpack(const InputFile& file, std::uint64_t at, const std::string& name, format::Encoding encoding,
            std::vector<std::byte> stored, std::uint64_t raw, std::vector<std::byte>& contents);

/// Number of stored bytes that unpack_begin() needs for the first `size` bytes of the contents.
std::uint64_t bytes_to_begin(format::Encoding encoding, std::size_t size);
/// The first bytes of the contents, at most `size`; fewer when the beginning of the stored data is damaged.
std::vector<std::byte> unpack_begin(format::Encoding encoding, const std::vector<std::byte>& stored, std::size_t size);

}  // namespace refrain::experiment
