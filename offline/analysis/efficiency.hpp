#pragma once
/// Efficiency metrics in the terms of POP (https://co-design.pop-coe.eu/metrics/index.html), from times by rank:
///
///     parallel efficiency = load balance x communication
///         load balance  = mean useful / largest useful
///                       = across machines (mean / largest mean of a machine) x within machines (that / largest)
///         communication = largest useful / elapsed = serialisation x transfer
///             serialisation = largest useful / ideal
///             transfer      = ideal / elapsed
///
/// Useful time is wall time outside of MPI. Elapsed time is the maximum over ranks of useful time plus MPI time. Ideal
/// time is the elapsed time on a network without transfer time: the maximum over ranks of useful time plus waiting plus
/// MPI I/O. This is the definition of the Cube Advisor (JSC) and needs no simulator. All products are exact.
///
/// Waiting is an estimate, and the maximum of many estimates is too large. If each rank has two estimates, from the two
/// halves of its iterations, one half chooses the rank and the other half evaluates it, in both directions. Otherwise
/// the estimates are shrunk toward their mean by the part of their scatter that their errors explain (James & Stein
/// 1961; Efron & Morris 1975), except those beyond the reach of errors (Donoho & Johnstone 1994). An error that all
/// estimates have in common causes no scatter. The error of the ideal time combines its scatter over the replicates of
/// the estimates (run::Replicates) with the uncertainty that the bounds of the deciding rank leave.
///
/// Pure functions of their arguments. Times are in seconds.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "offline/run/quantities.hpp"

namespace refrain::analysis {

/// A value and its standard error; 0: it is exact.
struct Measured {
  double value = 0, error = 0;
};

/// Times of the first thread of a rank, in the run or in a part of it.
struct RankTimes {
  std::int32_t rank = 0;
  std::size_t machine = 0;  ///< the same number for ranks on one machine
  Measured useful;
  double mpi_s = 0;
  double io_s = 0;                    ///< part of mpi_s in functions of MPI I/O
  std::optional<run::Estimate> wait;  ///< part of mpi_s; nothing: not known
  /// Two estimates of `wait` whose errors are independent of each other.
  std::optional<std::array<Measured, 2>> halves;
  /// Part of useful time off the CPU, and the part of that spent ready to run without a core; nothing: not counted.
  std::optional<double> off_cpu_s, waited_for_core_s;
  /// CPU time outside of MPI of each other thread that has worked.
  std::vector<double> workers_s;

  double all_s() const { return useful.value + mpi_s; }
};

/// How the ideal time was found.
enum class IdealBy : std::uint8_t { Exact, Halves, Shrinking };

struct Efficiency {
  std::size_t processes = 0, machines = 0;
  double elapsed_s = 0;
  Measured parallel, load_balance, communication;
  double across_machines = 1, within_machines = 1;  ///< their product is the load balance
  std::optional<Measured> serialisation, transfer;  ///< nothing: waiting is not known of all ranks
  IdealBy ideal_by = IdealBy::Exact;
  /// Parts of the useful time of all processes: on a CPU, ready without a core, and blocked. They add up to 1. The last
  /// two are not known if the kernel does not count how long threads are ready.
  std::optional<double> availability, waited_for_core, blocked;

  /// The additive form: each factor is 1 minus the part of the elapsed time that its cause loses, and
  ///     parallel = load balance + communication - 1,  communication = serialisation + transfer - 1.
  struct Additive {
    double load_balance = 1, communication = 1;
    std::optional<double> serialisation, transfer;
  };
  Additive additive;

  /// Efficiency with threads. `parallel` above is that of processes: it counts only the first thread of each.
  struct Hybrid {
    std::size_t threads = 0;            ///< of all processes together, without idle ones
    double parallel = 0;                ///< mean useful time of a thread / elapsed
    double threads_multiplicative = 1;  ///< parallel = that of processes x this
    double threads_additive = 1;        ///< parallel = that of processes + this - 1
  };
  std::optional<Hybrid> hybrid;  ///< nothing: no process has a second thread that works
};

/// Returns nothing if there is no rank, or none has any useful time.
std::optional<Efficiency> efficiency_of(std::span<const RankTimes> ranks);

/// A stretch of iterations that all ranks have.
struct EfficiencyOfRange {
  std::int64_t first = 0, last = 0;  ///< iterations
  double parallel = 0, load_balance = 0, communication = 0;
};

/// A step in the parallel efficiency of iterations.
struct EfficiencyStep {
  std::int64_t from = 0;  ///< the first iteration after the step
  double before = 0, after = 0;
  bool is_load_balance = false;  ///< load balance has changed more than communication
  double factor_before = 0, factor_after = 0;
};
/// Returns nothing if no step exceeds both 0.05 and four standard errors, by the scatter of the ranges around it.
std::optional<EfficiencyStep> step_of(std::span<const EfficiencyOfRange> ranges);

/// A run, or the mean of several with the same number of processes, in a comparison of sizes.
struct ScalingPoint {
  std::int64_t processes = 0, runs = 0;
  double elapsed_s = 0, elapsed_deviation_s = 0;  ///< deviation: between runs; 0 for a single run
  Measured parallel, load_balance, communication;
  std::optional<Measured> serialisation, transfer;
  double useful_s = 0;  ///< of all processes
  Measured computation_scaling{1, 0}, global{1, 0};
  double speedup = 1;

  /// Counters in useful time, if all runs have counted instructions and cycles. The scaling factors are relative to the
  /// reference, and computation scaling is their product.
  struct Counters {
    Measured instructions, ipc, frequency_hz;
    Measured instruction_scaling{1, 0}, ipc_scaling{1, 0}, frequency_scaling{1, 0};
  };
  std::optional<Counters> counters;
};
struct SizedRun {
  std::int64_t processes = 0;
  Efficiency efficiency;
  double useful_s = 0;
  std::optional<double> instructions = std::nullopt, cycles = std::nullopt;  ///< of useful time, of all processes
};
/// Ascending by processes; the first point is the reference. Computation scaling is the useful time of the reference
/// divided by that of the point; in weak scaling, where the problem grows with the processes, it is multiplied by the
/// ratio of their numbers. Global efficiency = parallel efficiency x computation scaling. For sizes with several runs,
/// errors are those of the means.
std::vector<ScalingPoint> scaling_points(std::span<const SizedRun> runs, bool is_weak);

/// The factor with the largest relative loss from the reference to the largest size, and the part of its value that is
/// left; nothing: no factor has lost a twentieth.
struct ScalingLoss {
  std::string factor;
  double left = 1;
};
std::optional<ScalingLoss> largest_loss(std::span<const ScalingPoint> points);

/// POP's own threshold for all of its efficiencies.
inline constexpr double acceptable_efficiency = 0.8;

/// The factors by the names that `refrain check --efficiency` and JSON use.
struct EfficiencyFactor {
  const char *name, *words;
  int depth;  ///< in the tree of factors
  std::optional<Measured> (*of)(const Efficiency& of);
};
std::span<const EfficiencyFactor> efficiency_factors();

}  // namespace refrain::analysis
