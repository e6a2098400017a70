#include "offline/report/overview.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "offline/experiment/rank_pass.hpp"
#include "offline/report/report.hpp"
#include "offline/run/totals.hpp"
#include "offline/symbols/names.hpp"

namespace refrain::report {
namespace {

/// Seconds from the begin of the rank's first thread to the end of its last one.
double end_of_data(const experiment::Rank& rank) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = std::numeric_limits<std::int64_t>::min();
  for (const experiment::Location& location : rank.locations) {
    begin = std::min(begin, location.begin);
    end = std::max(end, location.end);
  }
  return end > begin ? run::seconds_of(rank, static_cast<double>(end - begin)) : 0;
}

/// How many pieces of work of a class a location did; for classes that are always timed, the number of timings.
double count_of(const experiment::Location& location, std::size_t of) {
  const format::UnitTotals totals = run::sums_of_run(location);
  const std::int64_t calls = totals.mpi_calls, ticks = totals.ticks_user + totals.ticks_mpi + totals.ticks_lost;
  switch (static_cast<format::OwnTime>(of)) {
    case format::OwnTime::Call: return static_cast<double>(calls);
    case format::OwnTime::Tick: return static_cast<double>(ticks);
    default: return static_cast<double>(location.own_times[of].timed);
  }
}

/// Finds the source of samples in the settings in force.
void look_at_sampling(const experiment::Manifest& manifest, Overview& overview) {
  for (const auto& [name, value] : manifest.configuration) {
    if (name == "REFRAIN_SAMPLING_FREQUENCY" && value == "0") overview.sampling_source = "none";
  }
  if (experiment::is_sampled_by_wall_time(manifest)) overview.sampling_source = "wall";
  if (!overview.sampling_source.empty()) return;
  for (const auto& [name, value] : manifest.configuration) {
    if (name != "REFRAIN_SAMPLING_SOURCE") continue;
    const std::size_t colon = value.find(": ");
    overview.sampling_source = value.substr(0, colon);
    if (colon != std::string::npos) overview.sampling_reason = value.substr(colon + 2);
  }
}

}  // namespace

void OverviewBuilder::add(const experiment::Rank& rank) {
  if (!rank.locations.empty()) present_.push_back(rank.rank);
  if (hosts_.insert(rank.host).second) overview_.hosts.push_back(rank.host);
  cores_.add(rank);
  const double ns = run::seconds_of(rank, 1e9);
  const auto add_cost = [&](const experiment::Cost& cost, experiment::Cost& all) {
    all.median += cost.median * ns;
    all.low = ranks_ == 0 ? cost.low * ns : std::min(all.low, cost.low * ns);
    all.high = std::max(all.high, cost.high * ns);
  };
  add_cost(rank.call_cost, overview_.call_cost_ns);
  add_cost(rank.tick_cost, overview_.tick_cost_ns);
  for (const auto& location : rank.locations)
    for (std::size_t of = 0; of < own_.size(); ++of) {
      const format::OwnTimeMean& mean = location.own_times[of];
      const double here = count_of(location, of);
      if (mean.timed == 0 || !(here > 0)) continue;
      overview_.own_times[of].timed += mean.timed;
      own_[of].count += here;
      own_[of].sum += here * mean.mean * ns;
      own_[of].squares += here * mean.error * ns * here * mean.error * ns;
    }
  const double end = end_of_data(rank);
  double cores = 0;
  for (const auto& run : rank.cores.at_begin) cores += run.count;
  if (rank.cores.taken_ns && cores > 0 && end > 0) {
    constexpr double s_per_ns = 1e-9;
    constexpr std::int64_t least_ns = 100'000'000;  // the kernel counts in ticks of 10 ms
    const auto taken_s = static_cast<double>(*rank.cores.taken_ns >= least_ns ? *rank.cores.taken_ns : 0) * s_per_ns;
    overview_.taken_share = std::max(overview_.taken_share.value_or(0), taken_s / (cores * end));
  }
  overview_.first_end_s = ranks_ == 0 ? end : std::min(overview_.first_end_s, end);
  overview_.last_end_s = std::max(overview_.last_end_s, end);
  ++ranks_;
}

Overview OverviewBuilder::finish(const experiment::Experiment& experiment, const Request& request,
                                 const analysis::CallTree& tree) {
  const experiment::ProfileDefinitions& definitions = experiment.definitions();
  Overview overview = std::move(overview_);
  if (ranks_ > 0) {
    overview.call_cost_ns.median /= ranks_;
    overview.tick_cost_ns.median /= ranks_;
  }
  for (std::size_t of = 0; of < own_.size(); ++of)
    if (own_[of].count > 0) {
      overview.own_times[of].mean_ns = own_[of].sum / own_[of].count;
      overview.own_times[of].error_ns = std::sqrt(own_[of].squares) / own_[of].count;
    }
  overview.ranks = std::max(definitions.ranks_expected, static_cast<std::int32_t>(experiment.ranks().size()));
  for (std::int32_t rank = 0; rank < overview.ranks; ++rank) {
    const auto& there = request.chosen(rank) ? present_ : experiment.ranks();
    if (!std::ranges::binary_search(there, rank)) overview.missing_ranks.push_back(rank);
  }
  // Damaged data was once written, so the program ended as it should.
  const bool none_missing = overview.missing_ranks.empty() || experiment.damages() > 0;
  const bool complete = definitions.complete && experiment.manifest().state != "incomplete" && none_missing;
  overview.state = complete ? "complete" : "incomplete";
  if (complete) overview.first_end_s = overview.last_end_s = 0;
  else overview.rank_0_is_snapshot = experiment.manifest().state == "running";
  overview.has_unmeasured_ranks = !complete && definitions.complete && experiment.manifest().state == "complete";
  for (std::size_t i = 0; i < tree.totals.losses.size(); ++i)
    if (tree.totals.losses[i] != 0)
      overview.losses.push_back({format::loss_table[i].name, format::loss_table[i].help, tree.totals.losses[i],
                                 format::loss_table[i].is_time});
  overview.without_mpi = overview.ranks <= 1 && experiment.manifest().mpi_library.empty() && tree.totals.mpi_calls == 0;
  look_at_sampling(experiment.manifest(), overview);
  overview.nodes = cores_.nodes();
  for (const analysis::NodeCores& node : overview.nodes)
    if (node.throttled_s) overview.throttled_s = overview.throttled_s.value_or(0) + *node.throttled_s;
  overview.shared = cores_.shared();
  return overview;
}

run::Where Document::where() const { return where_of(request); }

void Document::for_each_rank(experiment::Depth depth, const std::function<void(const experiment::Rank&)>& use) const {
  experiment::for_each_rank(*experiment, where().ranks, depth, use);
}

std::string root_name(const experiment::Experiment& experiment) {
  const auto& command = experiment.manifest().command;
  return command.empty() ? "(all)" : std::string(symbols::base_name(command.front()));
}

}  // namespace refrain::report
