#pragma once
/// An experiment's events as an OTF2 archive, written with libotf2: some locations at a time, by as many threads as
/// read (experiment::threads_variable). With any number of them it is the same, byte for byte, but for the identifier
/// that libotf2 makes for each archive.
///
/// Enter and leave of MPI functions and of the loops and regions that the program marks; messages, collective and
/// one-sided operations, reads and writes of files; samples with their calling contexts; metrics; the end of an
/// iteration as a parameter; flushes. Names, files and lines are resolved. Times are nanoseconds.
///
/// Several processes can write one archive together (process_group.hpp): each writes the files of some locations, the
/// first one the definitions. It has what a single process writes.

#include <filesystem>

#include "offline/export/export_error.hpp"
#include "offline/symbols/symbols.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::exports {

class ProcessGroup;

struct Otf2Options {
  std::filesystem::path directory;  ///< does not exist
  /// Also enter and leave of the program's functions, as the call paths of successive events imply them.
  bool functions = false;
  ProcessGroup* processes = nullptr;  ///< null: this one alone
};

/// Of all processes, in the first one; in others empty.
struct Otf2Summary {
  std::uint64_t events = 0;  ///< written records
  /// Communications that OTF2 has no record for, whose communicator is not known, or, where events are missing, whose
  /// other sides are.
  std::uint64_t left_out = 0;
};

/// For all processes. Throws ExportError when the archive cannot be written; what there is of it is removed, with
/// several processes by the first one, once the others have ended.
Otf2Summary write_otf2(const trace::Trace& trace, symbols::Symbolizer& symbolizer, const Otf2Options& options);

}  // namespace refrain::exports
