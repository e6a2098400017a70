#include "offline/export/otf2_definitions.hpp"

#include <algorithm>

#include "offline/export/otf2_archive.hpp"
#include "offline/trace/functions.hpp"

namespace refrain::exports {
namespace {

using run::PathKind;

/// The first group: the first location of each rank.
constexpr OTF2_GroupRef all_ranks = 0;

OTF2_RegionRole role_of(const std::string& name, PathKind kind, bool is_marked) {
  if (is_marked) return OTF2_REGION_ROLE_CODE;
  if (kind != PathKind::Mpi) return OTF2_REGION_ROLE_FUNCTION;
  return static_cast<OTF2_RegionRole>(trace::function_of_mpi(name).role);
}

}  // namespace

/// Whether all members are ranks of the job, and there are no more members than ranks.
bool Otf2Definitions::is_inside(const trace::CommunicatorOfTrace& communicator) const {
  const auto ranks = static_cast<std::size_t>(trace_.experiment().definitions().ranks_expected);
  const auto size = static_cast<std::size_t>(communicator.size),
             remote = static_cast<std::size_t>(communicator.remote_size);
  const experiment::MemberList& members = communicator.members;
  if (members.outside() > 0 || size > ranks || remote > ranks || members.size() != size + remote) return false;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (static_cast<std::size_t>(members[i]) >= ranks) return false;
  return true;
}

Otf2Definitions::Otf2Definitions(const trace::Trace& trace, const analysis::CallTree& tree)
    : trace_(trace), tree_(tree) {
  make_regions();
  make_locations();
  std::vector<const experiment::RankDefinition*> ranks;
  for (const auto& rank : rank_definitions_) ranks.push_back(&rank);
  windows_ = analysis::match_windows(ranks);
  for (std::size_t i = 0; i < rank_definitions_.size(); ++i) place_of_rank_[rank_definitions_[i].rank] = i;
  for (const trace::CommunicatorOfTrace& communicator : trace.communicators().all())
    is_inside_.push_back(is_inside(communicator));
  for (const trace::RankOfTrace& rank : trace.ranks())
    for (const std::string& name : rank.regions)
      parameters_.try_emplace(name, static_cast<OTF2_ParameterRef>(parameters_.size()));
}

/// Makes one region for each name, kind and mark. Regions have no file: the definition of a function is not looked up
/// at every call site.
void Otf2Definitions::make_regions() {
  std::map<std::tuple<std::string, PathKind, bool>, OTF2_RegionRef> known;
  for (const analysis::TreeNode& node : tree_.nodes) {
    const auto [at, is_new] =
        known.try_emplace({node.name, node.kind, node.marked}, static_cast<OTF2_RegionRef>(regions_.size()));
    // The root stands for unknown call paths.
    if (is_new) regions_.push_back({node.name.empty() ? "(unknown)" : node.name, {}, node.kind, node.marked, 0});
    region_of_node_.push_back(at->second);
  }
}

void Otf2Definitions::make_locations() {
  location_count_ = trace_.locations().size();
  for (std::size_t i = 0; i < trace_.locations().size(); ++i) {
    const trace::LocationOfTrace& location = trace_.locations()[i];
    if (location.thread == 0) first_location_[location.rank] = i;
  }
  const experiment::Experiment& experiment = trace_.experiment();
  for (std::size_t place = 0; place < experiment.ranks().size(); ++place)
    if (const auto rank = experiment.rank(place, experiment::Depth::Run)) rank_definitions_.push_back(*rank);
  for (std::int32_t rank = 0; rank < experiment.definitions().ranks_expected; ++rank)
    if (!first_location_.contains(rank)) {
      ranks_without_events_.push_back(rank);
      first_location_[rank] = location_count_++;
    }
}

OTF2_CommRef Otf2Definitions::communicator_of(std::int32_t rank, std::int32_t id) const {
  const std::int32_t index = trace_.communicators().index_of(rank, id);
  return index >= 0 && is_inside_[static_cast<std::size_t>(index)] ? static_cast<OTF2_CommRef>(index)
                                                                   : OTF2_UNDEFINED_COMM;
}

OTF2_RmaWinRef Otf2Definitions::window_of(std::int32_t rank, std::int32_t id) const {
  const auto place = place_of_rank_.find(rank);
  if (place == place_of_rank_.end() || id < 0) return OTF2_UNDEFINED_RMA_WIN;
  const auto& windows = windows_.of_rank[place->second];
  return static_cast<std::size_t>(id) < windows.size()
             ? static_cast<OTF2_RmaWinRef>(windows[static_cast<std::size_t>(id)])
             : OTF2_UNDEFINED_RMA_WIN;
}

OTF2_ParameterRef Otf2Definitions::parameter_of(const std::string& loop) const {
  const auto at = parameters_.find(loop);
  return at == parameters_.end() ? OTF2_UNDEFINED_PARAMETER : at->second;
}

OTF2_StringRef Otf2Definitions::text(OTF2_GlobalDefWriter* writer, const std::string& value) const {
  const auto [at, is_new] = texts_.try_emplace(value, static_cast<OTF2_StringRef>(texts_.size()));
  if (is_new) check(OTF2_GlobalDefWriter_WriteString(writer, at->second, value.c_str()), "a string");
  return at->second;
}

void Otf2Definitions::write_system(OTF2_GlobalDefWriter* writer, const std::vector<std::uint64_t>& events) const {
  std::map<std::string, OTF2_SystemTreeNodeRef> nodes;
  const OTF2_StringRef machine = text(writer, "machine"), node_class = text(writer, "node");
  check(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer, 0, machine, machine, OTF2_UNDEFINED_SYSTEM_TREE_NODE),
        "the system tree");
  const auto node_of = [&](const std::string& host) {
    const auto [at, is_new] = nodes.try_emplace(host, static_cast<OTF2_SystemTreeNodeRef>(nodes.size() + 1));
    if (is_new)
      check(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer, at->second, text(writer, host), node_class, 0),
            "the system tree");
    return at->second;
  };
  // Readers expect location groups and locations in the order of their numbers.
  std::map<std::int32_t, std::string> hosts;
  for (const std::int32_t rank : ranks_without_events_) hosts[rank] = "unknown";
  for (const trace::LocationOfTrace& l : trace_.locations()) hosts[l.rank] = l.host;
  for (const auto& [rank, host] : hosts)
    check(OTF2_GlobalDefWriter_WriteLocationGroup(
              writer, static_cast<OTF2_LocationGroupRef>(rank), text(writer, "rank " + std::to_string(rank)),
              OTF2_LOCATION_GROUP_TYPE_PROCESS, node_of(host), OTF2_UNDEFINED_LOCATION_GROUP),
          "a rank");
  const auto write_location = [&](std::size_t location, std::int32_t rank, std::int32_t thread, std::uint64_t count) {
    const std::string name = thread == 0 ? "main thread" : "thread " + std::to_string(thread);
    check(OTF2_GlobalDefWriter_WriteLocation(writer, location, text(writer, name), OTF2_LOCATION_TYPE_CPU_THREAD, count,
                                             static_cast<OTF2_LocationGroupRef>(rank)),
          "a location");
  };
  for (std::size_t i = 0; i < trace_.locations().size(); ++i)
    write_location(i, trace_.locations()[i].rank, trace_.locations()[i].thread, events[i]);
  for (const std::int32_t rank : ranks_without_events_) write_location(first_location_.at(rank), rank, 0, 0);
}

