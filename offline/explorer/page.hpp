#pragma once
/// The HTML file: the page, which page/ builds, with the sections of the runs in it.

#include <functional>
#include <span>
#include <string_view>

#include "offline/explorer/run.hpp"

namespace refrain::explorer {

/// Made by the build (cmake/embed_page.cmake): page/dist/explorer.html, empty where it was not built; docs/patterns.md.
extern const std::string_view embedded_page, embedded_patterns;

using Sink = std::function<void(std::string_view text)>;

/// Whether this build has the page.
inline bool has_page() { return !embedded_page.empty(); }

/// Passes the file to `out` in pieces. `page` must have one mark <!--refrain:payload-->, where the data go. Throws
/// std::logic_error without it.
void write_page(std::string_view page, std::span<const Run> runs, const Sink& out);

}  // namespace refrain::explorer
