#pragma once
/// The composition root: what happens in which order when a measured process starts and ends. It reads like a table of
/// contents; the chapters are in the other files and folders.
///
/// States: dormant (loaded, nothing measured: passed through by `refrain exec`, or disabled) -> measuring -> finished.
/// All functions: ordinary context, called by one thread at a time.

#include "runtime/rank_record.hpp"
#include "runtime/snapshot.hpp"

namespace refrain::runtime {

/// Constructor of the library. Measures from here, or stays dormant until MPI is initialised.
void start_process();

/// The process ends by exit(), return from main, or a library's own ending without MPI_Finalize.
void end_process();

/// The program takes the sampling signal for itself.
void on_signal_taken();

/// A module was unloaded.
void on_module_unloaded();

bool is_measuring();

/// Whether the experiment's directory is there. MPI_Init makes it; a process that has no MPI makes it here, at its
/// first snapshot, or at its end. One thread at a time.
bool have_experiment();

/// The record of this rank (rank_record.hpp), of everything or of what running threads have come to.
bool build_record(RankRecordBuilder& builder, const Spilled& spilled, RankRecordBuilder::Threads threads);

}  // namespace refrain::runtime
