// Compares one search for all patterns with a search for each pattern, as tools worked before patterns shared compound
// events: each of these searches tracks calls and matches messages or collective operations by itself. The searches run
// in turn; compares the CPU time of this thread.
// Usage: bench_pattern_search EXPERIMENT|ARCHIVE/traces.otf2 [RUNS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

#include "offline/patterns/pattern.hpp"

namespace {

using namespace refrain;
using patterns::Pattern;
using patterns::Patterns;
using patterns::Search;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

struct Run {
  std::uint64_t events = 0;
  double seconds = 0;
  std::int64_t waiting_ns = 0;  // of all patterns; both ways must give the same
};

std::int64_t sum_of(const Search& search, patterns::Quantity from) {
  std::int64_t sum = 0;
  for (const auto& of : search.findings().locations())
    for (const auto& cell : of.cells)
      for (const auto& value : cell.values)
        if (value.quantity >= from) sum += value.ns;
  return sum;
}

/// Whether `pattern` subscribes to events that `general` publishes.
bool needs(const Pattern& pattern, const Pattern& general) {
  const std::string &name = pattern.about().name, &other = general.about().name;
  if (name == "overloaded_master") return other == "late_sender" || other == "late_receiver";
  const bool is_special = name == "slow_slaves" || name == "late_sender_wrong_order" || name.starts_with("wrong_order");
  return is_special && other == "late_sender";
}

/// A pattern with a search of its own. Findings of the patterns that it needs are not counted.
struct Alone {
  Alone(const trace::Trace& trace, std::size_t number) : search(trace, false), all(patterns::waiting_patterns({})) {
    for (const auto& of : all) {
      const bool is_meant = of == all[number];
      if (!is_meant && !needs(*all[number], *of)) continue;
      of->set_quantity(is_meant ? first : patterns::first_of_patterns);
      of->subscribe(search);
    }
  }
  static constexpr patterns::Quantity first = patterns::first_of_patterns + 1;
  Search search;
  Patterns all;
};

Run together(const trace::Trace& trace) {
  const double begin = cpu_seconds();
  Run run;
  Search search(trace, false);
  const Patterns all = patterns::waiting_patterns({});
  patterns::Quantity next = patterns::first_of_patterns;
  for (const auto& of : all) {
    of->set_quantity(next++);
    of->subscribe(search);
  }
  auto reader = trace.read();
  while (const trace::Event* event = reader.next()) {
    search.take(*event);
    ++run.events;
  }
  search.finish();
  run.seconds = cpu_seconds() - begin;
  run.waiting_ns = sum_of(search, patterns::first_of_patterns);
  return run;
}

/// Searches for each pattern by itself. With `passes`, also reads the events once for each pattern.
Run apart(const trace::Trace& trace, bool passes) {
  const double begin = cpu_seconds();
  Run run;
  const std::size_t count = patterns::waiting_patterns({}).size();
  std::vector<std::unique_ptr<Alone>> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(std::make_unique<Alone>(trace, i));
    if (!passes && i + 1 < count) continue;
    auto reader = trace.read();
    while (const trace::Event* event = reader.next()) {
      for (const auto& of : all) of->search.take(*event);
      ++run.events;
    }
    for (const auto& of : all) {
      of->search.finish();
      run.waiting_ns += sum_of(of->search, Alone::first);
    }
    all.clear();
  }
  run.seconds = cpu_seconds() - begin;
  return run;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: bench_pattern_search EXPERIMENT|ARCHIVE/traces.otf2 [RUNS]\n", stderr);
    return 1;
  }
  const auto anchor = trace::find_otf2_anchor(argv[1]);
  const auto trace =
      anchor ? trace::Trace::open_archive(*anchor) : trace::Trace::open(experiment::Experiment::open(argv[1]));
  if (!trace) return 1;
  const int runs = argc > 2 ? std::atoi(argv[2]) : 5;
  std::vector<double> one, many, passes;
  Run of;
  for (int i = 0; i < runs; ++i) {
    of = together(*trace);
    one.push_back(of.seconds);
    const Run each = apart(*trace, false);
    many.push_back(each.seconds);
    passes.push_back(apart(*trace, true).seconds);
    if (each.waiting_ns != of.waiting_ns) {
      std::fprintf(stderr, "they find %ld and %ld ns\n", static_cast<long>(of.waiting_ns),
                   static_cast<long>(each.waiting_ns));
      return 1;
    }
  }
  const double shared = median(one);
  std::printf(
      "%.1f million events: together %.1f ns an event; each pattern for itself %.2f times that, and %.2f times when "
      "each reads them\n",
      static_cast<double>(of.events) / 1e6, shared * 1e9 / static_cast<double>(of.events), median(many) / shared,
      median(passes) / shared);
  return 0;
}
