#pragma once
/// The sums of a unit by the rules of time (docs/architecture.md): a cluster of iterations, one iteration, or the time
/// outside of iterations. One struct and one table, for measuring, writing and reading.

#include <cstdint>

namespace refrain::format {

struct UnitTotals {
  // Of every call: these two lie together.
  std::int64_t mpi = 0;             ///< ticks in outermost MPI calls
  std::int64_t mpi_calls = 0;       ///< outermost calls; each costs the mean of the location's calls
  std::int64_t wall = 0;            ///< ticks
  std::int64_t own = 0;             ///< ticks of Refrain's own work besides calls and timer ticks (own_time.hpp)
  std::int64_t cpu_ns = 0;          ///< thread CPU time
  std::int64_t ticks_user = 0;      ///< timer ticks that found user code
  std::int64_t ticks_mpi = 0;       ///< ... an MPI call
  std::int64_t ticks_lost = 0;      ///< ... Refrain itself or nothing to attribute; each tick costs the location's mean
  std::int64_t weight_user_ns = 0;  ///< W_user
  std::int64_t weight_mpi_ns = 0;   ///< W_mpi
  double weight_user_squared = 0;   ///< sum of w^2 over user ticks, ns^2, for the standard error

  inline UnitTotals& operator+=(const UnitTotals& other);
};

/// Stands for the cluster in the unit of the time for which the program had stopped the measurement (stopping.hpp); the
/// loop is -1. That unit has wall and CPU time and nothing else.
inline constexpr std::int32_t stopped_unit = -2;

/// The integers, in the order of the file (docs/file-format.md).
inline constexpr std::int64_t UnitTotals::*unit_total_table[] = {
    &UnitTotals::wall,           &UnitTotals::mpi,          &UnitTotals::own,       &UnitTotals::cpu_ns,
    &UnitTotals::mpi_calls,      &UnitTotals::ticks_user,   &UnitTotals::ticks_mpi, &UnitTotals::ticks_lost,
    &UnitTotals::weight_user_ns, &UnitTotals::weight_mpi_ns};

UnitTotals& UnitTotals::operator+=(const UnitTotals& other) {
  for (const auto total : unit_total_table) this->*total += other.*total;
  weight_user_squared += other.weight_user_squared;
  return *this;
}

}  // namespace refrain::format
