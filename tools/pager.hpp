#pragma once
/// A text that is longer than the terminal goes through a pager, as git does it.

#include <string>

namespace refrain::tools {

/// Prints `text` on standard output, by $REFRAIN_PAGER, $PAGER or `less` when that is a terminal with fewer lines. An
/// empty value of either, or `cat`, means no pager; so does a pager that cannot be started. Less gets "FRX" when $LESS
/// is not set: it ends by itself where all fits, leaves colours alone and the text on the screen. Throws
/// std::runtime_error when the text cannot be written.
void print_by_pages(const std::string& text);

}  // namespace refrain::tools
