#pragma once
/// The configuration of a measured process: one table of options (options.def), read once from the environment at
/// start.
///
/// Used by the runtime (no exceptions, no allocation, ordinary context) and by the tools.

#include <cstddef>
#include <cstdint>

namespace refrain::config {

enum class SamplingClock : std::uint8_t { Cpu, Wall };
enum class SamplingSource : std::uint8_t { TaskClock, Timer };
enum class Unwinder : std::uint8_t { Incremental, Libunwind };
enum class ClusterEquivalence : std::uint8_t { Mpi, MpiVisits, All, None };

/// The values in force: one field per row of options.def, in the row's type.
struct Configuration {
  bool enable;                      ///< REFRAIN_ENABLE
  std::int64_t sampling_frequency;  ///< REFRAIN_SAMPLING_FREQUENCY, Hz; 0: no samples
  SamplingClock sampling_clock;     ///< REFRAIN_SAMPLING_CLOCK = cpu | wall
  SamplingSource sampling_source;   ///< REFRAIN_SAMPLING_SOURCE = task_clock | timer
  std::int64_t sampling_signal;     ///< REFRAIN_SAMPLING_SIGNAL, number of a real-time signal; 0: Refrain chooses
  Unwinder unwinder;                ///< REFRAIN_UNWINDER = incremental | libunwind
  std::int64_t callpath_depth;      ///< REFRAIN_CALLPATH_DEPTH, frames
  std::int64_t memory;              ///< REFRAIN_MEMORY, bytes of call tree per location
  char experiment_directory[1024];  ///< REFRAIN_EXPERIMENT_DIRECTORY, empty: Refrain chooses a name
  std::int64_t finalize_timeout;    ///< REFRAIN_FINALIZE_TIMEOUT, seconds
  std::int64_t clusters;            ///< REFRAIN_CLUSTERS
  ClusterEquivalence cluster_equivalence;  ///< REFRAIN_CLUSTER_EQUIVALENCE = mpi | mpi_visits | all | none
  std::int64_t iteration_samples;          ///< REFRAIN_ITERATION_SAMPLES, bytes per loop and thread; 0: none
  std::int64_t iteration_log;              ///< REFRAIN_ITERATION_LOG, bytes per rank
  char iteration_at[1024];                 ///< REFRAIN_ITERATION_AT, empty: only marks begin iterations
  char metrics[1024];                      ///< REFRAIN_METRICS, empty: none
  char trace[1024];                        ///< REFRAIN_TRACE
  std::int64_t trace_slowest;              ///< REFRAIN_TRACE_SLOWEST
  std::int64_t trace_memory;               ///< REFRAIN_TRACE_MEMORY, bytes
  bool wait_states;                        ///< REFRAIN_WAIT_STATES
  std::int64_t snapshot;                   ///< REFRAIN_SNAPSHOT, seconds; 0: none
  bool verbose;                            ///< REFRAIN_VERBOSE
};

/// One line for stderr, without newline, that names the variable, the value and the allowed values. Long values are
/// cut, and control characters are shown as '?'.
struct ConfigurationError {
  char line[512];
};

/// Reads all REFRAIN_* variables of the environment. An empty value means the default. REFRAIN_INTERNAL_* is skipped:
/// it is for `refrain exec` and the runtime. If REFRAIN_ENABLE is off, nothing else is read. False: `error` says which
/// variable is bad, `out` is unusable, and the program must run unmeasured. A REFRAIN_* name that is not an option is
/// an error, too, for which the nearest name is suggested.
[[nodiscard]] bool read_configuration(Configuration& out, ConfigurationError& error);

/// A row of the table, for `refrain info config`, the man page and the manifest.
struct OptionRow {
  const char* variable;  ///< with the prefix REFRAIN_
  const char* type;      ///< "boolean", "integer", "size", "choice", "text", "path", "tool"
  const char* unit;      ///< "Hz", "s", "frames", "" ...
  const char* allowed;   ///< "0 to 10000", "cpu | wall", ...
  const char* default_value;
  const char* help;       ///< one line
  const char* long_help;  ///< a paragraph
};
extern const OptionRow option_table[];
extern const std::size_t option_count;

/// Variables that only tools read (the compiler wrappers). A measured process accepts and ignores them.
extern const OptionRow tool_variable_table[];
extern const std::size_t tool_variable_count;

/// Writes the value of a row in `configuration` as it would be written in the environment. `out` is zero-terminated.
void format_option(const Configuration& configuration, std::size_t row, char* out, std::size_t size);

}  // namespace refrain::config
