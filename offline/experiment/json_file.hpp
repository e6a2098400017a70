#pragma once
/// A file that is one JSON value. For the readers of such files alone: nothing else
/// sees RapidJSON.

#include <cstdint>
#include <rapidjson/document.h>

#include "offline/experiment/input_file.hpp"

namespace refrain::experiment {

/// An object, of a file of at most `largest` bytes; messages call it a `what`. Throws ReadError.
rapidjson::Document parse_json_object(const InputFile& file, std::uint64_t largest, const char* what);

/// Throws ReadError: the member is of another type than it should be, or has a value that it may not have.
[[noreturn]] void refuse_member(const InputFile& file, const char* name);

}  // namespace refrain::experiment
