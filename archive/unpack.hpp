#pragma once
/// Unpacks what a file stores in one of the encodings of format.hpp. Offline half.

#include <cstdint>
#include <string>
#include <vector>

#include "archive/format.hpp"
#include "archive/input_file.hpp"

namespace refrain::archive {

/// `stored`, from byte `at` of `file`, as the `raw` bytes that it stands for; `name` says in messages what it is. No
/// more memory is taken than really comes out. Throws ReadError.
std::vector<std::byte> unpack(const InputFile& file, std::uint64_t at, const std::string& name,
                              format::Encoding encoding, std::vector<std::byte> stored, std::uint64_t raw);

}  // namespace refrain::archive
