#include "offline/database/add_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "format/mpi_functions.hpp"
#include "offline/database/loop_rows.hpp"
#include "offline/database/process_spread.hpp"
#include "offline/experiment/clean_text.hpp"

namespace refrain::database {
namespace {

using experiment::clean_text;
using properties::quoted_text;

Value date_of(std::optional<std::int64_t> since_1970_us) { return since_1970_us ? Value(*since_1970_us) : Value(); }
Value date_of(double) = delete;  // converting it to the optional integer would drop its fraction

/// The enumerator of TimingType (offline/properties/model.asl) of an MPI function.
const char* timing_type_of(std::string_view function) {
  constexpr const char* types[] = {
#define MPI_CLASS(name, call_class, role, exchange, metric, type) #type,
#include "format/mpi_classes.def"
#undef MPI_CLASS
  };
  const format::MpiFunction* known = format::find_mpi_function(function);
  return known ? types[static_cast<std::size_t>(known->of)] : "OtherMpi";
}

class Loader {
 public:
  Loader(Connection& connection, const properties::Model& model, RunSource& source, const AddOptions& options)
      : connection_(connection),
        model_(model),
        source_(source),
        options_(options),
        tables_(connection, model),
        nodes_(source.nodes()) {}

  Added load() {
    find_columns();
    add_version();
    find_shared();
    place_nodes();
    // The run's row can only be written at the end, but its id is needed before.
    run_ = integer_of(connection_.one("SELECT COALESCE(MAX(\"id\"), 0) FROM \"TestRun\"")) + 1;
    add_metrics();
    sums_.resize(nodes_.size());
    for (std::size_t i = 0; i < source_.locations().size();) i = add_process(i);
    add_timings();
    add_calls();
    add_loops(connection_, tables_, source_, {run_, location_ids_, options_.progress}, notes_);
    add_test_run();
    tables_.finish(run_, {"TestRun", "TotalTiming", "TypedTiming", "WaitTiming", "CallTiming", "Location", "PathTiming",
                          "Severity", "Loop", "Step", "Iteration", "Cluster"});
    connection_.execute(fmt::format("INSERT INTO refrain_runs VALUES ({}, {}, {})", run_, quoted_text(source_.digest()),
                                    quoted_text(options_.added)));
    return {run_, notes_};
  }

 private:
  /// The metrics that are looked up by name.
  enum Looked : std::size_t {
    Wall,
    Mpi,
    User,
    NotOnCpu,
    Waited,
    Blocked,
    Refrain,
    Visits,
    Messages,
    Sent,
    Received,
    Read,
    Written,
    looked_at
  };
  static constexpr std::array<const char*, looked_at> names = {
      "wall",   "mpi",           "user",       "not_on_cpu",     "waited_for_core", "blocked",      "refrain",
      "visits", "messages_sent", "bytes_sent", "bytes_received", "bytes_read",      "bytes_written"};
  using Values = std::array<double, looked_at>;
  static void add(const Values& values, Values& to) {
    for (std::size_t m = 0; m < looked_at; ++m) to[m] += values[m];
  }
  /// Sums of a call path in the run.
  struct NodeSum {
    Values own{};
    OverProcesses inclusive;
  };

  std::int64_t enumerator(const char* enumeration, std::string_view name) const {
    const auto& values = model_.enumerations[static_cast<std::size_t>(model_.enumeration_named(enumeration))].values;
    const auto at = std::ranges::find(values, name);
    return at == values.end() ? -1 : at - values.begin();
  }

  void find_columns() {
    const auto& metrics = source_.metrics();
    for (std::size_t m = 0; m < looked_at; ++m) {
      const auto at = std::ranges::find(metrics, names[m], &run::Metric::name);
      columns_[m] = at == metrics.end() ? -1 : at - metrics.begin();
    }
    if (columns_[Wall] < 0) throw std::logic_error("a run without wall time");
  }
  Values values_of(std::span<const double> values) const {
    Values looked{};
    for (std::size_t m = 0; m < looked_at; ++m)
      if (columns_[m] >= 0) looked[m] = values[static_cast<std::size_t>(columns_[m])];
    return looked;
  }

  /// NULL when the run does not have the metric.
  Value if_known(const Values& of, Looked metric) const {
    return columns_[metric] < 0 ? Value() : value_of(of[metric]);
  }
  static Value if_told(bool is_told, double value) { return is_told ? value_of(value) : Value(); }

  // Rows that versions and runs share.

