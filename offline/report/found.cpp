#include "offline/report/found.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>

#include "format/kept_iterations.hpp"
#include "offline/analysis/minimum_waits.hpp"
#include "offline/findings/facts.hpp"
#include "offline/findings/record.hpp"
#include "offline/patterns/kept_nodes.hpp"
#include "offline/patterns/path_names.hpp"
#include "offline/patterns/results.hpp"
#include "offline/patterns/traffic.hpp"
#include "offline/report/node_waits.hpp"
#include "offline/report/request.hpp"
#include "offline/report/wait_findings.hpp"
#include "offline/symbols/experiment_names.hpp"

namespace refrain::trace {
using experiment::Is;
template <class Io, Is<LocationOfTrace> T>
void describe(Io& io, T& of) {
  io(of.rank, of.thread, of.name);
}
}  // namespace refrain::trace

namespace refrain::run {
using experiment::Is;
template <class Io, Is<Replicates> T>
void describe(Io& io, T& of) {
  io(of.ns);
}
}  // namespace refrain::run

namespace refrain::patterns {
template <class Io, Is<PathWaits::Of::Matched> T>
void describe(Io& io, T& of) {
  io(of.seconds, of.replicates, of.messages, of.is_late_receiver);
}
template <class Io, Is<PathWaits::Of> T>
void describe(Io& io, T& of) {
  io(of.path, of.seconds, of.seen_s, of.known_s, of.matched, of.kind, of.by_rank, of.replicates);
}
template <class Io, Is<PathWaits> T>
void describe(Io& io, T& of) {
  io(of.paths, of.is_sampled, of.confidence, of.ranks_in_block);
}
template <class Io, Is<Traffic::Partners> T>
void describe(Io& io, T& of) {
  io(of.path, of.fewest, of.most);
}
template <class Io, Is<Traffic::OnCommunicator> T>
void describe(Io& io, T& of) {
  io(of.path, of.communicator, of.seconds, of.calls);
}
template <class Io, Is<Traffic> T>
void describe(Io& io, T& of) {
  io(of.partners, of.communicators);
}
}  // namespace refrain::patterns

namespace refrain::report {

template <class Io, experiment::Is<Found> T>
void describe(Io& io, T& of) {
  io(of.has_events, of.not_searched, of.findings, of.by_name, of.by_path, of.traffic, of.locations, of.analysis);
}

namespace {

constexpr std::uint64_t most_records = std::uint64_t{1} << 26;
constexpr std::uint64_t most_rows = std::uint64_t{1} << 25;  // of spans, 24 bytes per row
/// The level in the key if the experiment has events but none were searched.
constexpr unsigned level_of_none = format::highest_level + 1;

/// The profile that is searched: the known one, or one that is read here.
class SearchedProfile {
 public:
  SearchedProfile(const experiment::Experiment& experiment, const UsualProfile* known, const SearchProgress& progress)
      : experiment(experiment),
        own_(known ? nullptr : std::make_unique<ReadProfile>(experiment, progress)),
        tree(known ? known->tree : own_->tree),
        seen(known ? known->seen : own_->seen),
        names(tree) {}

  findings::Facts facts() const { return {experiment, tree, seen.minima, seen.loops.loops, true}; }
  /// Waits by node of `names`. `in_events`: null: events were not searched.
  std::vector<NodeWait> waits(const patterns::PathWaits* in_events) const {
    return waits_of(names.tree(), in_events, seen.minima.any() ? &seen.minima : nullptr);
  }

  const experiment::Experiment& experiment;

 private:
  const std::unique_ptr<const ReadProfile> own_;

