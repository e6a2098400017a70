#pragma once
/// Where the events of a trace come from.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/profile_file.hpp"

namespace refrain::trace {

enum class LocationKind : std::uint8_t { Thread, AcceleratorStream, Metric };

struct LocationOfTrace {
  std::int32_t rank = 0;  ///< -1: its process is no rank of the job
  std::int32_t thread = 0;
  std::string name = {}, host = {};
  std::uint64_t records = 0;     ///< in the file
  std::uint64_t lost = 0;        ///< records that found no room
  std::uint64_t iterations = 0;  ///< number of kept ones
  LocationKind kind = LocationKind::Thread;
  std::string process = {};  ///< name of the process; in archives
  /// In archives: the system tree from the machine down to the host, with entries like "node nid03473".
  std::vector<std::string> placement = {};
};

struct RankOfTrace {
  std::int32_t rank = 0;
  std::string host;
  format::EventMode mode{};
  std::uint64_t bytes = 0;  ///< size of its file
  std::uint32_t first_region = 0;
  std::vector<std::string> regions;  ///< names of the program's loops and regions, by id, from first_region on
  std::optional<std::int64_t> clock_offset_ns;  ///< at its begin, to the first rank's clock; nothing: not known
  /// The name of a loop or region; empty: outside of iterations.
  std::string name_of(std::uint32_t region) const;
};

struct WindowOfTrace {
  std::string name;
  std::int32_t communicator = -1;  ///< index into Communicators::all(), or -1
};

/// The metric that a Metric event has a value of.
struct MetricOfTrace {
  std::string name, unit;
  enum Type : std::uint8_t { Signed, Unsigned, Real } type = Signed;  ///< Real: the value holds the bits of a double
};

}  // namespace refrain::trace
