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

constexpr bool fits(Which which, CallBin bin) {
  switch (which) {
    case Which::all: return true;
    case Which::receiving: return bin.receives();
    case Which::only_receiving: return bin.receives() && !bin.sends();
    case Which::sending: return bin.sends();
    case Which::collective: return bin.processes() > 0;
    case Which::nothing: return !bin.receives() && !bin.sends() && bin.processes() == 0;
  }
  return false;
}

}  // namespace

LongBy WaitKind::long_by_of(CallBin bin) const {
  const bool is_by_data =
      bin.size() >= size_of_large && shortest == ShortestOf::of_process && long_by == LongBy::waiting;
  return is_by_data ? LongBy::data : long_by;
}

std::span<const WaitKind> kinds_of(std::string_view function) {
  const format::MpiFunction* known = format::find_mpi_function(function);
  if (!known) return {};
  const auto belongs_to_function = [&](const WaitKind& kind) { return kind.waits == known->waits; };
  const auto first = std::ranges::find_if(kinds, belongs_to_function);
  return {first, std::find_if_not(first, std::end(kinds), belongs_to_function)};
}

const WaitKind* kind_of(std::span<const WaitKind> kinds_of_function, CallBin bin) {
  const auto row = std::ranges::find_if(kinds_of_function, [&](const WaitKind& kind) { return fits(kind.which, bin); });
  return row == kinds_of_function.end() ? nullptr : &*row;
}

}  // namespace refrain::waits
