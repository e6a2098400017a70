#pragma once
/// What the record of this rank says besides its locations. runtime.cpp fills it in from the start on; snapshots, ends
/// without MPI_Finalize and MPI_Finalize write it.
///
/// Ordinary context, one thread at a time.

#include "measurement/lifecycle.hpp"
#include "record/experiment.hpp"
#include "record/rank_record.hpp"

namespace refrain::runtime {

using record::Calibration;
using record::Ending;
using record::RankRecordBuilder;
using Threads = RankRecordBuilder::Threads;

struct ThisRank {
  config::Configuration configuration;
  Calibration calibration;
  int process_id;  ///< of the measured process; a child of vfork shares our memory, but is not measured
  platform::ClockAnchor first_anchor;
  bool is_without_mpi;  ///< no MPI was loaded when the measurement began, and none has come since
  bool mpi_was_initialized;
  bool has_experiment;
  measurement::Peers world;         ///< valid from MPI_Init on
  measurement::MpiAdapter adapter;  ///< likewise
};
extern ThisRank this_rank;

/// Whether this is the measured process, and not a child that shares its memory or has a copy of it. Async-signal-safe.
bool is_original_process();

/// A program that is linked to MPI need not initialize it. After this time it is measured as one without MPI, until it
/// does.
constexpr std::int64_t init_timeout_ns = 60'000'000'000;

/// Begins the measurement of the rank: chooses the clock, and reads the figures that the record compares with the end.
void begin_rank();

/// Whether the experiment's directory exists. MPI_Init makes it. A process without MPI makes it here, at its first
/// snapshot or at its end; so does one that ends without having initialized MPI.
bool have_experiment(Ending reason);
/// Makes the directory, or learns its name from rank 0. `mpi_library` is the version string of MPI, empty before
/// MPI_Init. False: there is no experiment.
bool open_experiment(const char* mpi_library);

/// Reads a few files for the next record, which says how much CPU time quotas, interrupts and the hypervisor have taken
/// so far. Call it before other threads are held.
void read_cores_taken();

/// Data that went to files while the program ran. They stay there, or the record takes them in.
struct Spilled {
  std::uint64_t bytes = 0;            ///< size of the file of iterations, if they stay there
  std::span<const std::byte> frames;  ///< frames of iterations, if the record takes them in
  bool takes_in_events = false;
  std::span<const std::byte> event_frames;  ///< frames of events, if the record takes them in
};
/// Builds the record of this rank (rank_record.hpp). `threads` says whether the threads have ended or still run.
bool build_record(RankRecordBuilder& builder, const Spilled& spilled, Threads threads);

/// Writes the record; `peers` take part when the ending is complete. A process without MPI that ends by its own will
/// has reached its ordinary end. False: it was not written.
bool write_record(const RankRecordBuilder& builder, Ending ending, const measurement::Peers& peers);

}  // namespace refrain::runtime
