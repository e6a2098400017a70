#pragma once
/// Unpacks what a file stores in one of the encodings of format/profile_file.hpp.

#include <cstdint>
#include <string>
#include <vector>

#include "format/profile_file.hpp"
#include "offline/experiment/input_file.hpp"

namespace refrain::experiment {

/// `stored`, from byte `at` of `file`, as the `raw` bytes that it stands for; `name` says in messages what it is. No
/// more memory is taken than really comes out. Throws ReadError.
std::vector<std::byte> unpack(const InputFile& file, std::uint64_t at, const std::string& name,
                              format::Encoding encoding, std::vector<std::byte> stored, std::uint64_t raw);

/// The same, in place of `contents`, whose memory is used again. What is in there after an error means nothing.
void unpack(const InputFile& file, std::uint64_t at, const std::string& name, format::Encoding encoding,
            std::vector<std::byte> stored, std::uint64_t raw, std::vector<std::byte>& contents);

/// How much of what is stored unpack_begin() needs for the first `size` bytes.
std::uint64_t bytes_to_begin(format::Encoding encoding, std::size_t size);
/// The first bytes of the contents, at most `size`; fewer when the beginning of what is stored is damaged.
std::vector<std::byte> unpack_begin(format::Encoding encoding, const std::vector<std::byte>& stored, std::size_t size);

}  // namespace refrain::experiment
