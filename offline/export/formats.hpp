#pragma once
/// Table of the formats that `refrain export` writes: the only source for help, writers and the test of the documents.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "offline/analysis/efficiency.hpp"
#include "offline/export/output_file.hpp"
#include "offline/export/run.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::exports {

/// Selects the kept events to write. Times are nanoseconds of the trace.
struct EventChoice {
  std::optional<std::int64_t> iteration = std::nullopt;  ///< in any loop, counted from 0; unset: all
  std::int64_t from_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t until_ns = std::numeric_limits<std::int64_t>::max();
};

/// Efficiencies of a run, which comes first, and of its marked loops.
struct EfficienciesOfRun {
  struct Part {
    std::string name;  ///< empty: the run
    analysis::Efficiency of;
    double useful_s = 0, mpi_s = 0;              ///< sums over the first threads of the processes in `of`
    std::optional<double> instructions, cycles;  ///< in useful time of the same threads; unset: not counted
  };
  std::string creator;                    ///< "Refrain 0.1.0"
  std::optional<std::int64_t> started_s;  ///< since 1970
  std::vector<Part> parts;                ///< at least one
};

/// Each row has one writer function: for a profile, for events, or for efficiencies. OTF2 has none: it is a directory,
/// which several processes may write together (otf2.hpp).
struct Format {
  const char* name;    ///< value of --format
  const char* ending;  ///< file name extension
  const char* holds;   ///< for the help
  const char* cannot;  ///< what the format cannot represent; empty: nothing is left out
  void (*write_run)(Run& run, OutputFile& out) = nullptr;
  bool takes_several = false;  ///< write_run may be called for several runs in turn, with the same file
  void (*write_events)(const trace::Trace& trace, const EventChoice& choice, OutputFile& out) = nullptr;
  void (*write_efficiencies)(const EfficienciesOfRun& run, OutputFile& out) = nullptr;

  bool is_directory() const { return !write_run && !write_events && !write_efficiencies; }
};

std::span<const Format> formats();
/// Null when there is no format of this name.
const Format* find_format(std::string_view name);

// The writers. All throw ExportError, and what the reader of the run or trace throws.
void write_cubex(Run& run, OutputFile& out);
void write_speedscope(Run& run, OutputFile& out);
void write_folded(Run& run, OutputFile& out);
void write_pprof(Run& run, OutputFile& out);
void write_hatchet(Run& run, OutputFile& out);
void write_callgrind(Run& run, OutputFile& out);
void write_extrap(Run& run, OutputFile& out);
void write_talp(const EfficienciesOfRun& run, OutputFile& out);
void write_perfetto(const trace::Trace& trace, const EventChoice& choice, OutputFile& out);
void write_paraver(const trace::Trace& trace, const EventChoice& choice, OutputFile& out);
void write_chrome(const trace::Trace& trace, const EventChoice& choice, OutputFile& out);

}  // namespace refrain::exports
