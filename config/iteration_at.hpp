#pragma once
/// Parses REFRAIN_ITERATION_AT: MPI_FUNCTION[@FUNCTION][/N].

#include <cstdint>
#include <string_view>

#include "config/number.hpp"
#include "config/text.hpp"

namespace refrain::config {

struct IterationAt {
  std::string_view mpi_function;
  std::string_view function;  ///< empty: any function
  std::int64_t every = 1;     ///< at least 1
  bool good = false;
};

constexpr IterationAt parse_iteration_at(std::string_view text) {
  IterationAt at;
  if (const auto slash = text.rfind('/'); slash != std::string_view::npos) {
    const ParsedNumber number = parse_number(without_first(text, slash + 1), false);
    if (number.fault != NumberFault::None || number.value < 1) return at;
    at.every = number.value;
    text = first_of(text, slash);
  }
  if (const auto sign = text.find('@'); sign != std::string_view::npos) {
    at.function = without_first(text, sign + 1);
    if (at.function.empty()) return at;
    text = first_of(text, sign);
  }
  at.mpi_function = text;
  at.good = text.starts_with("MPI_") && text.size() > 4;
  return at;
}

constexpr bool is_iteration_at(std::string_view text) { return parse_iteration_at(text).good; }

}  // namespace refrain::config
