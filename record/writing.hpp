#pragma once
/// What is written of this rank, and when it can be: a record while the program runs, and everything at its end.
/// Ordinary context, one thread at a time.

#include "guest/callbacks.hpp"
#include "record/rank_record.hpp"
#include "record/spill.hpp"

namespace refrain::record {

/// A program that is linked to MPI need not initialize it. After so long it is measured as one without MPI, until it
/// does.
inline constexpr std::int64_t patience_before_init_ns = 60'000'000'000;

/// In MPI_Init, on all ranks: makes the experiment, or learns where it is. False: there is none.
bool open_for_all_ranks();
/// Whether there is an experiment.
bool experiment_is_open();
/// Whether there is one, which is made here where no MPI_Init makes it: in a process without MPI at its first snapshot
/// or at its end, and in one that leaves without having initialized MPI.
bool have_experiment(guest::Ending reason);

/// On all ranks after open_for_all_ranks(): compares the clocks of their machines, if events are kept.
void compare_clocks();

/// The record of this rank (rank_record.hpp), of everything or of what running threads have come to.
bool build_record(RankRecordBuilder& builder, const Spilled& spilled, RankRecordBuilder::Threads threads);
/// Writes it. A process without MPI that leaves by its own will has come to its ordinary end. False: it was not
/// written.
bool write_record(const RankRecordBuilder& builder, guest::Ending ending);

/// At the end, when all locations are closed. `files_are_ours`: no other thread writes to them any more.
void write_everything(guest::Ending ending, bool files_are_ours);

}  // namespace refrain::record
