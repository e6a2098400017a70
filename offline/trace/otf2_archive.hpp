#pragma once
/// An OTF2 archive of any tool, presented as the parts of a trace: locations, regions and communicators in Refrain's
/// terms, with dense numbers. Otf2Stream reads its events.
///
/// Thread-safe after construction.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "offline/trace/communicators.hpp"
#include "offline/trace/locations.hpp"
#include "offline/trace/otf2_definitions.hpp"
#include "offline/trace/path_tree.hpp"
#include "offline/trace/regions.hpp"

namespace refrain::trace {

/// The anchor file `path`, or the only one in the directory `path`; none: `path` is no archive, or is an experiment.
/// Throws ReadError when there are several.
std::optional<std::filesystem::path> find_otf2_anchor(const std::filesystem::path& path);

class Otf2Archive {
 public:
  /// Reads the locations of the chosen ranks; processes that are no ranks are chosen as rank -1. Throws ReadError when
  /// the archive cannot be read or lacks files of events.
  Otf2Archive(const std::filesystem::path& anchor, const std::function<bool(std::int32_t rank)>& chosen);

  const std::string& name() const { return name_; }
  const std::vector<LocationOfTrace>& locations() const { return locations_; }
  const std::vector<RankOfTrace>& ranks() const { return ranks_; }
  /// Index into ranks(), by location.
  const std::vector<std::uint32_t>& rank_of_location() const { return rank_of_location_; }
  const Communicators& communicators() const { return communicators_; }
  const std::vector<WindowOfTrace>& windows() const { return windows_; }
  /// The first one is "(unknown)".
  const std::vector<RegionOfTrace>& regions() const { return regions_; }
  const std::vector<MetricOfTrace>& metrics() const { return metrics_; }
  const std::vector<std::string>& parameters() const { return parameters_; }
  const std::vector<std::string>& texts() const { return texts_; }
  PathTree& paths() const { return *paths_; }
  /// Nanoseconds from the start of the archive to its end.
  std::int64_t end_ns() const { return time_of(definitions_clock_.global_offset + definitions_clock_.length); }
  std::int64_t begin_epoch_ns() const { return static_cast<std::int64_t>(definitions_clock_.begin_epoch_ns); }
  const std::shared_ptr<experiment::DamageLog>& damage_log() const { return damage_; }

  // For Otf2Stream.
  /// Converts the archive's ticks to nanoseconds since its start, limited so that the difference of any two does not
  /// overflow.
  std::int64_t time_of(std::uint64_t ticks) const {
    const auto since = static_cast<std::int64_t>(ticks - definitions_clock_.global_offset);
    constexpr double most = 4.6e18;
    constexpr auto most_ns = static_cast<std::int64_t>(most);
    if (is_in_ns_) return since < -most_ns ? -most_ns : since > most_ns ? most_ns : since;
    const double ns = static_cast<double>(since) * ns_per_tick_;
    return static_cast<std::int64_t>(ns < -most ? -most : ns > most ? most : ns);
  }
  std::filesystem::path file_of(std::uint32_t location, const char* ending) const;
  const Otf2Anchor& anchor() const { return anchor_; }
  std::uint64_t events_of(std::uint32_t location) const { return locations_[location].records; }
  /// In Refrain's archives: by parameter, the loop whose iterations end with it; empty: no loop.
  const std::vector<std::string>& loops() const { return loops_; }
  /// By region: the parameter of the loop that the region is; ReferenceMap::none: it is no loop. Empty: there are no
  /// loops.
  const std::vector<std::uint32_t>& loop_of_region() const { return loop_of_region_; }
  // From references to indices; ReferenceMap::none: not defined.
  const ReferenceMap& region_of() const { return region_of_; }
  const ReferenceMap& communicator_of() const { return communicator_of_; }
  const ReferenceMap& window_of() const { return window_of_; }
  const ReferenceMap& parameter_of() const { return parameter_of_; }
  const ReferenceMap& text_of() const { return text_of_; }
  /// Whether it may have samples of call paths.
  bool has_samples() const { return has_samples_; }
  const ReferenceMap& path_of_context() const { return path_of_context_; }
  /// The metrics of a metric class or instance; null: not defined.
  const std::vector<std::uint32_t>* metrics_of(std::uint32_t reference) const;

  /// Notes that so many records of a kind are not shown. A location that is read twice counts once.
  void leave_out(std::uint32_t location, std::uint8_t kind, std::uint64_t records) const;
  /// Number of records not shown, by kind as named by otf2-print, e.g. IO_SEEK; as far as the archive was read.
  std::vector<std::pair<std::string, std::uint64_t>> left_out() const;
  struct LeftOutRecords {
    std::uint32_t location;
    std::uint8_t kind;
    std::uint64_t records;
  };
  /// Takes the counts out, for leave_out() in another process, which reports them.
  std::vector<LeftOutRecords> take_left_out() const;

 private:
  struct Clock {
    std::uint64_t global_offset, length, begin_epoch_ns;
  };
  void make_regions(const Otf2Definitions& from);
  void make_parameters(const Otf2Definitions& from);
  void make_locations(const Otf2Definitions& from, const std::function<bool(std::int32_t)>& chosen);
  void make_communicators(const Otf2Definitions& from);
  void make_metrics(const Otf2Definitions& from);
  void make_contexts(const Otf2Definitions& from);
  void require_files() const;

  std::filesystem::path anchor_path_;
  std::string name_;
  Otf2Anchor anchor_;
  Clock definitions_clock_{};
  bool is_in_ns_ = true, has_samples_ = false;
  double ns_per_tick_ = 1;
  std::shared_ptr<experiment::DamageLog> damage_ = std::make_shared<experiment::DamageLog>();
  std::vector<LocationOfTrace> locations_;
  std::vector<std::uint64_t> reference_of_location_;
  std::vector<RankOfTrace> ranks_;
  std::vector<std::uint32_t> rank_of_location_;
  std::unordered_map<std::uint64_t, std::int32_t>
      job_rank_of_;  ///< by reference of a location, including those not chosen
  Communicators communicators_;
  std::vector<WindowOfTrace> windows_;
  std::vector<RegionOfTrace> regions_;
  std::vector<MetricOfTrace> metrics_;
  std::vector<std::string> parameters_, loops_, texts_;
  std::vector<std::uint32_t> loop_of_region_;
  ReferenceMap region_of_, communicator_of_, window_of_, parameter_of_, text_of_, path_of_context_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> metrics_of_;
  std::unique_ptr<PathTree> paths_ = std::make_unique<PathTree>();
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::uint8_t, std::uint32_t>, std::uint64_t> left_out_;  ///< by kind and location
};

}  // namespace refrain::trace
