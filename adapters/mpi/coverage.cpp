#include <iterator>

#include "format/mpi_coverage.hpp"

namespace refrain::format {

namespace {
constexpr FunctionCoverage rows[] = {
#if __has_include("openmpi/coverage.inc")
#include "openmpi/coverage.inc"
#endif
#if __has_include("mpich/coverage.inc")
#include "mpich/coverage.inc"
#endif
    {},
};

constexpr KnownFunction known[] = {
#if __has_include("openmpi/known.inc")
#include "openmpi/known.inc"
#elif __has_include("mpich/known.inc")
#include "mpich/known.inc"
#endif
    {},
};
}  // namespace

std::span<const KnownFunction> known_functions() { return std::span(known).first(std::size(known) - 1); }

std::span<const FunctionCoverage> function_coverage() { return std::span(rows).first(std::size(rows) - 1); }

}  // namespace refrain::format
