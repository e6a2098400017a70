#include "offline/patterns/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <set>

#include "offline/patterns/estimate.hpp"
#include "offline/patterns/headlines.hpp"
#include "offline/patterns/threads.hpp"
#include "offline/patterns/waits.hpp"
#include "offline/run/leaf_reader.hpp"
#include "statistics/statistics.hpp"

namespace refrain::patterns {
namespace {

using trace::CallClass;

constexpr unsigned bit(CallClass of) { return 1u << static_cast<unsigned>(of); }
constexpr unsigned communication = bit(CallClass::PointToPoint) | bit(CallClass::Collective) | bit(CallClass::OneSided);
constexpr unsigned synchronization = bit(CallClass::Barrier) | bit(CallClass::OneSidedSync);
constexpr unsigned io = bit(CallClass::Io) | bit(CallClass::OtherIo);
constexpr unsigned mpi =
    communication | synchronization | bit(CallClass::Io) | bit(CallClass::InitFinalize) | bit(CallClass::OtherMpi);

constexpr double least_share_of_headline = 0.01;

/// A pattern that is the time in some classes of calls.
struct TimePattern {
  About about;
  unsigned classes;
};
const std::vector<TimePattern>& time_patterns() {
  static const std::vector<TimePattern> all = {
      {{"time", "", "All time of all locations"}, 0},
      {{"costs", "time", "Communication, synchronization and I/O together"}, communication | synchronization | io},
      {{"mpi", "time", "Functions of MPI"}, mpi},
      {{"communication", "mpi", "Functions that move data between processes"}, communication},
      {{"p2p", "communication", "Sends, receives, and waiting for requests"}, bit(CallClass::PointToPoint)},
      {{"collective", "communication", "Collective operations with data"}, bit(CallClass::Collective)},
      {{"one_sided", "communication", "Put, get, accumulate"}, bit(CallClass::OneSided)},
      {{"synchronization", "mpi", "Functions that only synchronize"}, synchronization},
      {{"barrier", "synchronization", "Barriers"}, bit(CallClass::Barrier)},
      {{"one_sided_synchronization", "synchronization", "Fences, locks and flushes of windows"},
       bit(CallClass::OneSidedSync)},
      {{"io", "time", "Reading and writing files"}, io},
      {{"init_finalize", "mpi", "Begin and end of MPI"}, bit(CallClass::InitFinalize)},
      {{"mpi_other", "mpi", "Functions of MPI that do none of this"}, bit(CallClass::OtherMpi)},
  };
  return all;
}

/// Patterns that are computed from sums at call paths.
enum ProfilePattern : std::uint8_t { Dominating, Frequent, Big, Uneven };
const About profile_patterns[] = {
    {"dominating_communication", "communication", "The function of communication with the most time"},
    {"frequent_communication", "communication", "Calls that are short, and many"},
    {"big_messages", "communication", "Messages that are long on average"},
    {"uneven_distribution", "communication", "Processes spend unequal time at a call path"}};

/// A naming in which each call path is a node of its own, `path + 1`.
Naming naming_by_path(const trace::Trace& trace) {
  const auto paths = static_cast<std::uint32_t>(trace.path_count());
  const auto names_of = [&trace](std::uint32_t node) {
    return node == 0 ? std::vector<std::string>() : std::vector{trace.region_of(node - 1)};
  };
  return {[](std::uint32_t path) { return path + 1; }, names_of, paths + 1, paths + 2};
}

}  // namespace

class Searched::Analyser {
 public:
  Analyser(const trace::Trace& trace, Request request, Patterns further) : trace_(trace), request_(std::move(request)) {
    patterns_ = waiting_patterns(request_.parameters);
    std::ranges::move(thread_patterns(), std::back_inserter(patterns_));
    first_further_ = patterns_.size();
    std::ranges::move(further, std::back_inserter(patterns_));
    Quantity next = first_of_patterns;
    for (const auto& pattern : patterns_) pattern->set_quantity(next++);
    meanings_.resize(next);
    const auto& times = time_patterns();
    untold_ = static_cast<std::uint32_t>(times.size() + patterns_.size());
    for (const Quantity of : {untold_messages, untold_others}) meanings_[of].outputs.push_back(untold_);
    for (std::uint32_t i = 0; i < times.size(); ++i)
      for (unsigned of = 0; of < trace::call_classes; ++of)
        if ((times[i].classes >> of & 1) != 0) meanings_[of].outputs.push_back(i);
    for (std::uint32_t i = 0; i < patterns_.size(); ++i) {
      const auto output = static_cast<std::uint32_t>(times.size()) + i;
      const bool is_all_waiting = patterns_[i]->about().name == waiting_name;
      Meaning& meaning = meanings_[patterns_[i]->quantity()];
      meaning.outputs.push_back(output);
      meaning.is_doubted = is_all_waiting || patterns_[i]->about().is_wait;
      if (is_all_waiting) waiting_ = output;
      else if (i < first_further_ && patterns_[i]->about().is_wait) kinds_of_waiting_.push_back(output);
    }
    is_extrapolated_ = is_sample_of_iterations(trace_) && !request_.iteration && !has_limits();
  }

