#pragma once
/// Parses files that hold one JSON value. Only the readers of such files include this header, so that nothing else sees
/// RapidJSON.

#include <cstdint>
#include <rapidjson/document.h>

#include "offline/experiment/input_file.hpp"

namespace refrain::experiment {

/// Parses a file of at most `largest` bytes that holds an object; messages call it a `what`. Throws ReadError.
rapidjson::Document parse_json_object(const InputFile& file, std::uint64_t largest, const char* what);

/// Throws ReadError: the member has the wrong type or a value that is not allowed.
[[noreturn]] void refuse_member(const InputFile& file, const char* name);

}  // namespace refrain::experiment
