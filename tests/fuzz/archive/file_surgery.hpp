#pragma once
/// Changes profile files so that damage gets past the checksums and reaches the decoders behind them.

#include <string>

namespace refrain::testing {

/// The same profile with no section compressed, so that a changed byte is a changed number.
std::string unpacked(const std::string& file);

/// Recomputes every checksum that can be found, in place; works on any bytes.
void reseal(std::string& file);

}  // namespace refrain::testing
