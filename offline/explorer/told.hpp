#pragma once
/// Findings as links: which metric, call path, ranks and loop one is about. Findings are sentences with options of
/// `refrain report`; what they are about is read from both until they are records.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "offline/explorer/run.hpp"
#include "offline/findings/finding.hpp"

namespace refrain::explorer {

/// `node_of`: the node that a call path as people write it is; nothing: none, or several. `is_loop`: whether a loop has
/// this name.
Told told_of(const findings::Finding& finding,
             const std::function<std::optional<std::uint32_t>(const std::string& path)>& node_of,
             const std::function<bool(const std::string& name)>& is_loop);

}  // namespace refrain::explorer
