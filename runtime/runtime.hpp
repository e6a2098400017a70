#pragma once
/// The composition root: what happens in which order when a measured process starts and ends. It reads like a table of
/// contents; the chapters are in the other files and folders.
///
/// States: dormant (loaded, waiting for an image that needs MPI or for MPI_Init) -> measuring -> finished; or finished
/// at once, when the measurement is disabled or cannot begin.
/// All functions: ordinary context, called by one thread at a time.

#include "runtime/rank_record.hpp"
#include "runtime/snapshot.hpp"

namespace refrain::runtime {

/// Constructor of the library. Measures from here, or stays dormant until MPI is initialised.
void start_process(char** arguments);

/// The process ends by exit(), return from main, or a library's own ending without MPI_Finalize.
void end_process();

/// The program takes the sampling signal for itself.
void on_signal_taken();

/// A module was unloaded.
void on_module_unloaded();

bool is_measuring();

/// This is the measured process, not a child that shares its memory or has a copy of it. Async-signal-safe.
bool is_home_process();
/// This is the measured process, it has not come to MPI_Init, and when it becomes another image, that one may be
/// measured in its place. Async-signal-safe.
bool can_be_continued();
/// Looks up what the functions of runtime/exec.cpp call: in a child there may be no other chance.
void find_exec_functions();
/// The job has other ranks. Async-signal-safe.
bool is_one_of_several();

/// Whether the experiment's directory is there. MPI_Init makes it; a process that has no MPI makes it here, at its
/// first snapshot, or at its end, and so does one that leaves without having initialized MPI. One thread at a time.
bool have_experiment(Ending reason);

/// Reads a few files for the next record, which tells what quotas, interrupts and the hypervisor have taken until now.
/// Before other threads are held.
void read_cores_taken();
/// The record of this rank (rank_record.hpp), of everything or of what running threads have come to.
bool build_record(RankRecordBuilder& builder, const Spilled& spilled, RankRecordBuilder::Threads threads);

/// Writes it. A process without MPI that leaves by its own will has come to its ordinary end. False: it was not
/// written.
bool write_record(const RankRecordBuilder& builder, Ending ending);

}  // namespace refrain::runtime