void Otf2Definitions::write_regions(OTF2_GlobalDefWriter* writer) const {
  const OTF2_StringRef nothing = text(writer, "");
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const Region& region = regions_[i];
    const OTF2_Paradigm paradigm = region.kind == PathKind::Mpi    ? OTF2_PARADIGM_MPI
                                   : region.is_marked              ? OTF2_PARADIGM_USER
                                   : region.kind == PathKind::User ? OTF2_PARADIGM_COMPILER
                                                                   : OTF2_PARADIGM_MEASUREMENT_SYSTEM;
    const OTF2_StringRef name = text(writer, region.name);
    check(OTF2_GlobalDefWriter_WriteRegion(writer, static_cast<OTF2_RegionRef>(i), name, name, nothing,
                                           role_of(region.name, region.kind, region.is_marked), paradigm,
                                           OTF2_REGION_FLAG_NONE, nothing, 0, 0),
          "a region");
  }
  check(OTF2_GlobalDefWriter_WriteInterruptGenerator(writer, sampling, text(writer, "samples"),
                                                     OTF2_INTERRUPT_GENERATOR_MODE_TIME, OTF2_BASE_DECIMAL, -9, 0),
        "the samples");
  check(OTF2_GlobalDefWriter_WriteAttribute(writer, off_cpu, text(writer, "off_cpu"),
                                            text(writer, "nanoseconds of the call in which the thread did not run"),
                                            OTF2_TYPE_UINT64),
        "time off the CPU");
  std::map<std::pair<std::string, int>, OTF2_SourceCodeLocationRef> lines;
  // The root has no context of its own.
  for (std::uint32_t node = 1; node < tree_.nodes.size(); ++node) {
    const analysis::TreeNode& of = tree_.nodes[node];
    OTF2_SourceCodeLocationRef line = OTF2_UNDEFINED_SOURCE_CODE_LOCATION;
    if (!of.file.empty()) {
      const auto [at, is_new] =
          lines.try_emplace({of.file, of.line}, static_cast<OTF2_SourceCodeLocationRef>(lines.size()));
      line = at->second;
      if (is_new)
        check(OTF2_GlobalDefWriter_WriteSourceCodeLocation(writer, line, text(writer, of.file),
                                                           static_cast<std::uint32_t>(std::max(of.line, 0))),
              "a line of source");
    }
    const OTF2_CallingContextRef parent =
        of.parent > 0 ? context_of(static_cast<std::uint32_t>(of.parent)) : OTF2_UNDEFINED_CALLING_CONTEXT;
    check(OTF2_GlobalDefWriter_WriteCallingContext(writer, context_of(node), region_of_node_[node], line, parent),
          "a call path");
  }
  for (const auto& [loop, parameter] : parameters_)
    check(OTF2_GlobalDefWriter_WriteParameter(writer, parameter, text(writer, "iteration of " + loop),
                                              OTF2_PARAMETER_TYPE_INT64),
          "an iteration");
}

