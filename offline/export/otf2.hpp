#pragma once
/// Writes an experiment's events as an OTF2 archive with libotf2: several locations at a time, with as many threads as
/// for reading (experiment::threads_variable). The archive does not depend on the number of threads, byte for byte,
/// except for the identifier that libotf2 makes for each archive.
///
/// The archive has enter and leave of MPI functions and of marked loops and regions; messages, collective and one-sided
/// operations, reads and writes of files; samples with their calling contexts; metrics; the end of an iteration as a
/// parameter; flushes. Names, files and lines are resolved. Times are nanoseconds.
///
/// Several processes can write one archive together (process_group.hpp): each writes the files of some locations, and
/// the first one also the definitions. The contents are those that a single process writes.

#include <filesystem>

#include "offline/export/export_error.hpp"
#include "offline/symbols/symbols.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::exports {

class ProcessGroup;

struct Otf2Options {
  std::filesystem::path directory;  ///< must not exist
  /// Also write enter and leave of the program's functions, as implied by the call paths of successive events.
  bool functions = false;
  ProcessGroup* processes = nullptr;  ///< null: this process writes alone
};

/// Totals over all processes in the first one; empty in the others.
struct Otf2Summary {
  std::uint64_t events = 0;  ///< number of records written
  /// Number of communications that OTF2 has no record for, whose communicator is unknown, or whose other side is
  /// missing because events are missing.
  std::uint64_t left_out = 0;
};

/// Collective over the processes. Throws ExportError when the archive cannot be written; the incomplete archive is
/// removed, with several processes by the first one, after the others have ended.
Otf2Summary write_otf2(const trace::Trace& trace, symbols::Symbolizer& symbolizer, const Otf2Options& options);

}  // namespace refrain::exports
