#pragma once
/// How far estimates are off, in their own errors, where the truth is known.

#include <cmath>

namespace refrain::run {

struct Distances {
  double number = 0, within_two = 0, squares = 0;

  void add(double distance) {
    ++number;
    within_two += std::abs(distance) <= 2 ? 1 : 0;
    squares += distance * distance;
  }
  double within() const { return within_two / number; }  ///< the part of them within two errors
  double rms() const { return std::sqrt(squares / number); }
};

}  // namespace refrain::run
