#include "offline/patterns/threads.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "offline/analysis/named_paths.hpp"
#include "offline/run/leaf_reader.hpp"

namespace refrain::patterns {

namespace {

/// Whether the trace is an archive that shows when threads work: neither samples nor MPI calls alone show it.
bool tells_of_threads(const trace::Trace& trace) {
  return trace.archive() && !trace.archive()->has_samples() &&
         std::ranges::any_of(trace.regions(), [](const trace::RegionOfTrace& of) {
           return of.paradigm != trace::Paradigm::Mpi && of.paradigm != trace::Paradigm::Unknown;
         });
}

}  // namespace

Search::Threads::Threads(Search& search)
    : search_(search),
      process_of_(search.trace_.locations().size(), none),
      states_(search.trace_.locations().size(), State::Absent) {
  const auto& locations = search.trace_.locations();
  if (!tells_of_threads(search.trace_)) return;
  std::map<std::pair<std::int32_t, std::string>, std::vector<std::uint32_t>> threads;
  for (std::uint32_t location = 0; location < locations.size(); ++location)
    if (locations[location].kind == trace::LocationKind::Thread)
      threads[{locations[location].rank, locations[location].process}].push_back(location);
  for (const auto& [name, of] : threads) {
    if (of.size() < 2) continue;
    for (const std::uint32_t location : of) process_of_[location] = static_cast<std::uint32_t>(processes_.size());
    processes_.push_back({.first = *std::ranges::min_element(
                              of, {}, [&](std::uint32_t location) { return locations[location].thread; })});
  }
}

void Search::Threads::before(const trace::Event& event) {
  const std::uint32_t at = process_of_[event.location];
  if (at == none) return;
  Process& process = processes_[at];
  // Another thread that enters further functions still works.
  const bool is_another = event.location != process.first;
  if (is_another && states_[event.location] == State::Works && event.type == trace::Type::Enter) return;
  const std::vector<Frame>& stack = search_.here_[process.first].stack;
  const std::int64_t begin_ns = std::max(process.since_ns, search_.limits_.from_ns),
                     end_ns = std::min(event.time_ns, search_.limits_.to_ns);
  if (!process.idle.empty() && !stack.empty() && begin_ns < end_ns) {
    Call piece = stack.back().call;
    piece.enter_ns = begin_ns;
    piece.leave_ns = end_ns;
    piece.inner_ns = 0;
    search_.publish(IdleThreads{piece, process.idle, process.idle.size() == process.others});
  }
  process.since_ns = event.time_ns;
}

void Search::Threads::after(const trace::Event& event) {
  const std::uint32_t at = process_of_[event.location];
  if (at == none || event.location == processes_[at].first) return;
  using trace::Type;
  State& state = states_[event.location];
  if (event.type == Type::ThreadEnd) return change(processes_[at], event.location, State::Absent);
  if (event.type == Type::Gap) return change(processes_[at], event.location, State::Unknown);
  // After a gap the thread may still be in functions that it entered before.
  const bool is_outermost = event.type == Type::Enter && search_.trace_.parent_of(event.path) == trace::no_path;
  if (state == State::Unknown && !is_outermost) return;
  change(processes_[at], event.location, search_.here_[event.location].stack.empty() ? State::Idle : State::Works);
}

void Search::Threads::finish() {
  const auto extend = [&](std::uint32_t location, std::int64_t to_ns) {
    std::int64_t& last_ns = search_.here_[location].last_ns;
    last_ns = std::max(last_ns, to_ns);
  };
  for (const Process& process : processes_) {
    // The run was killed: the first thread is in its functions until the end.
    if (!search_.here_[process.first].stack.empty()) extend(process.first, process.since_ns);
    for (const std::uint32_t location : process.idle) extend(location, search_.here_[process.first].last_ns);
  }
}

void Search::Threads::change(Process& process, std::uint32_t location, State to) {
  State& state = states_[location];
  if (state == to) return;
  if (state == State::Absent) ++process.others;
  if (to == State::Absent) --process.others;
  if (state == State::Idle) std::erase(process.idle, location);
  if (to == State::Idle) process.idle.push_back(location);
  state = to;
}

namespace {

constexpr const char* idle_workers_name = "idle_workers";
constexpr const char* serial_sections_name = "serial_sections";

class IdleWorkers final : public Pattern {
 public:
  IdleWorkers() : Pattern({idle_workers_name, "time", "Threads have nothing to do"}) {}
  void subscribe(Search& search) override {
    search.subscribe<IdleThreads>([this, &search](const IdleThreads& of) {
      Call piece = of.first;
      for (const std::uint32_t location : of.idle) {
        piece.location = location;
        piece.span = search.findings().span(location);
        search.add(quantity(), piece, piece.time_ns());
      }
    });
  }
};

class SerialSections final : public Pattern {
 public:
  SerialSections() : Pattern({serial_sections_name, "time", "The first thread computes alone"}) {}
  void subscribe(Search& search) override {
    search.subscribe<IdleThreads>([this, &search](const IdleThreads& of) {
      if (of.are_all && of.first.call_class == trace::CallClass::NotMpi)
        search.add(quantity(), of.first, of.first.time_ns());
    });
  }
};

/// Whether the function starts parallel regions in GCC or LLVM, or is the body of one.
bool is_of_parallel_region(std::string_view name) {
  return name.starts_with("GOMP_parallel") || name.starts_with("GOMP_teams") || name.starts_with("__kmpc_fork") ||
         analysis::is_parallel_body(name);
}

struct PlaceOfNode {
  bool is_parallel = false, is_of_runtime = false;
};

/// `is_of_runtime` is about the last function that does more than yield the processor.
PlaceOfNode place_of(const std::vector<std::string>& names) {
  const auto is_yield = [](std::string_view name) {
    return name == "sched_yield" || name == "__sched_yield" || name == "syscall";
  };
  const auto last = std::find_if_not(names.rbegin(), names.rend(), is_yield);
  return {std::ranges::any_of(names, is_of_parallel_region),
          last != names.rend() && analysis::is_openmp_runtime(*last)};
}

/// A pattern from the profile.
class OfProfile {
 public:
  OfProfile(std::vector<PatternResult>& results, std::string_view name)
      : result_(*std::ranges::find(results, name, [](const PatternResult& of) { return of.about.name; })) {}

