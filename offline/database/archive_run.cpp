// OTF2 archives: the calls of their locations, added up by call path.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "offline/database/digest.hpp"
#include "offline/database/held_run.hpp"
#include "offline/database/profile_run.hpp"
#include "offline/experiment/input_file.hpp"
#include "offline/symbols/names.hpp"
#include "offline/trace/path_sums.hpp"

namespace refrain::database {
namespace {

namespace fs = std::filesystem;

/// A digest of the anchor and the definitions, which have the start time of the run: events are not read twice.
std::string digest_of_archive(fs::path anchor) {
  Digest digest;
  for (const char* extension : {".otf2", ".def"}) {
    const experiment::InputFile input(anchor.replace_extension(extension));
    digest.add(input.read(0, input.size(), "the file"));
  }
  return digest.text();
}

std::string some_names(const std::vector<trace::MetricOfTrace>& metrics) {
  constexpr std::size_t most = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(metrics.size(), most); ++i) names += (i == 0 ? "" : ", ") + metrics[i].name;
  return metrics.size() > most ? fmt::format("{} and {} more", names, metrics.size() - most) : names;
}

class ArchiveRun final : public HeldRun {
 public:
  explicit ArchiveRun(const fs::path& anchor) : HeldRun(anchor.string(), "otf2") {
    digest_ = digest_of_archive(anchor);
    const auto trace = trace::Trace::open_archive(anchor);
    const auto sums = sums_by_path(*trace);
    trace::PathNodes nodes(*trace, std::int32_t{-1}, [this](std::int32_t above, const trace::RegionOfTrace& region) {
      const run::PathKind kind = region.is_mpi() ? run::PathKind::Mpi : run::PathKind::User;
      const std::string name = symbols::function_name(region.name).text;
      return static_cast<std::int32_t>(node_below(above, name, kind, region.role == trace::Role::Loop));
    });
    for (std::size_t location = 0; location < sums.size(); ++location) {
      const trace::LocationOfTrace& of = trace->locations()[location];
      for (const auto& [path, sum] : sums[location])
        if (path != trace::no_path) put({of.rank, of.thread}, static_cast<std::uint32_t>(nodes.of(path)), sum);
    }
    finish();
    facts_.complete = trace->damage().count() == 0;
    facts_.notes = trace->damage().lines();
    if (const auto& metrics = trace->archive()->metrics(); !metrics.empty())
      facts_.notes.push_back("its metrics are not added up: " + some_names(metrics));
    std::string kinds;
    for (const auto& [kind, records] : trace->archive()->left_out())
      kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", records, kind);
    if (!kinds.empty()) facts_.notes.push_back("events that are not shown: " + kinds);
  }

 private:
  void put(Thread thread, std::uint32_t node, const trace::PathSum& sum) {
    constexpr double s_per_ns = 1e-9;
    add(thread, node, wall, static_cast<double>(sum.ns) * s_per_ns);
    // An archive without any such record may be from a tool that does not write them: the count is unknown then.
    const auto add_count = [&](const char* name, const char* unit, std::int64_t value) {
      if (value != 0) add(thread, node, metric_of(name, unit), static_cast<double>(value));
    };
    add_count("visits", "1", sum.visits);
    add_count("bytes_sent", "B", sum.bytes_sent);
    add_count("bytes_received", "B", sum.bytes_received);
    add_count("bytes_read", "B", sum.bytes_read);
    add_count("bytes_written", "B", sum.bytes_written);
  }
};

}  // namespace

std::unique_ptr<RunSource> archive_run(const std::string& anchor) { return std::make_unique<ArchiveRun>(anchor); }

}  // namespace refrain::database
