#pragma once
/// The result of searching a whole experiment: findings from its profile and its events, waits of call paths, and every
/// pattern. It is a plain value: reports are given it and views read it. It is kept in the experiment
/// (offline/experiment/kept_analysis.hpp), or made in memory if nothing is kept; both are identical to the last bit.
///
/// An automatic search, which nobody has asked for, covers as many iterations as have 2^26 records of events together.
/// Records are counted and no clock is read, so what it finds depends on the experiment alone.

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

/// How call paths are told apart by default: frames of language runtimes are one line.
analysis::CallTreeOptions usual_names();

struct Found {
  /// Events were searched; else there are none, or `not_searched` says why, and what to type.
  bool has_events = false;
  std::string not_searched;
  std::vector<findings::Finding> findings;  ///< largest first
  /// By usual_names(), where the first call path of a name has all its waits; and by single call paths.
  patterns::PathWaits by_name, by_path;
  std::optional<patterns::Traffic> traffic;       ///< in the events that were searched
  std::vector<trace::LocationOfTrace> locations;  ///< those of the analysis: rank, thread and name
  patterns::Analysis analysis;                    ///< by kept nodes (offline/patterns/kept_nodes.hpp)

  // About the search:
  unsigned level = 0;                            ///< see experiment::AnalysisKey
  std::uint64_t records = 0;                     ///< see experiment::NewAnalysis
  std::uint64_t fingerprint = 0;                 ///< see experiment::Experiment
  std::vector<experiment::SavedMetric> metrics;  ///< empty: events are missing
  bool may_be_kept = false;                      ///< nothing is damaged, has failed, or still changes

  /// Waits of call paths in events, with the usual names or with others. Null: not known.
  const patterns::PathWaits* waits(bool have_usual_names) const {
    return !has_events ? nullptr : have_usual_names ? &by_name : &by_path;
  }
};

/// Nothing was searched.
inline const Found& nothing_found() {
  static const Found nothing;
  return nothing;
}

/// The profile of all ranks of an experiment, by usual_names(). A caller that has it saves another pass.
struct UsualProfile {
  const analysis::CallTree& tree;
  const SeenRanks& seen;
};

/// The progress of a search, from 0 to 1. May throw, which ends the search.
using SearchProgress = std::function<void(double share)>;

/// Reads the profile for a search; the experiment must outlive it.
struct ReadProfile {
  explicit ReadProfile(const experiment::Experiment& experiment, const SearchProgress& progress = {});
  UsualProfile usual() const { return {tree, seen}; }

  SeenRanks seen;
  analysis::CallTree tree;
};

/// The result that is kept for `key`; without a key, the default one of those with the usual parameters. nullopt: none
/// is kept. Damage goes to the experiment's log.
std::optional<Found> kept_found(const experiment::Experiment& experiment,
                                const std::optional<experiment::AnalysisKey>& key = std::nullopt);

/// Searches as many events as an automatic search does. Opens the experiment itself: damaged events are a finding.
/// `known`: null: the profile is read. Throws experiment::ReadError, and what `progress` throws.
Found search_some(const std::filesystem::path& experiment, const SearchProgress& progress = {},
                  const UsualProfile* known = nullptr);

/// Searches all events of the trace of a whole experiment, as `request` says. `profile`: of that experiment.
Found search_all(const trace::Trace& trace, const patterns::Request& request, const UsualProfile& profile);

/// Keeps `found` if it may be kept. `parameters`: those that are not the usual ones. `version`: of this Refrain. Throws
/// std::system_error.
void keep_found(const experiment::Experiment& experiment, const Found& found, const std::string& parameters,
                const std::string& version);

/// The result that is kept, or else that of search_some(), whose metrics the experiment then has, too. If the files of
/// a running program have changed since the experiment was opened, the result says nothing about call paths.
Found found_in(const experiment::Experiment& experiment, const SearchProgress& progress = {},
               const UsualProfile* known = nullptr);

}  // namespace refrain::report