  void add_version() {
    const RunFacts& facts = source_.facts();
    const std::string program = clean_text(options_.program.empty() ? facts.program : options_.program);
    const std::string version = clean_text(options_.version.empty() ? facts.version : options_.version);
    auto& programs = tables_.of("Program", {"Name"});
    const Value known =
        connection_.one(fmt::format("SELECT \"id\" FROM \"Program\" WHERE \"Name\" = {}", quoted_text(program)));
    const std::int64_t id = std::holds_alternative<std::monostate>(known) ? programs.add({program}) : integer_of(known);
    program_ = id;
    auto& codes = tables_.of("SourceCode", {"Executable", "BuildId"});
    auto& versions = tables_.of("ProgVersion", {"Program_Versions", "Name", "Compilation", "Code"});
    const Value same = connection_.one(
        fmt::format("SELECT \"id\" FROM \"ProgVersion\" WHERE \"Program_Versions\" = {} AND \"Name\" = {}", id,
                    quoted_text(version)));
    if (!std::holds_alternative<std::monostate>(same)) {
      version_ = integer_of(same);
      return;
    }
    const std::int64_t code = codes.add({clean_text(facts.executable), facts.build_id});
    version_ = versions.add({id, version, date_of(facts.compiled_us ? facts.compiled_us : facts.start_us), code});
  }

  void find_shared() {
    connection_.query(
        fmt::format("SELECT \"id\", \"Name\" FROM \"Function\" WHERE \"ProgVersion_Functions\" = {}", version_),
        [&](std::span<const Value> row) { functions_[text_of(row[1])] = integer_of(row[0]); });
    const std::string ours =
        fmt::format("(SELECT \"id\" FROM \"Function\" WHERE \"ProgVersion_Functions\" = {})", version_);
    connection_.query(fmt::format("SELECT \"id\", \"Function_Regions\", \"ParentRegion\", \"Name\" FROM \"Region\" "
                                  "WHERE \"Function_Regions\" IN {}",
                                  ours),
                      [&](std::span<const Value> row) {
                        regions_[{integer_of(row[1]), integer_of(row[2], 0), text_of(row[3])}] = integer_of(row[0]);
                      });
    connection_.query(
        fmt::format("SELECT \"id\", \"CallingReg\", \"Callee\" FROM \"FunctionCall\" WHERE \"Function_Calls\" IN {}",
                    ours),
        [&](std::span<const Value> row) {
          calls_[{integer_of(row[1], 0), integer_of(row[2])}] = integer_of(row[0]);
        });
    connection_.query(
        fmt::format(
            "SELECT \"id\", \"Parent\", \"Name\", \"Kind\" FROM \"CallPath\" WHERE \"ProgVersion_CallPaths\" = {}",
            version_),
        [&](std::span<const Value> row) {
          paths_[{integer_of(row[1], 0), text_of(row[2]), integer_of(row[3])}] = integer_of(row[0]);
        });
  }

  std::int64_t function(const std::string& name, bool is_mpi) {
    const auto [at, is_new] = functions_.try_emplace(name);
    if (is_new) {
      at->second = tables_.of("Function", {"ProgVersion_Functions", "Name", "IsMpi", "Type", "Program"})
                       .add({version_, name, std::int64_t{is_mpi},
                             is_mpi ? Value(enumerator("TimingType", timing_type_of(name))) : Value(), program_});
    }
    return at->second;
  }

  std::int64_t region(std::int64_t of, std::int64_t parent, const std::string& name) {
    const auto [at, is_new] = regions_.try_emplace({of, parent, name});
    if (is_new)
      at->second = tables_.of("Region", {"Function_Regions", "ParentRegion", "Name", "Body"})
                       .add({of, parent == 0 ? Value() : Value(parent), name, of});
    return at->second;
  }

