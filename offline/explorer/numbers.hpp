#pragma once
/// Appends little-endian numbers to a string. The files are written on the machines that Refrain runs on, which are
/// little-endian.

#include <bit>
#include <cstdint>
#include <string>

namespace refrain::explorer {

static_assert(std::endian::native == std::endian::little);

template <class Number>
void append(Number number, std::string& out) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}
template <class Numbers>
void append_all(const Numbers& numbers, std::string& out) {
  out.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(*numbers.data()));
}
inline void align_to(std::size_t size, std::string& out) { out.resize((out.size() + size - 1) / size * size); }

}  // namespace refrain::explorer