  void pass() {
    Findings::IsWanted wanted;
    if (request_.iteration)
      wanted = [this](const SpanEnd& span) { return span.loop != 0 && span.number == *request_.iteration; };
    search_.emplace(trace_, is_extrapolated_ || request_.iteration.has_value(), request_.limits, wanted);
    search_->limit_rows(request_.most_rows);
    if (request_.processes) search_->distribute(request_.processes->process(), request_.processes->count());
    if (request_.also) search_->subscribe<Primitive>([this](const Primitive& of) { request_.also(of.event); });
    subscribe(*search_);
    const bool with_causes = request_.with_causes || request_.headlines > 0;
    if (with_causes || request_.with_critical_path) waits_.emplace(*search_);
    if (with_causes) causes_.emplace(*search_);
    if (request_.with_critical_path) critical_path_.emplace(*search_);
    if (request_.processes) search_->run(*request_.processes, request_.progress);
    else search_->run(request_.progress);
    if (has_result())
      for (std::size_t i = first_further_; i < patterns_.size(); ++i) survives(i, [&] { patterns_[i]->wrap_up(); });
  }

  Analysis by(const Naming& naming, Analysis* by_path) {
    naming_ = &naming;
    if (!has_result()) return {};
    const Naming paths = naming_by_path(trace_);
    std::deque<Estimate> estimates;
    const auto outputs = static_cast<std::size_t>(untold_) + 1;
    estimates.emplace_back(trace_, naming, meanings_, outputs, untold_, search_->loops());
    if (by_path) estimates.emplace_back(trace_, paths, meanings_, outputs, untold_, search_->loops());
    add_locations(*search_, estimates);
    if (by_path) *by_path = severities(estimates[1]);
    Analysis analysis = severities(estimates[0]);
    if (request_.with_causes) analysis.causes = named(causes_->found());
    if (critical_path_)
      if (const auto found = critical_path_->found()) analysis.critical_path = named(*found);
    add_time(*search_, analysis);
    ask_further(analysis);
    if (search_->counts().gaps_within > 0 && !is_extrapolated_) doubt(*search_, analysis);
    finish_threads(trace_, naming, !has_limits() && !request_.iteration, wanted_nodes(), analysis.patterns);
    if (request_.iteration)
      for (const Findings::OfLocation& of : search_->findings().locations())
        for (const SpanEnd& span : of.spans)
          analysis.has_iteration |= span.loop != 0 && span.number == *request_.iteration;
    const auto is_there = [](const PatternResult& of) { return of.about.name != "time" && of.all.ns > 0; };
    analysis.has_region = request_.region.empty() || std::ranges::any_of(analysis.patterns, is_there);
    add_worst(analysis);
    add_profiling_patterns(*search_, analysis, is_extrapolated_);
    if (request_.headlines > 0)
      analysis.headlines = headlines(analysis, request_.headlines, least_share_of_headline, [&](std::uint32_t node) {
        return named(causes_->found([&](std::uint32_t path) { return naming.node_of(path) == node; }));
      });
    for (std::size_t i = first_further_; i < patterns_.size(); ++i)
      if (!failures_[i]->empty()) analysis.failures.push_back(patterns_[i]->about().name + ": " + *failures_[i]);
    return analysis;
  }

 private:
  /// The sums of a call path at a location over the run.
  struct Statement {
    double ns = 0;
    std::uint64_t visits = 0, messages = 0, bytes = 0;
  };
  using Statements = std::map<std::pair<std::uint32_t, std::uint32_t>, Statement>;  // by node and location

