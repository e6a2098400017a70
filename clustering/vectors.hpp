#pragma once
/// Loads and stores vectors of 16 bytes, and other values, at any alignment.

#include <cstdint>
#include <cstring>

namespace refrain::clustering {

using Four = float __attribute__((vector_size(16)));
using FourInts = std::int32_t __attribute__((vector_size(16)));
using TwoIntegers = std::uint64_t __attribute__((vector_size(16)));
using TwoDoubles = double __attribute__((vector_size(16)));

template <class Vector, class T>
inline Vector vector_at(const T* from) {
  Vector out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
template <class Vector, class T>
inline void store(T* to, const Vector& value) {
  std::memcpy(to, &value, sizeof value);
}

inline Four four_at(const float* from) { return vector_at<Four>(from); }

}  // namespace refrain::clustering
