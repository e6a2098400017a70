#pragma once
/// The result of the search of a whole experiment: findings of its profile and its events, waits of call paths, and
/// every pattern. It is a value, which reports are given and views read. It is kept in the experiment
/// (offline/experiment/kept_analysis.hpp), or searched for in memory where nothing is kept; both say the same to the
/// last bit.
///
/// The search that is done without being asked for looks at as many iterations as have 2^26 records of events together.
/// That number is counted, and no clock is looked at, so what it finds depends on the experiment alone.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/findings/finding.hpp"
#include "offline/patterns/analysis.hpp"
#include "offline/patterns/path_waits.hpp"
#include "offline/report/seen_ranks.hpp"

namespace refrain::report {

/// How call paths are told apart where nothing is asked for: frames of language runtimes are one line.
analysis::CallTreeOptions usual_names();

struct Found {
  /// Events were searched; else there are none, or `not_searched` says why, and what to type.
  bool has_events = false;
  std::string not_searched;
  std::vector<findings::Finding> findings;  ///< largest first
  /// By usual_names(), of which the first call path of a name has all; and by each call path.
  patterns::PathWaits by_name, by_path;
  std::optional<patterns::Traffic> traffic;       ///< of events
  std::vector<trace::LocationOfTrace> locations;  ///< of the analysis: rank, thread and name
  patterns::Analysis analysis;                    ///< by kept nodes (offline/patterns/kept_nodes.hpp)

  // Of what was searched.
  unsigned level = 0;                            ///< see experiment::AnalysisKey
  std::uint64_t records = 0;                     ///< ... and experiment::NewAnalysis
  std::uint64_t fingerprint = 0;                 ///< see experiment::Experiment
  std::vector<experiment::SavedMetric> metrics;  ///< none: events are missing
  bool may_be_kept = false;                      ///< nothing is damaged, has failed, or still changes

  /// Waits in events of call paths with their usual names, or with others. Null: they are not known.
  const patterns::PathWaits* waits(bool have_usual_names) const {
    return !has_events ? nullptr : have_usual_names ? &by_name : &by_path;
  }
};

/// Nothing was searched.
inline const Found& nothing_found() {
  static const Found nothing;
  return nothing;
}

/// The profile of an experiment with all its ranks, by usual_names(). A caller that has it saves another pass.
struct UsualProfile {
  const analysis::CallTree& tree;
  const SeenRanks& seen;
};

/// How far a search has come, from 0 to 1. May throw, which ends the search.
using SearchProgress = std::function<void(double share)>;

/// Reads such a profile; the experiment must outlive it.
struct ReadProfile {
  explicit ReadProfile(const experiment::Experiment& experiment, const SearchProgress& progress = {});
  UsualProfile usual() const { return {tree, seen}; }

  SeenRanks seen;
  analysis::CallTree tree;
};

/// What is kept of the key; without one the default of those with the usual parameters. Nothing: there is none. What is
/// damaged goes to the experiment's log.
std::optional<Found> kept_found(const experiment::Experiment& experiment,
                                const std::optional<experiment::AnalysisKey>& key = std::nullopt);

/// Searches as many events as are searched without being asked. Opens the experiment for itself: damage of events is a
/// finding. `known`: null: the profile is read. Throws experiment::ReadError, and what `progress` throws.
Found search_some(const std::filesystem::path& experiment, const SearchProgress& progress = {},
                  const UsualProfile* known = nullptr);

/// Searches all events of the trace, which is of a whole experiment, as `request` says. `profile`: of that experiment.
Found search_all(const trace::Trace& trace, const patterns::Request& request, const UsualProfile& profile);

/// Keeps what may be kept, for `parameters` that are not the usual ones. `version`: of this Refrain. Throws
/// std::system_error.
void keep_found(const experiment::Experiment& experiment, const Found& found, const std::string& parameters,
                const std::string& version);

/// What is kept, or else what search_some() finds, which the experiment has as its metrics, too. While the program
/// runs, the files may have become others since the experiment was opened: then nothing is told of call paths.
Found found_in(const experiment::Experiment& experiment, const SearchProgress& progress = {},
               const UsualProfile* known = nullptr);

}  // namespace refrain::report