  void add(std::uint32_t node, std::uint32_t location, double ns, double error_ns) {
    if (ns <= 0) return;
    add(nodes_[node], ns, error_ns);
    cells_[{node, location}] += ns;
  }
  /// Adds the error of all time at a location: the shares of its samples err together.
  void add_error(std::uint32_t location, double error_ns) {
    errors_[location] = std::hypot(errors_[location], error_ns);
  }

  void finish(double confidence) {
    result_ = {result_.about};
    result_.confidence = confidence;
    std::map<std::uint32_t, Severity> locations;
    for (const auto& [key, ns] : cells_) {
      result_.cells.push_back({key.first, key.second, ns});
      locations[key.second].ns += ns;
      result_.all.ns += ns;
    }
    for (auto& [location, severity] : locations) {
      severity.error_ns = errors_[location];
      result_.all.error_ns = std::hypot(result_.all.error_ns, severity.error_ns);
      result_.by_location.push_back({location, severity});
    }
    for (const auto& [node, severity] : nodes_) result_.by_node.push_back({node, severity});
    const auto size = [](const auto& of) { return of.severity.ns; };
    std::ranges::stable_sort(result_.by_location, std::greater<>{}, size);
    std::ranges::stable_sort(result_.by_node, std::greater<>{}, size);
  }

 private:
  static void add(Severity& to, double ns, double error_ns) {
    to.ns += ns;
    to.error_ns = std::hypot(to.error_ns, error_ns);
  }
  PatternResult& result_;
  std::map<std::uint32_t, Severity> nodes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> cells_;
  std::map<std::uint32_t, double> errors_;
};

}  // namespace

Patterns thread_patterns() {
  Patterns all;
  all.push_back(std::make_unique<IdleWorkers>());
  all.push_back(std::make_unique<SerialSections>());
  return all;
}

void finish_threads(const trace::Trace& trace, const Naming& naming, bool is_of_run,
                    const std::function<bool(std::uint32_t node)>& is_wanted, std::vector<PatternResult>& results) {
  if (tells_of_threads(trace)) return;
  OfProfile idle(results, idle_workers_name), serial(results, serial_sections_name);
  std::map<std::int32_t, std::vector<std::uint32_t>> processes;
  for (std::uint32_t location = 0; location < trace.locations().size(); ++location)
    processes[trace.locations()[location].rank].push_back(location);
  if (trace.archive() || !is_of_run) {
    const bool are_there = std::ranges::any_of(processes, [](const auto& of) { return of.second.size() > 1; });
    idle.finish(are_there ? 0 : 1);
    serial.finish(are_there ? 0 : 1);
    return;
  }
  run::LeafReader profile(trace.experiment());
  std::map<std::uint32_t, PlaceOfNode> places;
  std::size_t with_threads = 0, read = 0, with_regions = 0;
  for (const auto& [number, locations] : processes) {
    if (locations.size() < 2) continue;
    ++with_threads;
    bool is_read = false, has_regions = false;
    for (const std::uint32_t location : locations) {
      const std::int32_t thread = trace.locations()[location].thread;
      const run::Leaf* leaf = profile.of(number, thread);
      if (!leaf) continue;
      is_read = true;
      const bool is_first = thread == 0;
      OfProfile& to = is_first ? serial : idle;
      const std::uint32_t idle_node =
          run::tells_waiting(leaf->rank, leaf->location) ? naming.blocked : naming.not_on_cpu;
      if (!is_first && (!is_wanted || is_wanted(idle_node)))
        idle.add(idle_node, location,
                 static_cast<double>(leaf->time(run::not_on_cpu) - leaf->time(run::waited_for_core)), 0);
      const run::Stratum divided = leaf->stratum();
      double weight = 0;
      for (const run::Row& row : leaf->rows) {
        if (!row.is_sampled() || row.ns <= 0 || divided.weight <= 0) continue;
        const std::uint32_t node = naming.node_of(row.path);
        const auto [known, is_new] = places.try_emplace(node);
        if (is_new) known->second = place_of(naming.names_of(node));
        has_regions |= known->second.is_parallel;
        // In the OpenMP runtime a thread waits: for others, or for work.
        const bool counts = !known->second.is_parallel && known->second.is_of_runtime == !is_first;
        if (!counts) continue;
        if (is_wanted && !is_wanted(node)) continue;
        const auto own = static_cast<double>(row.value(format::MetricId::Weight));
        weight += own;
        to.add(node, location, static_cast<double>(row.ns), divided.error_of(own));
      }
      if (weight > 0) to.add_error(location, divided.error_of(weight));
    }
    read += is_read;
    with_regions += has_regions;
  }
  const auto share = [&](std::size_t of) {
    return with_threads == 0 ? 1 : static_cast<double>(of) / static_cast<double>(with_threads);
  };
  idle.finish(share(read));
  serial.finish(share(with_regions));
}

}  // namespace refrain::patterns
