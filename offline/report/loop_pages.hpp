#pragma once
/// The pages of one loop on the terminal.

#include <string>

#include "offline/report/loop_view.hpp"
#include "offline/report/terminal.hpp"

namespace refrain::report {

/// The loop's name, its iterations and on how many ranks or threads it ran.
std::string about(const LoopGroup& group);

/// The view's metric as a graph over the iterations, and as a map of ranks and iterations.
std::string graphs_text(const LoopView& view, const LoopGroup& group, const Terminal& terminal);
/// For each location the clusters and what sets them apart.
std::string clusters_text(const Document& document, const LoopGroup& group, const Terminal& terminal);

}  // namespace refrain::report
