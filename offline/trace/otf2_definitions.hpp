#pragma once
/// The definitions of an OTF2 archive as they are stored: references are sparse numbers, and what they refer to may be
/// missing.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "offline/experiment/damage.hpp"

namespace refrain::trace {

/// A value by reference: a vector while the numbers are small, as they usually are.
class ReferenceMap {
 public:
  static constexpr std::uint32_t none = 0xffffffff;
  void set(std::uint64_t reference, std::uint32_t value);
  std::uint32_t operator[](std::uint64_t reference) const {
    if (reference < small_.size()) [[likely]]
      return small_[reference];
    const auto at = large_.find(reference);
    return at == large_.end() ? none : at->second;
  }

 private:
  std::vector<std::uint32_t> small_;
  std::unordered_map<std::uint64_t, std::uint32_t> large_;
};

/// The anchor file.
struct Otf2Anchor {
  std::uint64_t event_chunk = 0, definition_chunk = 0;  ///< bytes
  std::string creator;
};

struct Otf2Definitions {
  struct SystemTreeNode {
    std::uint32_t reference, name, class_name, parent;
  };
  struct LocationGroup {
    std::uint32_t reference, name;
    std::uint8_t type;
    std::uint32_t node, creator;
  };
  struct Location {
    std::uint64_t reference;
    std::uint32_t name;
    std::uint8_t type;
    std::uint64_t events;
    std::uint32_t group;
  };
  struct Region {
    std::uint32_t reference, name, canonical_name, file, line;
    std::uint8_t role, paradigm;
  };
  struct Group {
    std::uint8_t type, paradigm;
    std::vector<std::uint64_t> members;
  };
  struct Communicator {
    std::uint32_t reference, name, group;
    std::uint32_t remote_group;  ///< of an intercommunicator; otherwise undefined
    std::uint32_t parent;
  };
  struct Window {
    std::uint32_t reference, name, communicator;
  };
  struct Metric {
    std::uint32_t name, unit;
    std::uint8_t value_type;
  };
  struct MetricClass {
    std::vector<std::uint32_t> members;  ///< references
  };
  struct Parameter {
    std::uint32_t reference, name;
    std::uint8_t type;
  };
  struct CallingContext {
    std::uint32_t reference, region, parent;
  };

  std::uint64_t ticks_per_second = 1'000'000'000, global_offset = 0, length = 0;
  std::uint64_t begin_epoch_ns = 0;  ///< 0: not known
  std::unordered_map<std::uint32_t, std::string> strings;
  std::vector<SystemTreeNode> nodes;
  std::vector<LocationGroup> location_groups;
  std::vector<Location> locations;
  std::vector<Region> regions;
  std::map<std::uint32_t, Group> groups;
  std::vector<std::uint32_t> groups_in_order;
  std::vector<Communicator> communicators;
  std::vector<Window> windows;
  std::map<std::uint32_t, Metric> metrics;
  std::map<std::uint32_t, MetricClass> metric_classes;
  std::map<std::uint32_t, std::uint32_t> metric_instances;  ///< class by instance
  std::vector<Parameter> parameters;
  std::vector<CallingContext> contexts;

  /// Empty: not defined.
  const std::string& text(std::uint32_t reference) const;
};

/// Throws ReadError when the file is no anchor, or the archive is of a kind that cannot be read (SIONlib, compressed).
Otf2Anchor read_otf2_anchor(const std::filesystem::path& anchor);
/// Definitions after damage are missing, and the damage is logged. Throws ReadError when damage leaves no locations.
Otf2Definitions read_otf2_definitions(const std::filesystem::path& file, const Otf2Anchor& anchor,
                                      experiment::DamageLog& damage);

/// What a location defines itself: the global references for its own ones, and how its clock deviates.
struct Otf2OfLocation {
  static constexpr unsigned kinds_of_references = 15;  ///< OTF2_MAPPING_MAX
  std::unordered_map<std::uint64_t, std::uint64_t> global[kinds_of_references];

  /// Linear between two measurements; the first and the last interval extend to all times outside.
  struct ClockInterval {
    std::uint64_t begin, end;
    std::int64_t offset;
    double slope;
  };
  std::vector<ClockInterval> clock;
};
/// Empty when there is no such file: it is optional.
Otf2OfLocation read_otf2_of_location(const std::filesystem::path& file, const Otf2Anchor& anchor,
                                     experiment::DamageLog& damage);

}  // namespace refrain::trace