  /// Finds or adds the call path, function, region and call of each node.
  void place_nodes() {
    places_.resize(nodes_.size());
    std::set<std::tuple<std::int64_t, std::string, std::int64_t>> of_this_run;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const RunNode& node = nodes_[i];
      Place& place = places_[i];
      const Place above = node.parent < 0 ? Place{} : places_[static_cast<std::size_t>(node.parent)];
      const std::string name = clean_text(node.name);
      const std::int64_t kind = enumerator("PathKind", node.is_marked                      ? "MarkedPath"
                                                       : node.kind == run::PathKind::Mpi   ? "MpiPath"
                                                       : node.kind == run::PathKind::Other ? "OtherPath"
                                                                                           : "UserPath");
      std::string path = above.path == 0 ? name : above.path_name + " > " + name;
      // Names that differ only in invalid UTF-8 are the same after cleaning.
      while (!of_this_run.emplace(above.path, path, kind).second) path += '?';
      if (node.kind != run::PathKind::Other) {
        place.function =
            node.is_marked && above.function != 0 ? above.function : function(name, node.kind == run::PathKind::Mpi);
        place.region = region(place.function, node.is_marked ? above.region : 0, name);
        if (!node.is_marked) {
          const auto [call, is_new] = calls_.try_emplace({above.region, place.function});
          if (is_new)
            call->second = tables_.of("FunctionCall", {"Function_Calls", "Caller", "CallingReg", "Callee"})
                               .add({place.function, above.function == 0 ? Value() : Value(above.function),
                                     above.region == 0 ? Value() : Value(above.region), place.function});
          place.call = call->second;
        }
      }
      const auto [known, is_new] = paths_.try_emplace({above.path, path, kind});
      if (is_new)
        known->second = tables_.of("CallPath", {"ProgVersion_CallPaths", "Name", "Parent", "Callee", "Kind", "Depth"})
                            .add({version_, path, above.path == 0 ? Value() : Value(above.path),
                                  place.function == 0 ? Value() : Value(place.function), kind, above.depth + 1});
      place.path = known->second;
      place.path_name = path;
      place.depth = above.depth + 1;
      const auto is_same = [&](auto member) {
        return [this, &place, member](std::size_t of) { return places_[of].*member == place.*member; };
      };
      // The time of a function that calls itself counts once.
      is_outermost_.push_back(std::ranges::none_of(ancestors(i), is_same(&Place::region)));
      is_outermost_call_.push_back(std::ranges::none_of(ancestors(i), is_same(&Place::call)));
    }
  }

  void add_metrics() {
    std::map<std::string, std::int64_t> known;
    connection_.query("SELECT \"id\", \"Name\" FROM \"Metric\"",
                      [&](std::span<const Value> row) { known[text_of(row[1])] = integer_of(row[0]); });
    for (const run::Metric& metric : source_.metrics()) {
      const auto [at, is_new] = known.try_emplace(clean_text(metric.name));
      if (is_new)
        at->second = tables_.of("Metric", {"Name", "Unit"}).add({clean_text(metric.name), clean_text(metric.unit)});
      metrics_.push_back(at->second);
    }
  }

  // Rows of the run.

  /// Adds the locations of a process, from `first` on; returns the first location of the next process.
  std::size_t add_process(std::size_t first) {
    const auto& locations = source_.locations();
    const std::int64_t rank = locations[first].rank;
    std::vector<double> time(nodes_.size()), visits(nodes_.size());
    std::vector<bool> has(nodes_.size());
    auto& location_table = tables_.of("Location", {"TestRun_Locations", "Rank", "Thread", "Name", "Wall", "Mpi", "User",
                                                   "NotOnCpu", "WaitedForCore", "Blocked", "Refrain"});
    auto& severities = tables_.of("Severity", {"CallPath_Severities", "Run", "Of", "At", "Value"});
    std::size_t i = first;
    for (; i < locations.size() && locations[i].rank == rank; ++i) {
      Values here{};
      std::vector<std::tuple<std::uint32_t, std::size_t, double>> cells;
      source_.for_each_node(i, [&](std::uint32_t node, std::span<const double> values) {
        const Values own = values_of(values);
        add(own, here);
        add(own, sums_[node].own);
        time[node] += own[Wall];
        visits[node] += own[Visits];
        has[node] = true;
        for (std::size_t m = 0; m < values.size(); ++m)
          if (values[m] != 0) cells.emplace_back(node, m, values[m]);
      });
      const bool is_told_apart = locations[i].off_cpu_is_told_apart;
      off_cpu_is_told_apart_ &= is_told_apart;
      const std::int64_t location =
          location_table.add({run_, rank, locations[i].thread, clean_text(locations[i].name), here[Wall], here[Mpi],
                              here[User], if_known(here, NotOnCpu), if_told(is_told_apart, here[Waited]),
                              if_told(is_told_apart, here[Blocked]), if_known(here, Refrain)});
      location_ids_.push_back(location);
      for (const auto& [node, m, value] : cells)
        severities.add({places_[node].path, run_, metrics_[m], location, value_of(value)});
      add(here, all_);
      elapsed_ = std::max(elapsed_, here[Wall]);
      options_.progress(i + 1, locations.size());
    }
    // Calls of this process, and inclusive times of its call paths.
    const std::int64_t process = static_cast<std::int64_t>(processes_.size());
    processes_.push_back(rank);
    std::vector<double> inclusive = time;
    for (std::size_t n = nodes_.size(); n-- > 0;)
      if (nodes_[n].parent >= 0) inclusive[static_cast<std::size_t>(nodes_[n].parent)] += inclusive[n];
    std::map<std::int64_t, std::pair<double, double>> calls;  // times and visits
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (inclusive[n] != 0 || has[n]) sums_[n].inclusive.add(inclusive[n], rank);
      if (places_[n].call == 0 || (inclusive[n] == 0 && !has[n])) continue;
      auto& [of_time, of_visits] = calls[places_[n].call];
      if (is_outermost_call_[n]) of_time += inclusive[n];
      of_visits += visits[n];
    }
    for (const auto& [call, values] : calls) {
      CallSum& sum = call_sums_[call];
      sum.time.add(values.first, rank);
      sum.visits.add(values.second, rank);
      sum.has.resize(static_cast<std::size_t>(process) + 1);
      sum.has[static_cast<std::size_t>(process)] = true;
    }
    return i;
  }