/// Metrics are counts since the location began, read where a call begins or ends, at samples and at ends of iterations.
void Otf2Definitions::write_metrics(OTF2_GlobalDefWriter* writer) const {
  const auto type_of = [](const std::string& name) {
    if (name.starts_with("ru_")) return OTF2_METRIC_TYPE_RUSAGE;
    return name.starts_with("perf::") ? OTF2_METRIC_TYPE_OTHER : OTF2_METRIC_TYPE_PAPI;
  };
  for (std::uint32_t i = 0; i < trace_.metrics().size(); ++i) {
    const trace::MetricOfTrace& metric = trace_.metrics()[i];
    const OTF2_MetricMemberRef member = i;
    check(OTF2_GlobalDefWriter_WriteMetricMember(writer, member, text(writer, metric.name), text(writer, ""),
                                                 type_of(metric.name), OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_INT64,
                                                 OTF2_BASE_DECIMAL, 0, text(writer, metric.unit)),
          "a metric");
    check(OTF2_GlobalDefWriter_WriteMetricClass(writer, class_of(i), 1, &member, OTF2_METRIC_ASYNCHRONOUS,
                                                OTF2_RECORDER_KIND_CPU),
          "a metric");
  }
}

void Otf2Definitions::write_communicators(OTF2_GlobalDefWriter* writer) const {
  std::vector<std::uint64_t> members;
  for (const auto& [rank, location] : first_location_) members.push_back(location);
  check(OTF2_GlobalDefWriter_WriteGroup(writer, all_ranks, text(writer, "ranks"), OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                        OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                        static_cast<std::uint32_t>(members.size()), members.data()),
        "the ranks");
  OTF2_GroupRef groups = all_ranks + 1;
  const auto write_group = [&](const experiment::MemberList& list, std::int32_t begin, std::int32_t end) {
    std::vector<std::uint64_t> places;
    for (std::int32_t i = begin; i < end; ++i)
      places.push_back(static_cast<std::uint64_t>(list[static_cast<std::size_t>(i)]));
    check(
        OTF2_GlobalDefWriter_WriteGroup(writer, groups, text(writer, ""), OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                        OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(places.size()), places.data()),
        "a group");
    return groups++;
  };
  const auto& all = trace_.communicators().all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const trace::CommunicatorOfTrace& c = all[i];
    if (!is_inside_[i]) continue;
    const OTF2_GroupRef group = write_group(c.members, 0, c.size);
    const OTF2_CommRef parent = c.parent >= 0 && is_inside_[static_cast<std::size_t>(c.parent)]
                                    ? static_cast<OTF2_CommRef>(c.parent)
                                    : OTF2_UNDEFINED_COMM;
    const auto self = static_cast<OTF2_CommRef>(i);
    if (c.remote_size == 0)
      check(OTF2_GlobalDefWriter_WriteComm(writer, self, text(writer, c.name), group, parent, OTF2_COMM_FLAG_NONE),
            "a communicator");
    else
      check(OTF2_GlobalDefWriter_WriteInterComm(writer, self, text(writer, c.name), group,
                                                write_group(c.members, c.size, c.size + c.remote_size), parent,
                                                OTF2_COMM_FLAG_NONE),
            "a communicator");
  }
  for (std::size_t i = 0; i < windows_.windows.size(); ++i) {
    OTF2_CommRef of = OTF2_UNDEFINED_COMM;
    for (std::size_t r = 0; r < rank_definitions_.size() && of == OTF2_UNDEFINED_COMM; ++r)
      for (std::size_t w = 0; w < windows_.of_rank[r].size(); ++w)
        if (windows_.of_rank[r][w] == i)
          of = communicator_of(rank_definitions_[r].rank, rank_definitions_[r].windows[w].communicator);
    check(OTF2_GlobalDefWriter_WriteRmaWin(writer, static_cast<OTF2_RmaWinRef>(i),
                                           text(writer, windows_.windows[i].name), of, OTF2_RMA_WIN_FLAG_NONE),
          "a window");
  }
}

