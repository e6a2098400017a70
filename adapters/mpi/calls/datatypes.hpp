#pragma once
/// The size of a number of items of a datatype, in bytes.

#include <cstdint>
#include <type_traits>

#include "adapters/mpi/library.hpp"

namespace refrain::adapters::mpi {

/// Bytes that an operation sends and receives. In a one-sided operation `no_transfer` means that no data moves that
/// way.
struct Traffic {
  std::int64_t sent = 0, received = 0;
};
inline constexpr std::int64_t no_transfer = -1;

/// Sizes of predefined datatypes, which are never freed. MPI is asked for a derived type every time, because its handle
/// may be reused.
struct KnownSize {
  MPI_Datatype type;
  std::int64_t size;
};
inline constexpr unsigned known_size_bits = 4;
extern constinit thread_local KnownSize known_sizes[1 << known_size_bits] __attribute__((tls_model("initial-exec")));

/// Handles are pointers in Open MPI and integers in MPICH.
template <class Handle>
inline std::uint64_t handle_bits(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uint32_t>(handle);
  }
}
/// Spreads handle bits evenly (Fibonacci hashing).
inline std::uint64_t spread(std::uint64_t bits) { return bits * 0x9e3779b97f4a7c15u; }

std::int64_t ask_type_size(MPI_Datatype type, KnownSize& known);

[[gnu::always_inline]] inline std::int64_t type_size(MPI_Datatype type) {
  KnownSize& known = known_sizes[spread(handle_bits(type)) >> (64 - known_size_bits)];
  if (known.type == type) [[likely]]
    return known.size;
  return ask_type_size(type, known);
}

/// A type that is not used (count 0) may be MPI_DATATYPE_NULL, and MPI must not be asked for it.
inline std::int64_t bytes_of(std::int64_t count, MPI_Datatype type) { return count ? count * type_size(type) : 0; }

}  // namespace refrain::adapters::mpi