  /// Adds the timings of regions and call paths.
  void add_timings() {
    struct RegionSum {
      double exclusive = 0, inclusive = 0, overhead = 0, error = 0;  // NaN: the error is unknown
      std::map<std::int64_t, double> types;
      std::map<std::int64_t, run::Estimate> waits;  // by kind
    };
    std::map<std::int64_t, RegionSum> regions;
    std::vector<double> inclusive(nodes_.size());
    for (std::size_t n = nodes_.size(); n-- > 0;) {
      inclusive[n] += sums_[n].own[Wall];
      if (nodes_[n].parent >= 0) inclusive[static_cast<std::size_t>(nodes_[n].parent)] += inclusive[n];
    }
    std::vector<std::int64_t> around;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const RunNode& node = nodes_[n];
      if (places_[n].region == 0) continue;
      // The regions that the node is in, each once.
      around.clear();
      for (std::int64_t at = static_cast<std::int64_t>(n); at >= 0; at = nodes_[static_cast<std::size_t>(at)].parent) {
        const std::int64_t region = places_[static_cast<std::size_t>(at)].region;
        if (region != 0 && std::ranges::find(around, region) == around.end()) around.push_back(region);
      }
      RegionSum& own = regions[places_[n].region];
      own.exclusive += sums_[n].own[Wall];
      if (is_outermost_[n]) {
        own.inclusive += inclusive[n];
        // Shares of samples are correlated: a function has one error, not one for each of its nodes.
        own.error = node.is_marked ? std::hypot(own.error, node.error_s) : node.function_error_s;
      }
      if (node.kind != run::PathKind::Mpi) continue;
      const std::int64_t type_id = enumerator("TimingType", timing_type_of(node.name));
      for (const std::int64_t region : around) {
        regions[region].overhead += sums_[n].own[Wall];
        regions[region].types[type_id] += sums_[n].own[Wall];
        if (node.wait && node.wait->seconds > 0) regions[region].waits[wait_kind(node)] += *node.wait;
      }
    }
    auto& totals = tables_.of("TotalTiming", {"Region_TotTimes", "Run", "Excl", "Incl", "Ovhd", "Error"});
    auto& typed = tables_.of("TypedTiming", {"Region_TypTimes", "Run", "Type", "Time"});
    auto& waits = tables_.of("WaitTiming", {"Region_Waits", "Run", "Kind", "Time", "Error"});
    for (const auto& [region, sum] : regions) {
      totals.add({region, run_, sum.exclusive, sum.inclusive, sum.overhead, value_of(sum.error)});
      for (const auto& [type, seconds] : sum.types) typed.add({region, run_, type, seconds});
      for (const auto& [kind, of] : sum.waits) waits.add({region, run_, kind, of.seconds, of.error_s()});
    }
    auto& paths =
        tables_.of("PathTiming", {"CallPath_Timings", "Run", "Excl", "Incl", "ExclError", "Error", "MinIncl",
                                  "MeanIncl", "MaxIncl", "Visits", "Messages", "BytesSent", "BytesReceived",
                                  "BytesRead", "BytesWritten", "Waiting", "WaitingError", "WaitingConfidence", "Kind"});
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      NodeSum& sum = sums_[n];
      const RunNode& node = nodes_[n];
      // Processes without the call path count as 0.
      const double processes = static_cast<double>(processes_.size());
      const double least =
          sum.inclusive.moments.count < processes ? std::min(sum.inclusive.least, 0.0) : sum.inclusive.least;
      const auto counted = [&](Looked metric) {
        return node.kind == run::PathKind::Mpi ? if_known(sum.own, metric) : Value();
      };
      paths.add({places_[n].path, run_, sum.own[Wall], inclusive[n], value_of(node.exclusive_error_s),
                 value_of(node.error_s), least, inclusive[n] / processes, std::max(sum.inclusive.most, 0.0),
                 counted(Visits), counted(Messages), counted(Sent), counted(Received), counted(Read), counted(Written),
                 node.wait ? value_of(node.wait->seconds) : Value(),
                 node.wait ? value_of(node.wait->error_s()) : Value(), value_of(node.wait_confidence),
                 node.wait && node.wait->seconds > 0 ? Value(wait_kind(node)) : Value()});
    }
  }

  std::vector<std::size_t> ancestors(std::size_t node) const {
    std::vector<std::size_t> above;
    for (std::int32_t at = nodes_[node].parent; at >= 0; at = nodes_[static_cast<std::size_t>(at)].parent)
      above.push_back(static_cast<std::size_t>(at));
    return above;
  }

  std::int64_t wait_kind(const RunNode& node) const {
    const std::int64_t kind = enumerator("WaitKind", node.wait_kind);
    return kind >= 0 ? kind : enumerator("WaitKind", "other_waiting");
  }

  void add_calls() {
    auto& timings = tables_.of(
        "CallTiming", {"FunctionCall_Sums", "Run", "MinCalls", "MaxCalls", "MeanCalls", "StdevCalls", "MinCallsPe",
                       "MaxCallsPe", "MinTime", "MaxTime", "MeanTime", "StdevTime", "MinTimePe", "MaxTimePe"});
    std::map<std::int64_t, bool> is_counted;
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      if (places_[n].call != 0) is_counted[places_[n].call] = nodes_[n].kind == run::PathKind::Mpi;
    for (auto& [call, sum] : call_sums_) {
      sum.time.add_idle(processes_, sum.has);
      sum.visits.add_idle(processes_, sum.has);
      const bool counted = is_counted[call];
      const auto of_calls = [&](const Value& value) { return counted ? value : Value(); };
      timings.add({call, run_, of_calls(sum.visits.least), of_calls(sum.visits.most), of_calls(sum.visits.mean()),
                   of_calls(sum.visits.deviation()), of_calls(sum.visits.least_of), of_calls(sum.visits.most_of),
                   sum.time.least, sum.time.most, sum.time.mean(), sum.time.deviation(), sum.time.least_of,
                   sum.time.most_of});
    }
  }

  void add_test_run() {
    const RunFacts& facts = source_.facts();
    tables_
        .of("TestRun", {"ProgVersion_Runs", "Version", "Start", "NoPe", "Experiment", "Source", "Elapsed", "Wall",
                        "Mpi", "User", "NotOnCpu", "WaitedForCore", "Blocked", "Refrain", "Complete"})
        .add({version_, version_, date_of(facts.start_us), facts.processes, clean_text(facts.experiment), facts.source,
              elapsed_, all_[Wall], all_[Mpi], all_[User], if_known(all_, NotOnCpu),
              if_told(off_cpu_is_told_apart_, all_[Waited]), if_told(off_cpu_is_told_apart_, all_[Blocked]),
              if_known(all_, Refrain), std::int64_t{facts.complete}});
  }

  struct Place {
    std::int64_t path = 0, function = 0, region = 0, call = 0, depth = 0;  ///< ids; 0: none
    std::string path_name;
  };
  struct CallSum {
    OverProcesses time, visits;
    std::vector<bool> has;  ///< by process
  };

  Connection& connection_;
  const properties::Model& model_;
  RunSource& source_;
  const AddOptions& options_;
  ObjectTables tables_;
  const std::vector<RunNode>& nodes_;
  std::array<std::ptrdiff_t, looked_at> columns_{};  ///< index in the run's metrics; -1: the run lacks the metric
  std::int64_t program_ = 0, version_ = 0, run_ = 0;
  std::map<std::string, std::int64_t> functions_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::string>, std::int64_t> regions_;  ///< by function, parent, name
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> calls_;                ///< by calling region and callee
  std::map<std::tuple<std::int64_t, std::string, std::int64_t>, std::int64_t> paths_;  ///< by parent, name, kind
  std::vector<Place> places_;
  std::vector<bool> is_outermost_, is_outermost_call_;  ///< by node: no ancestor has the same region, or call
  std::vector<std::int64_t> metrics_, location_ids_, processes_;
  std::vector<NodeSum> sums_;
  std::map<std::int64_t, CallSum> call_sums_;
  Values all_{};
  double elapsed_ = 0;
  bool off_cpu_is_told_apart_ = true;
  std::vector<std::string> notes_;
};

}  // namespace

Added add_run(Connection& connection, const properties::Model& model, RunSource& source, const AddOptions& options) {
  return Loader(connection, model, source, options).load();
}

}  // namespace refrain::database