  bool has_result() const { return !request_.processes || request_.processes->process() == 0; }

  Analysis severities(Estimate& estimate) {
    Analysis analysis;
    analysis.counts = search_->counts();
    analysis.is_sampled = is_extrapolated_;
    for (const TimePattern& of : time_patterns())
      analysis.patterns.push_back({of.about, {}, 1, is_extrapolated_, false, true});
    for (const auto& pattern : patterns_) analysis.patterns.push_back({pattern->about(), {}, 1, is_extrapolated_});
    analysis.patterns.emplace_back();  // for untold_
    if (is_extrapolated_) estimate.contain(waiting_, kinds_of_waiting_);
    estimate.finish(analysis.patterns, wanted_nodes());
    analysis.untold = std::move(analysis.patterns.back().by_node);
    analysis.patterns.pop_back();
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      SearchCounts counts = search_->counts();
      if (is_extrapolated_) counts.known_messages = known_messages(estimate, meanings_[patterns_[i]->quantity()].sides);
      analysis.patterns[time_patterns().size() + i].confidence = confidence(i, counts);
    }
    analysis.not_covered_ns = estimate.not_covered_ns();
    analysis.unknown_ns = estimate.unknown_ns(side_of_receives | side_of_sends);
    for (const auto& [loop, level] : trace_.levels())
      if (is_extrapolated_ && !loop.empty()) analysis.level = std::max(analysis.level, level);
    analysis.merged_strata = estimate.merged_strata();
    analysis.ranks_in_block = estimate.ranks_in_block();
    return analysis;
  }