/// The handle exists from the start: only the calls show when files are opened.
void Otf2Definitions::write_files(OTF2_GlobalDefWriter* writer) const {
  constexpr OTF2_IoParadigmRef mpi_io = 0;
  check(OTF2_GlobalDefWriter_WriteIoParadigm(writer, mpi_io, text(writer, "MPI-IO"), text(writer, "MPI-IO"),
                                             OTF2_IO_PARADIGM_CLASS_PARALLEL, OTF2_IO_PARADIGM_FLAG_NONE, 0, nullptr,
                                             nullptr, nullptr),
        "MPI-IO");
  check(OTF2_GlobalDefWriter_WriteIoHandle(writer, files, text(writer, "files of MPI-IO"), OTF2_UNDEFINED_IO_FILE,
                                           mpi_io, OTF2_IO_HANDLE_FLAG_PRE_CREATED, OTF2_UNDEFINED_COMM,
                                           OTF2_UNDEFINED_IO_HANDLE),
        "the files");
  check(OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState(writer, files, OTF2_IO_ACCESS_MODE_READ_WRITE,
                                                          OTF2_IO_STATUS_FLAG_NONE),
        "the files");
}

void Otf2Definitions::write(OTF2_GlobalDefWriter* writer, const std::vector<std::uint64_t>& events) const {
  check(OTF2_GlobalDefWriter_WriteClockProperties(
            writer, 1'000'000'000, 0, static_cast<std::uint64_t>(std::max<std::int64_t>(trace_.end_ns(), 0)) + 1,
            static_cast<std::uint64_t>(trace_.begin_epoch_ns())),
        "the clock");
  (void)text(writer, "");
  check(OTF2_GlobalDefWriter_WriteParadigm(writer, OTF2_PARADIGM_MPI, text(writer, "MPI"), OTF2_PARADIGM_CLASS_PROCESS),
        "MPI");
  write_system(writer, events);
  write_regions(writer);
  write_metrics(writer);
  write_communicators(writer);
  write_files(writer);
}

}  // namespace refrain::exports
