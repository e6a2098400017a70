#include "format/mpi_functions.hpp"

#include <algorithm>
#include <utility>

namespace refrain::format {
namespace {

constexpr MpiFunction functions[] = {
#define MPI_FUNCTION(name, of, form, waits, effect) {name, MpiClass::of, MpiForm::form, MpiWaits::waits, effect},
#define MPI_REASON(name, text)
#include "mpi_functions.inc"
#undef MPI_FUNCTION
#undef MPI_REASON
};

constexpr std::pair<std::string_view, std::string_view> reasons[] = {
#define MPI_FUNCTION(name, of, form, waits, effect)
#define MPI_REASON(name, text) {name, text},
#include "mpi_functions.inc"
#undef MPI_FUNCTION
#undef MPI_REASON
};

constexpr char in_small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr bool is_before(std::string_view a, std::string_view b) {
  return std::ranges::lexicographical_compare(a, b, {}, in_small, in_small);
}
static_assert(std::ranges::is_sorted(functions, is_before, &MpiFunction::name));

}  // namespace

const char* name_of(MpiClass of) {
  constexpr const char* names[] = {
#define MPI_CLASS(name, ...) #name,
#include "format/mpi_classes.def"
#undef MPI_CLASS
  };
  return names[static_cast<std::size_t>(of)];
}

std::span<const MpiFunction> mpi_functions() { return functions; }

const MpiFunction* find_mpi_function(std::string_view name) {
  if (!name.empty() && in_small(name.front()) == 'p') name.remove_prefix(1);
  while (name.ends_with('_')) name.remove_suffix(1);
  const auto* at = std::ranges::lower_bound(functions, name, is_before, &MpiFunction::name);
  return at != std::end(functions) && !is_before(name, at->name) ? at : nullptr;
}

bool is_mpi_name(std::string_view name) {
  if (!name.empty() && in_small(name.front()) == 'p') name.remove_prefix(1);
  const auto begins_with = [name](std::string_view begin) {
    return std::ranges::equal(name.substr(0, begin.size()), begin, {}, in_small);
  };
  return begins_with("mpi_") || begins_with("mpix_");
}

std::string_view text_of_reason(std::string_view reason) {
  const auto* at = std::ranges::find(reasons, reason, &std::pair<std::string_view, std::string_view>::first);
  return at == std::end(reasons) ? std::string_view() : at->second;
}

}  // namespace refrain::format
