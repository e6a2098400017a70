#pragma once
/// This rank as its record tells of it, besides its locations. runtime.cpp fills it in from the start on; snapshots,
/// ends without MPI_Finalize and MPI_Finalize write it.
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
  int process_id;  ///< of the measured process: a child of vfork shares our memory, not our duty
  platform::ClockAnchor first_anchor;
  bool is_without_mpi;  ///< no MPI was loaded when the measurement began, and none has come since
  bool mpi_was_initialized;
  bool has_experiment;
  measurement::Peers world;         ///< known from MPI_Init on
  measurement::MpiAdapter adapter;  ///< likewise
};
extern ThisRank this_rank;

/// This is the measured process, not a child that shares its memory or has a copy of it. Async-signal-safe.
bool is_original_process();

/// A program that is linked to MPI need not initialize it. After so long it is measured as one without MPI, until it
/// does.
constexpr std::int64_t init_timeout_ns = 60'000'000'000;

/// The measurement begins: chooses the clock, and reads what the record compares with the end.
void begin_rank();

/// Whether the experiment's directory is there. MPI_Init makes it; a process that has no MPI makes it here, at its
/// first snapshot, or at its end, and so does one that leaves without having initialized MPI.
bool have_experiment(Ending reason);
/// Makes it, or learns its name from rank 0. `mpi_library`: what MPI calls itself; empty before MPI_Init. False: there
/// is none.
bool open_experiment(const char* mpi_library);

/// Reads a few files for the next record, which tells what quotas, interrupts and the hypervisor have taken until now.
/// Before other threads are held.
void read_cores_taken();

/// What has gone to files while the program ran: it stays there, or the record takes it in.
struct Spilled {
  std::uint64_t bytes = 0;            ///< of the file of iterations that stay there
  std::span<const std::byte> frames;  ///< of iterations, for the record to take in
  bool takes_in_events = false;
  std::span<const std::byte> event_frames;  ///< likewise
};
/// The record of this rank (rank_record.hpp), of everything or of what running threads have come to.
bool build_record(RankRecordBuilder& builder, const Spilled& spilled, Threads threads);

/// Writes it, with `peers` when the ending is complete. A process without MPI that leaves by its own will has come to
/// its ordinary end. False: it was not written.
bool write_record(const RankRecordBuilder& builder, Ending ending, const measurement::Peers& peers);

}  // namespace refrain::runtime
