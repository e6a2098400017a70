#pragma once
/// JSON as text.

#include <nlohmann/json.hpp>
#include <string>

namespace refrain::report {

using Json = nlohmann::ordered_json;

/// Names and arguments may hold any bytes; JSON may not.
inline std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace refrain::report
