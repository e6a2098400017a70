#include "offline/explorer/facts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/analysis/human_units.hpp"

namespace refrain::explorer {
namespace {

using analysis::human_count;
using analysis::human_time;

std::string machines_text(const report::Overview& overview) {
  constexpr std::size_t most = 4;
  std::vector<std::string> texts;
  for (const analysis::NodeCores& node : overview.nodes) {
    if (texts.size() == most && overview.nodes.size() > most + 1) {
      texts.push_back(fmt::format("and {} more", overview.nodes.size() - most));
      break;
    }
    const std::string cores = node.cores ? fmt::format(" on {} cores", *node.cores) : std::string();
    texts.push_back(fmt::format("{}: {} ranks, {} threads{}", node.host, node.ranks, node.threads, cores));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string loss_text(const report::LossLine& loss) {
  constexpr double s_per_ns = 1e-9;
  const std::string count =
      loss.is_time ? human_time(static_cast<double>(loss.count) * s_per_ns) : human_count(loss.count);
  return fmt::format("{}: {}", count, loss.help);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> facts_of(const experiment::Experiment& experiment,
                                                          const report::Overview& overview,
                                                          const analysis::CallTree& tree) {
  const experiment::Manifest& manifest = experiment.manifest();
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&](const char* label, std::string text) {
    if (!text.empty()) facts.emplace_back(label, std::move(text));
  };
  add("Command", fmt::format("{}", fmt::join(manifest.command, " ")));
  add("Executable", manifest.executable);
  add("Directory", manifest.working_directory);
  add("Experiment", experiment.directory().filename().string());
  add("Started", manifest.started);
  double longest = 0;
  for (const analysis::LocationSummary& of : tree.locations) longest = std::max(longest, of.wall_s);
  add("Lasted", longest > 0 ? human_time(longest) : std::string());
  add("State", overview.state);
  add("Ranks", overview.without_mpi ? "one process without MPI" : std::to_string(overview.ranks));
  add("Threads", std::to_string(tree.locations.size()));
  add("Machines", machines_text(overview));
  for (const analysis::SharedCores& shared : overview.shared) add("Cores", sentence(shared, true));
  add("MPI", manifest.mpi_library.substr(0, manifest.mpi_library.find('\n')));
  add("Samples",
      tree.totals.ticks_user > 0
          ? fmt::format("{} in user code{}", human_count(tree.totals.ticks_user),
                        overview.sampling_source.empty() ? std::string() : ", by the " + overview.sampling_source)
          : std::string());
  for (const report::LossLine& loss : overview.losses) add("Not seen", loss_text(loss));
  for (const std::string& note : tree.notes) add("Note", note);
  add("Measured by", "Refrain " + (manifest.version.empty() ? experiment.definitions().version : manifest.version));
  return facts;
}

}  // namespace refrain::explorer
