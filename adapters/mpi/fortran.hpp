#pragma once
/// Calls of Fortran programs. MPI's Fortran libraries stand between the program and the C functions and call some or
/// all of these by their PMPI_ names, which the MPI_ wrappers never see. So the PMPI_ names are wrapped too, and a call
/// by such a name is the program's when it comes from the Fortran function of the same name: handles, constants and
/// strings have been converted there. Every other call of a PMPI_ name is MPI's own or another tool's, and passes
/// through; so does what a Fortran function asks beside (MPI_GATHERV asks for the size of the communicator).
///
/// Thread safety: any thread. Not for handlers.

#include <atomic>
#include <cstdint>

#include "adapters/mpi/datatypes.hpp"
#include "measurement/location.hpp"

namespace refrain::adapters::mpi {

/// Call sites of PMPI_ functions that were judged before: return address << 11 | region << 1 | verdict. A site that
/// finds its place taken is judged again.
inline constexpr unsigned known_call_site_bits = 10;
extern std::atomic<std::uint64_t> known_call_sites[1u << known_call_site_bits];

bool judge_call_site(measurement::RegionId region, const void* return_address, std::uint64_t key);

/// True when the call of `region`'s PMPI_ function that returns to `return_address` is that of a Fortran program.
[[gnu::always_inline]] inline bool called_by_fortran(measurement::RegionId region, const void* return_address) {
  const std::uint64_t key = reinterpret_cast<std::uint64_t>(return_address) << 11 | static_cast<std::uint64_t>(region)
                                                                                        << 1;
  const std::uint64_t known =
      known_call_sites[spread(key) >> (64 - known_call_site_bits)].load(std::memory_order_relaxed);
  if ((known | 1) == (key | 1)) [[likely]]
    return known & 1;
  return judge_call_site(region, return_address, key);
}

/// True when `symbol` of a Fortran library ("mpi_send_", "ompi_send_f", "mpi_send_f08ts_large_") is the Fortran form of
/// the C function `function` ("MPI_Send", "MPI_Send_c").
bool is_fortran_form(const char* symbol, const char* function);

}  // namespace refrain::adapters::mpi
