#pragma once
/// Shows a text that is longer than the terminal in a pager, as git does.

#include <string>

namespace refrain::tools {

/// Prints `text` on standard output, through $REFRAIN_PAGER, $PAGER or `less` if that is a terminal with fewer lines.
/// An empty value of either variable, or `cat`, means no pager, as does a pager that cannot be started. If $LESS is not
/// set, less gets "FRX": it exits at once if everything fits, keeps colours, and leaves the text on the screen. Throws
/// std::runtime_error if the text cannot be written.
void print_by_pages(const std::string& text);

}  // namespace refrain::tools
