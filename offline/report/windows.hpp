#pragma once
/// One-sided operations by window and by pair of origin and target.

#include <string>

#include "offline/report/overview.hpp"
#include "offline/report/terminal.hpp"

namespace refrain::report {

/// Throws UsageError when there are no windows.
std::string windows_text(const Document& document, const Terminal& terminal);
/// RFC 4180, one row per pair; with a header row only when there are no windows.
std::string windows_csv(const Document& document);

}  // namespace refrain::report