  /// Several call paths may share one node.
  void add_worst(Analysis& analysis) {
    const auto is_wanted = wanted_nodes();
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      std::map<std::uint32_t, std::vector<Instance>> by_node;
      for (const auto& [path, worst] : search_->worst().of(patterns_[i]->quantity())) {
        const std::uint32_t node = path == trace::no_path ? 0 : naming_->node_of(path);
        if (is_wanted && !is_wanted(node)) continue;
        auto& to = by_node[node];
        to.insert(to.end(), worst.begin(), worst.end());
      }
      PatternResult& result = analysis.patterns[time_patterns().size() + i];
      for (auto& [node, worst] : by_node) {
        std::ranges::sort(worst, is_worse);
        if (worst.size() > WorstInstances::most) worst.resize(WorstInstances::most);
        for (const Instance& of : worst)
          if (of.ns > 0 && (!request_.iteration || (of.loop != 0 && of.iteration == *request_.iteration)))
            result.worst.push_back({node, of.location, of.ns, of.enter_ns, search_->loops()[of.loop], of.iteration});
      }
    }
  }

  /// Patterns of plug-ins may throw.
  void subscribe(Search& search) {
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      failures_.push_back(std::make_shared<std::string>());
      if (i < first_further_) {
        patterns_[i]->subscribe(search);
      } else {
        search.guard(failures_[i]);
        survives(i, [&] { patterns_[i]->subscribe(search); });
        search.guard(nullptr);
      }
      meanings_[patterns_[i]->quantity()].sides = search.take_sides();
    }
  }

  /// Calls `ask` unless the pattern has failed before; an exception becomes its failure.
  void survives(std::size_t pattern, const std::function<void()>& ask) {
    if (!failures_[pattern]->empty()) return;
    try {
      ask();
    } catch (const std::exception& wrong) {
      *failures_[pattern] = wrong.what();
    }
  }

  double confidence(std::size_t pattern, const SearchCounts& counts) {
    double value = 0;
    survives(pattern, [&] {
      value = patterns_[pattern]->confidence(counts);
      if (!(value >= 0 && value <= 1)) throw std::invalid_argument(fmt::format("its confidence is {}", value));
    });
    if (!failures_[pattern]->empty()) return 0;
    return value;
  }

  /// Adds what patterns of plug-ins report themselves.
  void ask_further(Analysis& analysis) {
    for (std::size_t i = first_further_; i < patterns_.size(); ++i) {
      PatternResult& result = analysis.patterns[time_patterns().size() + i];
      survives(i, [&] {
        result.names = patterns_[i]->results();
        const auto severity = patterns_[i]->severity_s();
        if (!severity) return;
        if (!std::isfinite(*severity) || *severity < 0)
          throw std::invalid_argument(fmt::format("its severity is {} s", *severity));
        result.all = {*severity * 1e9, not_known};
        result.is_sampled = false;
      });
      if (!failures_[i]->empty()) result.confidence = 0;
    }
  }

  /// Share of the time in calls with messages for which the waiting for messages on these sides is known.
  static double known_messages(const Estimate& estimate, unsigned sides) {
    const auto& times = time_patterns();
    const auto p2p =
        std::ranges::find(times, std::string_view("p2p"), [](const TimePattern& of) { return of.about.name; });
    const double all = estimate.sum_ns(static_cast<std::size_t>(p2p - times.begin()));
    return all > 0 ? std::clamp(1 - estimate.unknown_ns(sides) / all, 0.0, 1.0) : 1;
  }

  bool has_limits() const { return request_.limits.from_ns != INT64_MIN || request_.limits.to_ns != INT64_MAX; }

  /// Empty: all nodes.
  std::function<bool(std::uint32_t)> wanted_nodes() const {
    if (request_.region.empty()) return {};
    return [this, known = std::map<std::uint32_t, bool>()](std::uint32_t node) mutable {
      const auto [at, is_new] = known.try_emplace(node, false);
      if (is_new) {
        const auto names = naming_->names_of(node);
        at->second = std::ranges::find(names, request_.region) != names.end();
      }
      return at->second;
    };
  }

  /// Adds each location to all estimates, so that ranks are read only once.
  void add_locations(const Search& search, std::deque<Estimate>& estimates) {
    const auto& found = search.findings().locations();
    std::function<bool(const SpanEnd*)> is_wanted;
    if (request_.iteration)
      is_wanted = [this](const SpanEnd* span) {
        return span && span->loop != 0 && span->number == *request_.iteration;
      };
    experiment::RankHandle rank;
    for (std::uint32_t location = 0; location < found.size(); ++location) {
      const std::int32_t number = trace_.locations()[location].rank;
      if (is_extrapolated_ && (!rank || rank->rank != number)) rank = rank_of(number);
      for (Estimate& estimate : estimates)
        if (rank) estimate.add_sampled(location, found[location], *rank);
        else estimate.add_exact(location, found[location], is_wanted);
    }
  }

  experiment::RankHandle rank_of(std::int32_t number) const {
    const experiment::Experiment& experiment = trace_.experiment();
    const auto at = std::ranges::find(experiment.ranks(), number);
    if (at == experiment.ranks().end()) return nullptr;
    return experiment.rank(static_cast<std::size_t>(at - experiment.ranks().begin()), experiment::Depth::Whole);
  }

  /// Adds the total time of the locations: for an experiment, the profile's time; otherwise, the time from the first
  /// event to the last; for a single iteration, the time of the iteration.
  void add_time(const Search& search, Analysis& analysis) {
    PatternResult& time = analysis.patterns[0];
    const auto& found = search.findings().locations();
    for (std::uint32_t location = 0; location < found.size(); ++location) {
      double ns = static_cast<double>(
          found[location].last_ns >= found[location].first_ns ? found[location].last_ns - found[location].first_ns : 0);
      if (!trace_.archive() && !has_limits() && !request_.iteration)
        if (const auto wall = time_of(location, run::wall)) ns = *wall;
      if (request_.iteration) {
        ns = 0;
        for (const SpanEnd& span : found[location].spans)
          if (span.loop != 0 && span.number == *request_.iteration) ns += static_cast<double>(span.ns);
      }
      if (has_limits())
        // Up to the end of the last call that began within the limits.
        ns = static_cast<double>(std::max<std::int64_t>(
            std::max(std::min(found[location].last_ns, request_.limits.to_ns), found[location].counted_until_ns) -
                std::max(found[location].first_ns, request_.limits.from_ns),
            0));
      analysis.total_ns += ns;
      time.by_location.push_back({location, {ns, 0}});
    }
    time.all.ns = analysis.total_ns;
    std::ranges::stable_sort(time.by_location, std::greater<>{}, [](const auto& of) { return of.severity.ns; });
  }

  /// Lowers confidences because events are missing: no pattern is more certain than the time of calls. The total time
  /// is certain nevertheless if it comes from the profile.
  void doubt(const Search& search, Analysis& analysis) {
    const bool has_profile = !trace_.archive() && !has_limits() && !request_.iteration;
    const double seen = has_profile ? seen_of_profile(search) : seen_between_gaps(search, analysis.total_ns);
    analysis.seen_share = seen;
    for (PatternResult& of : analysis.patterns) {
      if (has_profile && &of == &analysis.patterns[0]) continue;
      of.confidence = std::min(of.confidence, seen);
      of.is_partial = true;
    }
  }

  /// Share of the profile's time in MPI for which there are events.
  double seen_of_profile(const Search& search) {
    double seen = 0, all = 0;
    const auto& found = search.findings().locations();
    for (std::uint32_t location = 0; location < found.size(); ++location) {
      for (const Findings::Cell& cell : found[location].cells)
        for (const Findings::Value& value : cell.values)
          if (value.quantity < trace::call_classes && (mpi >> value.quantity & 1) != 0)
            seen += static_cast<double>(value.ns);
      all += time_of(location, run::mpi).value_or(0);
    }
    return all > seen ? seen / all : 1;
  }

  /// Share of the time outside of gaps. What happened in gaps is unknown, so the share never reaches 1.
  static double seen_between_gaps(const Search& search, double total_ns) {
    constexpr double most = 0.99;
    double missing_ns = 0;
    for (const Findings::OfLocation& of : search.findings().locations())
      missing_ns += static_cast<double>(of.missing_ns);
    return total_ns > 0 ? std::clamp(1 - missing_ns / total_ns, 0.0, most) : 0;
  }

  /// Time of the run in the profile, in nanoseconds.
  std::optional<double> time_of(std::uint32_t location, run::TimeMetric time) {
    const run::Leaf* leaf = leaf_of(location);
    return leaf ? std::optional(static_cast<double>(leaf->time(time))) : std::nullopt;
  }
  const run::Leaf* leaf_of(std::uint32_t location) {
    if (!profile_) profile_.emplace(trace_.experiment());
    return profile_->of(trace_.locations()[location].rank, trace_.locations()[location].thread);
  }

  /// Merges findings whose activities have the same names, with `add(result, one)`. Largest first.
  template <class Result, class Found, class Add>
  std::vector<Result> by_name(const std::vector<Found>& found, const Add& add) const {
    const auto node_of = [this](std::uint32_t path) {
      return path == trace::no_path ? std::nullopt : std::optional(naming_->node_of(path));
    };
    std::map<NamedActivity, Result> results;
    for (const Found& one : found) {
      const Activity& of = one.activity;
      const NamedActivity name{of.location, of.is_call, node_of(of.before), node_of(of.after)};
      Result& result = results.try_emplace(name).first->second;
      result.activity = name;
      add(result, one);
    }
    std::vector<Result> all;
    for (const auto& [name, result] : results) all.push_back(result);
    std::ranges::stable_sort(all, std::greater<>{}, &Result::ns);
    return all;
  }

  /// Adds what samples say about a computation to the sums of all computations with the same name.
  void add_user(std::vector<PatternResult::ByNode>& all, const Cause& of) const {
    for (const SampledPart& part : of.parts) {
      std::map<std::uint32_t, double> shares;
      for (const auto& [path, share] : part.shares.by_path)
        shares[path == trace::no_path ? naming_->not_on_cpu : naming_->node_of(path)] += share;
      for (const auto& [node, share] : shares) {
        const auto at = std::ranges::find(all, node, &PatternResult::ByNode::node);
        PatternResult::ByNode& to = at == all.end() ? all.emplace_back(PatternResult::ByNode{node, {}}) : *at;
        const double deviation = statistics::error_of_share(share, part.shares.samples);
        to.severity.ns += part.ns * share;
        to.severity.error_ns = std::hypot(to.severity.error_ns, part.ns * deviation);
      }
    }
  }

  CauseResults named(const CausesFound& found) const {
    CauseResults results{{}, found.waiting_ns, found.unknown_ns};
    results.all = by_name<CauseResult>(found.causes, [this](CauseResult& to, const Cause& of) {
      to.ns += of.ns, to.direct_ns += of.direct_ns, to.off_cpu_ns += of.off_cpu_ns;
      add_user(to.by_node, of);
    });
    for (CauseResult& of : results.all) {
      std::erase_if(of.by_node, [](const auto& row) { return row.severity.ns <= 0; });
      std::ranges::stable_sort(of.by_node, std::greater<>{}, [](const auto& row) { return row.severity.ns; });
    }
    return results;
  }

  CriticalResults named(const std::vector<CriticalActivity>& found) const {
    CriticalResults results;
    results.all = by_name<CriticalResult>(found, [&results](CriticalResult& to, const CriticalActivity& of) {
      to.ns += static_cast<double>(of.ns), to.imbalance_ns += of.imbalance_ns;
      results.ns += static_cast<double>(of.ns);
    });
    return results;
  }

  // Patterns of the profile, computed from the sums at call paths alone.

  Statements statements_of(const Search& search, const PatternResult& from, bool is_extrapolated) {
    Statements all;
    for (const PatternResult::Cell& cell : from.cells) all[{cell.node, cell.location}].ns += cell.ns;
    const auto add = [&](std::uint32_t path, std::uint32_t location, std::uint64_t visits, std::uint64_t messages,
                         std::uint64_t bytes) {
      const auto at = all.find({path == trace::no_path ? 0 : naming_->node_of(path), location});
      if (at == all.end()) return;
      at->second.visits += visits;
      at->second.messages += messages;
      at->second.bytes += bytes;
    };
    const auto& found = search.findings().locations();
    for (std::uint32_t location = 0; location < found.size(); ++location) {
      if (!is_extrapolated) {
        for (const Findings::Cell& cell : found[location].cells)
          add(cell.path, location, cell.visits, cell.messages, cell.bytes);
        continue;
      }
      const run::Leaf* leaf = leaf_of(location);
      for (std::size_t r = 0; leaf && r < leaf->rows.size(); ++r) {
        const run::Row& row = leaf->rows[r];
        const auto value = [&](format::MetricId metric) { return static_cast<std::uint64_t>(row.value(metric)); };
        if (row.kind == format::NodeKind::Region)
          add(row.path, location, value(format::MetricId::Visits),
              value(format::MetricId::MessagesSent) + value(format::MetricId::MessagesReceived),
              value(format::MetricId::BytesSent) + value(format::MetricId::BytesReceived));
      }
    }
    return all;
  }

  void add_profiling_patterns(const Search& search, Analysis& analysis, bool is_extrapolated) {
    const auto from = std::ranges::find(analysis.patterns, std::string("communication"),
                                        [](const PatternResult& of) { return of.about.name; });
    const PatternResult communication_result = *from;
    const Statements statements = statements_of(search, communication_result, is_extrapolated);
    std::map<std::uint32_t, Statement> by_node;
    std::map<std::uint32_t, std::map<std::int32_t, double>> times;  // by node and rank
    for (const auto& [key, of] : statements) {
      Statement& to = by_node[key.first];
      to.ns += of.ns, to.visits += of.visits, to.messages += of.messages, to.bytes += of.bytes;
      times[key.first][trace_.locations()[key.second].rank] += of.ns;
    }
    const auto add = [&](About about, const std::function<bool(std::uint32_t node)>& is_meant,
                         std::vector<std::string> names) {
      PatternResult result{
          std::move(about), {}, communication_result.confidence, is_extrapolated, communication_result.is_partial};
      std::set<std::uint32_t> nodes;
      for (const PatternResult::ByNode& of : communication_result.by_node)
        if (is_meant(of.node)) nodes.insert(of.node);
      const auto has = [&](std::uint32_t node) { return nodes.contains(node); };
      std::map<std::uint32_t, double> by_location;
      for (const PatternResult::ByNode& of : communication_result.by_node)
        if (has(of.node)) {
          result.by_node.push_back(of);
          result.all.ns += of.severity.ns;
        }
      run::Replicates replicates;
      for (const PatternResult::Replicated& of : communication_result.replicates)
        if (has(of.node)) {
          result.replicates.push_back(of);
          replicates += of.by;
        }
      result.all.error_ns = replicates.error_ns();
      for (const PatternResult::Cell& of : communication_result.cells)
        if (has(of.node)) {
          result.cells.push_back(of);
          by_location[of.location] += of.ns;
        }
      for (const auto& [location, ns] : by_location)
        result.by_location.push_back({location, {ns, is_extrapolated ? not_known : 0}});
      std::ranges::stable_sort(result.by_location, std::greater<>{}, [](const auto& of) { return of.severity.ns; });
      result.names = std::move(names);
      analysis.patterns.push_back(std::move(result));
    };
    std::map<std::uint32_t, std::string> functions;
    const auto function_of = [&](std::uint32_t node) -> const std::string& {
      std::string& name = functions[node];
      if (!name.empty()) return name;
      const auto names = naming_->names_of(node);
      return name = names.empty() ? std::string("(unknown)") : names.back();
    };
    const auto functions_of = [&](const auto& has) {
      std::set<std::string> names;
      for (const auto& [node, of] : by_node)
        if (has(node)) names.insert(function_of(node));
      return std::vector<std::string>(names.begin(), names.end());
    };

    std::map<std::string, double> by_function;
    for (const auto& [node, of] : by_node) by_function[function_of(node)] += of.ns;
    std::string dominating;
    for (const auto& [name, ns] : by_function)
      if (dominating.empty() || ns > by_function[dominating]) dominating = name;
    add(
        profile_patterns[Dominating], [&](std::uint32_t node) { return function_of(node) == dominating; },
        dominating.empty() ? std::vector<std::string>() : std::vector{dominating});
    const Parameters& p = request_.parameters;
    const auto is_frequent = [&](std::uint32_t node) {
      const Statement& of = by_node[node];
      return of.visits > 0 && of.ns / static_cast<double>(of.visits) < p.frequent_s * 1e9;
    };
    add(profile_patterns[Frequent], is_frequent, functions_of(is_frequent));
    const auto is_big = [&](std::uint32_t node) {
      const Statement& of = by_node[node];
      return of.messages > 0 && static_cast<double>(of.bytes) / static_cast<double>(of.messages) > p.big_bytes;
    };
    add(profile_patterns[Big], is_big, functions_of(is_big));
    std::set<std::int32_t> processes;
    for (const trace::LocationOfTrace& of : trace_.locations())
      if (of.rank >= 0) processes.insert(of.rank);
    const auto is_uneven = [&](std::uint32_t node) {
      if (processes.size() < 2) return false;
      statistics::Moments of;
      for (const std::int32_t rank : processes) {
        const auto at = times[node].find(rank);
        of.add(at == times[node].end() ? 0 : at->second);
      }
      return of.mean > 0 && of.deviation() > p.uneven * of.mean;
    };
    add(profile_patterns[Uneven], is_uneven, functions_of(is_uneven));
  }

  const trace::Trace& trace_;
  const Naming* naming_ = nullptr;  ///< argument of the current call of by()
  const Request request_;
  Patterns patterns_;
  std::size_t first_further_ = 0;                       ///< index of the first plug-in pattern
  std::vector<std::shared_ptr<std::string>> failures_;  ///< by pattern; empty: it has not failed
  Meanings meanings_;
  std::uint32_t waiting_ = 0;  ///< the output for all waiting
  std::uint32_t untold_ = 0;   ///< ... for time in calls whose waiting is unknown
  std::vector<std::uint32_t> kinds_of_waiting_;
  bool is_extrapolated_ = false;
  std::optional<Search> search_;
  std::optional<Waits> waits_;
  std::optional<Causes> causes_;
  std::optional<CriticalPath> critical_path_;
  std::optional<run::LeafReader> profile_;
};

Searched::Searched(const trace::Trace& trace, Request request, Patterns further)
    : analyser_(std::make_unique<Analyser>(trace, std::move(request), std::move(further))) {
  analyser_->pass();
}

Searched::~Searched() = default;

Analysis Searched::by(const Naming& naming, Analysis* by_path) const { return analyser_->by(naming, by_path); }

std::vector<std::string> pattern_names(const Patterns& further) {
  std::vector<std::string> names;
  for (const TimePattern& of : time_patterns()) names.push_back(of.about.name);
  for (const auto& pattern : waiting_patterns({})) names.push_back(pattern->about().name);
  for (const auto& pattern : thread_patterns()) names.push_back(pattern->about().name);
  for (const About& of : profile_patterns) names.push_back(of.name);
  for (const auto& pattern : further) names.push_back(pattern->about().name);
  return names;
}

Analysis analyse(const trace::Trace& trace, const Naming& naming, const Request& request, Patterns further) {
  return Searched(trace, request, std::move(further)).by(naming);
}

}  // namespace refrain::patterns
