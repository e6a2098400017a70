#pragma once
/// What tools have found in an experiment and keep beside it: further metrics of call paths and locations, in seconds,
/// of the whole run. The file is `metrics.json`:
///
///     {"version": 1, "paths": N, "metrics": [{"name": "", "parent": "", "help": "", "is_sampled": false,
///       "values": [[path, rank, thread, seconds], ...], "locations": [[rank, thread, seconds, standard error], ...]}]}
///
/// A path is its number in the definitions, of which there are N; -1: none. An error below 0 is not known.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "offline/experiment/input_file.hpp"

namespace refrain::experiment {

struct SavedMetric {
  struct Value {
    std::int64_t path;
    std::int32_t rank, thread;
    double seconds;
  };
  struct OfLocation {
    std::int32_t rank, thread;
    double seconds, error_s;
  };
  std::string name, parent, help;
  bool is_sampled = false;  ///< an estimate from a part of the run
  std::vector<Value> values;
  std::vector<OfLocation> locations;
};

inline constexpr const char* saved_metrics_name = "metrics.json";

/// Replaces what was kept before, as a whole. Throws std::system_error.
void write_saved_metrics(const std::filesystem::path& experiment, std::size_t paths,
                         std::span<const SavedMetric> metrics);
/// Throws ReadError.
std::vector<SavedMetric> parse_saved_metrics(const InputFile& file, std::size_t paths);

}  // namespace refrain::experiment
