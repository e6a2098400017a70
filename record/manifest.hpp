#pragma once
/// Writes manifest.json. Runtime half; rank 0, ordinary context.

#include <cstddef>
#include <cstdint>
#include <span>

#include "record/rank_profile.hpp"

namespace refrain::record {

enum class ExperimentState : std::uint8_t { Running, Complete, Incomplete };

struct NameValue {
  const char* name;
  const char* value;
};

/// A view; null pointers are written as empty texts.
struct ManifestRecord {
  ExperimentState state;
  std::span<const char* const> command;  ///< argv of rank 0
  const char* executable;
  const char* working_directory;
  std::span<const NameValue> configuration;  ///< options in force
  int ranks;
  const char* host;
  const char* mpi_library;  ///< version string of MPI; empty without MPI
  std::int64_t started_epoch_ns;
  std::int64_t ended_epoch_ns;  ///< 0: not yet
  double ticks_per_second;      ///< 0: not known yet, and the costs are left out
  CalibratedCost call_cost;     ///< ticks
  CalibratedCost tick_cost;     ///< ticks
};

/// Replaces the manifest in one step: a reader sees the old one or the new one. False: `line` (zero-terminated, without
/// newline) says why, and the old one is still there.
[[nodiscard]] bool write_manifest(const char* directory, const ManifestRecord& record, char* line,
                                  std::size_t line_size);

}  // namespace refrain::record
