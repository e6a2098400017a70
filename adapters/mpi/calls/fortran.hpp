#pragma once
/// Calls that reach MPI through a layer. MPI's Fortran libraries stand between the program and the C functions, and
/// call some or all of these by their PMPI_ names; another tool in front of Refrain, or in the program itself, does the
/// same. So the PMPI_ names are wrapped, too. A call by such a name is the program's
///   - if the wrapper of the Fortran function has announced it (fortran_symbols.hpp), which is the rule in Fortran; or
///   - if it comes from the function of the same name in the layer: a tool's, or a Fortran function whose wrapper was
///   not
///     called (the layer is linked statically into the program, or the spelling has no wrapper).
/// Handles, constants and strings have been converted by then. Every other call by a PMPI_ name is MPI's own, or a
/// tool's for itself, and passes through. So do auxiliary calls of a Fortran function (MPI_GATHERV asks for the size of
/// the communicator).
///
/// Thread safety: any thread. Not for handlers.

#include <atomic>
#include <cstdint>

#include "adapters/mpi/calls/datatypes.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/modules.hpp"

namespace refrain::adapters::mpi {

/// Call sites of PMPI_ functions that were judged before. Each has four possible slots; if all are taken, it replaces
/// another site, which is judged again. A verdict holds as long as the same module lies at the site:
/// platform::code_at() tells that, and is asked once after each unload.
struct KnownCallSite {
  std::atomic<std::uint64_t> key;      ///< return address << 11 | region << 1 | verdict; 0: free
  std::atomic<std::uint64_t> checked;  ///< CodeLife::first of the code << 32 | module_generation() at the check
};
inline constexpr unsigned known_call_site_bits = 10, known_call_site_ways = 4;
extern KnownCallSite known_call_sites[1u << known_call_site_bits];
inline KnownCallSite* slots_of_call_site(std::uint64_t key) {
  return &known_call_sites[spread(key) >> (64 - known_call_site_bits) & ~std::uint64_t{known_call_site_ways - 1}];
}

bool judge_call_site(measurement::RegionId region, const void* return_address, std::uint64_t key);
/// Called if a module was unloaded since the site was checked. False: other code lies there, and the site is forgotten.
bool check_call_site(KnownCallSite& site, std::uint64_t known, std::uint64_t checked);

/// Whether the call of `region`'s PMPI_ function that returns to `return_address` is the program's, through a layer.
[[gnu::always_inline]] inline bool called_by_layer(measurement::RegionId region, const void* return_address) {
  const std::uint64_t key = reinterpret_cast<std::uint64_t>(return_address) << 11 | static_cast<std::uint64_t>(region)
                                                                                        << 1;
  KnownCallSite* slots = slots_of_call_site(key);
  for (unsigned way = 0; way < known_call_site_ways; ++way) {
    const std::uint64_t known = slots[way].key.load(std::memory_order_acquire);
    if ((known | 1) != (key | 1)) continue;
    const std::uint64_t checked = slots[way].checked.load(std::memory_order_relaxed);
    if (static_cast<std::uint32_t>(checked) == platform::module_generation()) [[likely]]
      return known & 1;
    if (check_call_site(slots[way], known, checked)) return known & 1;
    break;
  }
  return judge_call_site(region, return_address, key);
}

/// Whether that call is the program's, through a layer or announced. Must be inlined into the wrapper that was called.
[[gnu::always_inline]] inline bool is_call_of_program(measurement::RegionId region, const void* return_address) {
  const measurement::Location* location = measurement::own_location();
  const auto sp = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + 2 * sizeof(void*);
  if (location && measurement::is_announced(*location, region, sp)) return true;
  return called_by_layer(region, return_address);
}

/// Whether `address` is in one of MPI's Fortran libraries. Preserves errno.
bool is_in_fortran_library(const void* address);

}  // namespace refrain::adapters::mpi
