#include "waits/kinds.hpp"

#include <algorithm>

namespace refrain::waits {
namespace {

constexpr WaitKind kinds[] = {
#define WAIT_KIND(waits, which, shortest, long_by, name) \
  {format::MpiWaits::waits, Which::which, ShortestOf::shortest, LongBy::long_by, name},
#include "waits/kinds.def"
#undef WAIT_KIND
};

constexpr bool fits(Which which, CallClass of) {
  switch (which) {
    case Which::all: return true;
    case Which::receiving: return of.receives();
    case Which::only_receiving: return of.receives() && !of.sends();
    case Which::sending: return of.sends();
    case Which::collective: return of.processes() > 0;
    case Which::nothing: return !of.receives() && !of.sends() && of.processes() == 0;
  }
  return false;
}

}  // namespace

LongBy WaitKind::long_by_of(CallClass of) const {
  const bool is_by_data =
      of.size() >= size_of_large && shortest == ShortestOf::of_process && long_by == LongBy::waiting;
  return is_by_data ? LongBy::data : long_by;
}

std::span<const WaitKind> kinds_of(std::string_view function) {
  const format::MpiFunction* of = format::find_mpi_function(function);
  if (!of) return {};
  const auto is_of = [&](const WaitKind& kind) { return kind.waits == of->waits; };
  const auto first = std::ranges::find_if(kinds, is_of);
  return {first, std::find_if_not(first, std::end(kinds), is_of)};
}

const WaitKind* kind_of(std::span<const WaitKind> of_function, CallClass of) {
  const auto row = std::ranges::find_if(of_function, [&](const WaitKind& kind) { return fits(kind.which, of); });
  return row == of_function.end() ? nullptr : &*row;
}

}  // namespace refrain::waits
