// Measures the cost of an iteration: adds many iterations of the given size to one clusterer, and to the log and the
// sample store if the case has them.
#include "bench/clustering/cost.hpp"

#include <algorithm>
#include <ctime>
#include <random>
#include <stdexcept>

#include "clustering/clusterer.hpp"
#include "clustering/iteration_log.hpp"
#include "clustering/sample_store.hpp"
#include "tests/unit/clustering/clusterer_memory.hpp"

namespace refrain::bench {

using namespace clustering;

namespace {

/// CPU time of the thread, which other activity on the machine hardly affects.
double microseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

}  // namespace

Cost measure_cost(const CostCase& wanted) {
  const auto [touched, known_sampled, iterations, with_log, sample_bytes] = wanted;
  constexpr std::size_t metrics = 20;
  std::vector<Precision> overall(metrics);
  for (std::size_t m = 0; m < metrics; ++m)
    overall[m] = m < 9    ? Precision::Exact
                 : m < 12 ? Precision::Rounded
                 : m < 15 ? Precision::NotKept
                          : Precision::Rounded;
  const std::vector<Column> exact_columns{{4, true}, {1, true}, {5, false}, {6, true, 5}, {7, false}, {8, true, 7}};
  const std::vector<Column> sampled_columns{{9, false}, {12, true}};
  const std::vector<Shape> shapes{{true, 0, exact_columns}, {false, 0, sampled_columns}};
  Settings settings;
  settings.max_clusters = 64;
  settings.metrics = metrics;
  settings.shapes = shapes;
  Clusterer clusterer;
  IterationLog log;
  SampleStore store;
  if (!clusterer.create(settings) || !log.create(overall) || (sample_bytes && !store.create(shapes, sample_bytes)))
    throw std::runtime_error("no memory");

  // Half of the touched paths are exact, the others are sampled and drawn from a larger set. The iterations of a pool
  // are used repeatedly.
  std::mt19937_64 random(99);
  const unsigned known = known_sampled;
  const auto noisy = [&](std::int64_t v) {
    return v + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(v));
  };
  constexpr std::size_t pool_size = 1024;
  struct Item {
    std::vector<std::int64_t> overall, values;
    std::vector<TouchedPath> paths;
  };
  std::vector<Item> pool(pool_size);
  for (Item& it : pool) {
    const unsigned exact = touched / 2;
    it.overall.assign(metrics, 0);
    it.values.reserve(touched * 6);
    const std::int64_t steps = 20 + static_cast<std::int64_t>(random() % 10);
    for (unsigned p = 0; p < touched; ++p) {
      const auto* at = it.values.data() + it.values.size();
      if (p < exact) {
        const std::int64_t visits = p % 2 ? steps : 3, time = noisy(20000);
        for (const std::int64_t v : {visits, time, visits, visits * 4096, std::int64_t{0}, std::int64_t{0}})
          it.values.push_back(v);
        it.overall[1] += time;
        it.overall[4] += visits;
        it.overall[5] += visits;
        it.overall[6] += visits * 4096;
        it.paths.push_back({PathId{p}, 0, at});
      } else {
        it.values.push_back(1);
        it.values.push_back(noisy(7000000));
        ++it.overall[9];
        it.overall[12] += it.values.back();
        std::uint32_t path = 0;
        bool again = true;
        while (again) {
          path = exact + static_cast<std::uint32_t>(random() % known);
          again = std::ranges::any_of(it.paths,
                                      [&](const TouchedPath& t) { return static_cast<std::uint32_t>(t.path) == path; });
        }
        it.paths.push_back({PathId{path}, 1, at});
      }
    }
    it.overall[0] = noisy(50000000);
    it.overall[2] = noisy(30000000);
    it.overall[3] = noisy(45000000);
    for (std::size_t m = 15; m < metrics; ++m) it.overall[m] = noisy(1000000);
  }
  Cost out;
  const auto run = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const Item& it = pool[i * 7919 % pool_size];
      const Label label = clusterer.add(i, {it.overall, it.paths});
      if (label == no_label) throw std::runtime_error("an iteration was refused");
      clusterer.drained();
      if (with_log && log.append(i, label, it.overall) == IterationLog::Appended::BlockFull) {
        out.vector_bytes += log.bytes();
        log.start_block();
        (void)log.append(i, label, it.overall);
      }
      if (sample_bytes) store.append(it.paths);
    }
  };
  const std::size_t warm = std::min<std::size_t>(10000, iterations / 2);
  run(0, warm);
  out.bytes_at_start = ClustererMemory{clusterer}.mapped() + sample_bytes;
  double best = 1e300, all = 0;
  const std::size_t parts = 20, step = (iterations - warm) / parts;
  for (std::size_t part = 0; part < parts; ++part) {
    const double start = microseconds();
    run(warm + part * step, warm + (part + 1) * step);
    const double took = microseconds() - start;
    best = std::min(best, took / static_cast<double>(step));
    all += took;
  }
  out.microseconds = all / static_cast<double>(parts * step);
  out.best_microseconds = best;
  out.bytes_at_end = ClustererMemory{clusterer}.mapped() + sample_bytes;
  out.iterations = warm + parts * step;
  out.vector_bytes += log.bytes();
  return out;
}

}  // namespace refrain::bench
