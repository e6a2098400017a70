#pragma once
/// Findings as links: the metric, the call path, the ranks, the loop and the iterations that a finding is about.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "offline/explorer/run.hpp"
#include "offline/findings/finding.hpp"

namespace refrain::explorer {

/// `node_of`: the node of a call path; nothing: the page has none. `is_loop`: whether the page has a loop of this name;
/// iterations of other loops are left out.
Told told_of(const findings::Finding& finding,
             const std::function<std::optional<std::uint32_t>(const findings::Path& path)>& node_of,
             const std::function<bool(const std::string& name)>& is_loop);

}  // namespace refrain::explorer
