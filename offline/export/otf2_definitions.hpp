#pragma once
/// The definitions of an OTF2 archive: references to the experiment's names, call paths, locations, communicators.

#include <map>
#include <otf2/otf2.h>
#include <string>
#include <tuple>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/windows.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::exports {

class Otf2Definitions {
 public:
  Otf2Definitions(const trace::Trace& trace, const analysis::CallTree& tree);

  /// `events`: number of records, by location of the trace.
  void write(OTF2_GlobalDefWriter* writer, const std::vector<std::uint64_t>& events) const;

  std::uint64_t locations() const { return location_count_; }
  /// The calling context of a node of the tree; the root has none.
  static OTF2_CallingContextRef context_of(std::uint32_t node) { return node - 1; }
  /// The region of a node of the tree.
  OTF2_RegionRef region_of(std::uint32_t node) const { return region_of_node_[node]; }
  /// OTF2_UNDEFINED_COMM when the communicator has members outside the job, or is unknown.
  OTF2_CommRef communicator_of(std::int32_t rank, std::int32_t id) const;
  OTF2_RmaWinRef window_of(std::int32_t rank, std::int32_t id) const;
  /// The parameter that marks the end of an iteration of `loop`.
  OTF2_ParameterRef parameter_of(const std::string& loop) const;

  /// The metric class whose only member is this metric of the trace.
  static OTF2_MetricRef class_of(std::uint32_t metric) { return metric; }

  static constexpr OTF2_InterruptGeneratorRef sampling = 0;
  /// Attribute of a leave event: nanoseconds of the call off the CPU.
  static constexpr OTF2_AttributeRef off_cpu = 0;
  /// One handle for all files: records do not say which file is read or written.
  static constexpr OTF2_IoHandleRef files = 0;

 private:
  struct Region {
    std::string name, file;
    run::PathKind kind;
    bool is_marked;
    int line;
  };
  bool is_inside(const trace::CommunicatorOfTrace& communicator) const;
  void make_regions();
  void make_locations();
  void write_system(OTF2_GlobalDefWriter* writer, const std::vector<std::uint64_t>& events) const;
  void write_regions(OTF2_GlobalDefWriter* writer) const;
  void write_metrics(OTF2_GlobalDefWriter* writer) const;
  void write_communicators(OTF2_GlobalDefWriter* writer) const;
  void write_files(OTF2_GlobalDefWriter* writer) const;
  OTF2_StringRef text(OTF2_GlobalDefWriter* writer, const std::string& value) const;

  const trace::Trace& trace_;
  const analysis::CallTree& tree_;
  std::vector<Region> regions_;
  std::vector<OTF2_RegionRef> region_of_node_;
  std::uint64_t location_count_ = 0;
  std::vector<std::int32_t> ranks_without_events_;
  std::map<std::int32_t, OTF2_LocationRef> first_location_;  ///< by rank
  std::vector<experiment::RankDefinition> rank_definitions_;
  std::map<std::int32_t, std::size_t> place_of_rank_;  ///< by rank: index in rank_definitions_
  std::vector<bool> is_inside_;                        ///< by communicator of the trace
  analysis::JobWindows windows_;
  std::map<std::string, OTF2_ParameterRef> parameters_;
  mutable std::map<std::string, OTF2_StringRef> texts_;
};

}  // namespace refrain::exports
