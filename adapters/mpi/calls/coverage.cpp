#include <iterator>

#include "format/mpi_coverage.hpp"

namespace refrain::format {

namespace {
constexpr FunctionCoverage rows[] = {
#include "coverage_of_all.inc"
    {},
};

constexpr KnownFunction known[] = {
#include "known_functions.inc"
    {},
};
}  // namespace

std::span<const KnownFunction> known_functions() { return std::span(known).first(std::size(known) - 1); }

std::span<const FunctionCoverage> function_coverage() { return std::span(rows).first(std::size(rows) - 1); }

}  // namespace refrain::format
