#pragma once
/// Changes profile files so that damage gets past the checksums and reaches the decoders behind them.

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

namespace refrain::testing {

/// The number at a place; 0 beyond the end.
template <class T>
T get(const std::string& bytes, std::size_t at) {
  T value{};
  if (at <= bytes.size() && sizeof value <= bytes.size() - at) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
/// Puts it there; nothing beyond the end.
template <class T>
void put(std::string& bytes, std::size_t at, T value) {
  if (at <= bytes.size() && sizeof value <= bytes.size() - at) std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// The same profile with no section compressed, so that a changed byte is a changed number.
std::string unpacked(const std::string& file);

/// The same with other contents of sections: `edit` gets the place of the rank in the file (-1: the definitions), the
/// type of the section, and its contents.
using EditSection = std::function<std::string(int rank, std::uint32_t type, std::string contents)>;
std::string edited(const std::string& file, const EditSection& edit);

/// Recomputes every checksum that can be found, in place; works on any bytes.
void reseal(std::string& file);

}  // namespace refrain::testing
