#pragma once
/// Findings as links: the metric, the call path, the ranks, the loop and the iterations that one is about.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "offline/explorer/run.hpp"
#include "offline/findings/finding.hpp"

namespace refrain::explorer {

/// `node_of`: the node of a call path; nothing: the page has none. `is_loop`: whether a loop has this name.
Told told_of(const findings::Finding& finding,
             const std::function<std::optional<std::uint32_t>(const findings::Path& path)>& node_of,
             const std::function<bool(const std::string& name)>& is_loop);

}  // namespace refrain::explorer
