#pragma once
/// What is known of this run of the process beside what its locations have measured. runtime/ sets it in the order of
/// time; all that is written reads it.

#include <cstdint>

#include "archive/rank_profile.hpp"
#include "config/configuration.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/peers.hpp"
#include "platform/clock.hpp"

namespace refrain::record {

/// What Refrain's own bookkeeping costs on this machine.
struct Calibration {
  archive::CalibratedCost call;   ///< one MPI call beyond the call itself, call path 10 frames deep, steady state
  archive::CalibratedCost tick;   ///< one interruption by a tick in user code, signal delivery and re-arming included
  double timed_call, timed_tick;  ///< the part that measurement/own_time.hpp sees; the rest hardly changes
};

struct Run {
  config::Configuration configuration{};
  Calibration calibration{};
  platform::ClockAnchor first_anchor{};  ///< of the begin of the measurement
  int process = 0;                       ///< process id of the measured process
  bool mpi_was_initialized = false;
  bool is_without_mpi = false;  ///< no MPI was loaded when the measurement began, and none has come since
  // From MPI_Init on.
  measurement::Peers world{};
  measurement::MpiAdapter adapter{};
};
extern Run run;

/// The measurement of this process begins: reads clocks, cores and what their use is limited by.
void begin_run();

/// Reads a few files for the next record, which tells what quotas, interrupts and the hypervisor have taken until now.
/// Before other threads are held.
void read_cores_taken();

/// Those parts of the record of this rank that are of the process: clocks, host, cores. Counts the loss when the clock
/// of the processor has not run evenly.
archive::RankRecord record_of_process();

}  // namespace refrain::record