 public:
  const analysis::CallTree& tree;
  const SeenRanks& seen;
  const patterns::PathNames names;
};

/// Whether a result may be kept, judging by what was read so far.
bool may_be_kept(const experiment::Experiment& experiment) {
  return experiment.manifest().state != "running" && experiment.damages() == 0;
}

void search_profile(const SearchedProfile& profile, Found& found) {
  findings::Facts facts = profile.facts();
  found.findings = find(facts);
  found.may_be_kept = may_be_kept(profile.experiment);
}

void add(std::vector<findings::Finding> more, const SearchedProfile& profile, Found& found) {
  note_short_run(profile.tree, more);
  std::ranges::move(more, std::back_inserter(found.findings));
}

void search_events(const trace::Trace& trace, const SearchedProfile& profile, patterns::Request request, Found& found) {
  constexpr std::size_t most_headlines = 3;
  const patterns::Naming& naming = profile.names.naming();
  patterns::MatchedWaits matched(trace);
  patterns::TrafficCount traffic(trace);
  request.headlines = most_headlines;
  request.with_causes = true;
  request.also = [&](const trace::Event& event) {
    matched.add(event);
    traffic.add(event);
  };
  const patterns::Searched searched(trace, request);
  patterns::Analysis of_paths;
  found.analysis = searched.by(naming, &of_paths);
  const auto path_of = first_paths(trace, naming);
  found.by_name = waits_of(found.analysis, matched.by(naming), trace, path_of);
  patterns::Naming by_path = naming;
  by_path.node_of = [](std::uint32_t path) { return path + 1; };
  found.by_path = waits_of(of_paths, matched.by(by_path), trace, patterns::path_itself);
  found.by_path.confidence = found.by_name.confidence;
  found.traffic = traffic.result();
  found.locations = trace.locations();
  found.level = trace.thinned();
  found.records = trace.records() >> found.level;

  const auto waits = profile.waits(&found.by_name);
  add(findings_of_waiting({profile.names.tree(), profile.tree.locations, waits}, found.analysis, trace, naming),
      profile, found);
  if (profile.experiment.damage_log()->has_damaged_events()) found.findings.push_back({.rule = "events_damaged"});
  // With a list of iterations, events were left out on purpose: they make no metrics of the whole run.
  const auto is_list = [](const trace::RankOfTrace& of) { return of.mode == format::EventMode::List; };
  if (std::ranges::none_of(trace.ranks(), is_list)) found.metrics = as_metrics(found.analysis, trace, path_of);
  found.may_be_kept = may_be_kept(profile.experiment) && found.analysis.failures.empty();
  to_kept_nodes(found.analysis, trace.path_count(), naming);
  found.has_events = true;
}

/// Packs and unpacks the result, so that it has no more before it is kept than afterwards.
Found as_kept(const Found& found) {
  experiment::Packer packer;
  packer(found);
  experiment::Unpacker unpacker(std::as_bytes(std::span(packer.bytes())));
  Found kept;
  unpacker(kept);
  if (!unpacker.is_good()) throw std::logic_error("what was found cannot be kept");
  kept.level = found.level;
  kept.records = found.records;
  kept.fingerprint = found.fingerprint;
  kept.metrics = found.metrics;
  kept.may_be_kept = found.may_be_kept;
  return kept;
}

/// Unpacks a result. nullopt: other rules have kept it in another form.
std::optional<Found> read_found(const experiment::KeptAnalysis& kept, std::size_t paths) {
  const std::string bytes = kept.found();
  experiment::Unpacker unpacker(std::as_bytes(std::span(bytes)));
  Found found;
  unpacker(found);
  const auto is_there = [&](const auto& row) { return row.location < found.locations.size(); };
  bool is_good = unpacker.is_good() && are_sound(found.findings) && patterns::are_kept_nodes(found.analysis, paths) &&
                 found.by_name.ranks_in_block > 0 && found.by_path.ranks_in_block > 0;
  for (const patterns::PatternResult& of : found.analysis.patterns)
    is_good &= std::ranges::all_of(of.by_location, is_there) && std::ranges::all_of(of.worst, is_there);
  if (const auto& causes = found.analysis.causes)
    for (const patterns::CauseResult& of : causes->all) is_good &= is_there(of.activity);
  if (const auto& path = found.analysis.critical_path)
    for (const patterns::CriticalResult& of : path->all) is_good &= is_there(of.activity);
  const bool has_these_rules = kept.key().rules == experiment::analysis_rules;
  if (!is_good && has_these_rules) kept.refuse("a kept analysis that says nothing");
  if (!is_good) return std::nullopt;
  if (!has_these_rules) found.findings.push_back({.rule = "analysed_by_another_version", .names = {kept.version()}});
  return found;
}

}  // namespace

analysis::CallTreeOptions usual_names() { return {.fold = Request().fold}; }

ReadProfile::ReadProfile(const experiment::Experiment& experiment, const SearchProgress& progress) : seen(experiment) {
  analysis::CallTreeOptions options = usual_names();
  if (progress) options.progress = [&progress](std::size_t, std::size_t) { progress(0); };
  seen.look_at(options);
  symbols::Symbolizer symbolizer;
  symbols::use_names(experiment, symbolizer, {.progress = options.progress});
  tree = analysis::build_call_tree(experiment, symbolizer, options);
}

std::optional<Found> kept_found(const experiment::Experiment& experiment,
                                const std::optional<experiment::AnalysisKey>& key) {
  std::optional<Found> found;
  for (const experiment::KeptAnalysis& kept : kept_analyses(experiment)) {
    // A search with other parameters finds other things.
    if (!kept.has_found() || (key ? kept.key() != *key : !kept.key().parameters.empty())) continue;
    experiment.damage_log()->survives("what was found in its events is searched for again",
                                      [&] { found = read_found(kept, experiment.definitions().paths.size()); });
    if (found) return found;
  }
  return std::nullopt;
}

Found search_some(const std::filesystem::path& directory, const SearchProgress& progress, const UsualProfile* known) {
  const auto experiment = experiment::Experiment::open(directory);
  // Each opened experiment reports its own damage, and files may have changed since the known profile was read.
  if (known &&
      (known->seen.experiment.damages() > 0 || known->seen.experiment.fingerprint() != experiment->fingerprint()))
    known = nullptr;
  const SearchedProfile profile(*experiment, known, progress);
  Found found;
  found.fingerprint = experiment->fingerprint();
  search_profile(profile, found);
  constexpr int most_tries = 5;
  unsigned least_thinned = 0;
  for (int tries = 1;; ++tries) {
    std::shared_ptr<const trace::Trace> trace;
    if (!profile.seen.has_events) break;
    try {
      if (tries > most_tries) throw std::invalid_argument("there are too many events outside of iterations");
      trace = trace::Trace::open_thinned(experiment, most_records, least_thinned);
      if (!trace) break;
      patterns::Request request;
      request.most_rows = most_rows;
      if (progress)
        request.progress = [&, end_ns = static_cast<double>(std::max<std::int64_t>(trace->end_ns(), 1))](
                               std::int64_t time_ns) { progress(static_cast<double>(time_ns) / end_ns); };
      search_events(*trace, profile, request, found);
      break;
    } catch (const patterns::TooManyRows&) {
      least_thinned = trace->thinned() + 2;
    } catch (const std::invalid_argument& why) {
      found.not_searched = fmt::format("{}; refrain analyze searches all of them", why.what());
    } catch (const experiment::ReadError& why) {
      found.not_searched = why.what();
      found.may_be_kept = false;
    } catch (const std::bad_alloc&) {
      found.not_searched = "there is not enough memory";
      found.may_be_kept = false;
    }
    if (found.not_searched.empty()) continue;
    found.level = level_of_none;
    found.findings.push_back({.rule = "events_not_searched", .names = {found.not_searched}});
    break;
  }
  if (!found.has_events)
    add(findings_of_waiting({profile.names.tree(), profile.tree.locations, profile.waits(nullptr)}), profile, found);
  relate(found.findings);
  return as_kept(found);
}

Found search_all(const trace::Trace& trace, const patterns::Request& request, const UsualProfile& known) {
  const SearchedProfile profile(trace.experiment(), &known, {});
  Found found;
  search_profile(profile, found);
  search_events(trace, profile, request, found);
  relate(found.findings);
  return as_kept(found);
}

namespace {

/// Drops all but the findings: the call paths of the opened experiment have other numbers.
Found of_other_paths(Found found) {
  Found told;
  told.not_searched = "the experiment has changed since it was opened, as the program still runs";
  told.findings = std::move(found.findings);
  told.findings.push_back({.rule = "events_not_searched", .names = {told.not_searched}});
  return told;
}

}  // namespace

void keep_found(const experiment::Experiment& experiment, const Found& found, const std::string& parameters,
                const std::string& version) {
  if (!found.may_be_kept) return;
  experiment::Packer packer;
  packer(found);
  keep(experiment,
       {{.parameters = parameters, .level = found.level}, version, found.records, found.metrics, packer.bytes()});
}

Found found_in(const experiment::Experiment& experiment, const SearchProgress& progress, const UsualProfile* known) {
  if (auto kept = kept_found(experiment)) return std::move(*kept);
  Found found = search_some(experiment.directory(), progress, known);
  if (found.has_events && found.fingerprint != experiment.fingerprint()) found = of_other_paths(std::move(found));
  experiment.have_found(found.metrics);
  return found;
}

}  // namespace refrain::report
