// bench_clustering [--only NAME[,NAME]] [--k K[,K]] [--recorded DIRECTORY] [--save DIRECTORY] [--details] [--no-cost]
//                  [--no-table] [--no-clusters] [FILE...]
// Prints a table of reconstruction error, memory and time for the paper's algorithm, the one that Score-P ships, and
// Refrain's, over generated and recorded sequences. Recorded sequences are read from FILEs (sequence.hpp describes the
// format) and from the experiments and files of a DIRECTORY that record.py has filled.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>

#include "bench/clustering/cost.hpp"
#include "bench/clustering/evaluate.hpp"
#include "bench/clustering/recorded.hpp"

using namespace refrain;
using namespace refrain::bench;

namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> out;
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');) out.push_back(item);
  return out;
}

/// A variant to compare: an algorithm and the bytes available for samples of single iterations.
struct Variant {
  Algorithm algorithm;
  std::size_t sample_bytes = 0;
  auto operator<=>(const Variant&) const = default;
};
constexpr Variant paper{Algorithm::Paper}, shipped{Algorithm::ScorePShipped}, without_samples{Algorithm::Refrain},
    with_samples{Algorithm::Refrain, std::size_t{256} << 10}, plain{Algorithm::Plain},
    plain_with_samples{Algorithm::Plain, std::size_t{256} << 10};

/// The results for one sequence by variant and number of clusters. Keeps them, so that nothing is run twice.
class Runs {
 public:
  explicit Runs(const Sequence& sequence) : sequence_(sequence) {}
  const Result& get(Variant variant, std::uint32_t clusters) {
    auto [at, fresh] = done_[variant].try_emplace(clusters);
    if (fresh) at->second = evaluate(sequence_, variant.algorithm, clusters, variant.sample_bytes);
    return at->second;
  }
  /// Returns approximately the largest number of clusters that fit into `bytes`, 0 if not even one does. The bytes are
  /// about proportional to the number of clusters, so a few runs are enough.
  std::uint32_t fit(Variant variant, std::size_t bytes, std::uint32_t max_clusters) {
    std::uint32_t low = 0, high = max_clusters + 1;
    double low_bytes = 0, high_bytes = 0;
    if (get(variant, 1).bytes() > bytes) return 0;
    for (const auto& [clusters, result] : done_[variant]) {
      if (result.bytes() <= bytes && clusters <= max_clusters) {
        low = clusters;
        low_bytes = static_cast<double>(result.bytes());
      } else if (result.bytes() > bytes && clusters < high) {
        high = clusters;
        high_bytes = static_cast<double>(result.bytes());
        break;
      }
    }
    while (high - low > std::max<std::uint32_t>(1, low / 64)) {
      double guess = 2.0 * low;
      if (high_bytes > low_bytes)
        guess = low + (high - low) * (static_cast<double>(bytes) - low_bytes) / (high_bytes - low_bytes);
      // Keep the guess away from the edges, where a run would narrow the range by only one.
      const std::uint32_t step = std::max<std::uint32_t>(1, (high - low) / 16);
      const auto next =
          static_cast<std::uint32_t>(std::clamp<double>(guess, low + step, std::max(low + step, high - step)));
      const auto got = static_cast<double>(get(variant, next).bytes());
      if (got <= static_cast<double>(bytes)) {
        low = next;
        low_bytes = got;
      } else {
        high = next;
        high_bytes = got;
      }
    }
    return low;
  }

 private:
  const Sequence& sequence_;
  std::map<Variant, std::map<std::uint32_t, Result>> done_;
};

/// The paper's result with k clusters and Refrain's with the same bytes. If Refrain needs more bytes even with one
/// cluster (the vectors alone may), it is Refrain's result with k clusters and the paper's with the same bytes.
struct SameMemory {
  Result left, right;
  bool at_k_of_refrain = false;
  double ratio() const { return left.path_error > 0 ? right.path_error / left.path_error : 1; }
  double ratio_true() const { return left.path_error_true > 0 ? right.path_error_true / left.path_error_true : 1; }
};

SameMemory compare(Runs& runs, Variant own, std::uint32_t k, std::uint32_t iterations) {
  SameMemory out;
  out.left = runs.get(paper, k);
  const std::uint32_t fitted = runs.fit(own, out.left.bytes(), k * 2);
  if (fitted >= 1) {
    out.right = runs.get(own, fitted);
    return out;
  }
  out.at_k_of_refrain = true;
  out.right = runs.get(own, k);
  out.left =
      runs.get(paper, std::max(k, runs.fit(paper, out.right.bytes(), std::min(iterations, std::uint32_t{2048}))));
  return out;
}

struct Mean {
  double log_sum = 0;
  unsigned count = 0;
  void add(double ratio) {
    log_sum += std::log(std::max(ratio, 1e-9));
    ++count;
  }
  double value() const { return count ? std::exp(log_sum / count) : 0; }
};

/// The target figures, over all rows.
struct Summary {
  const char* name;
  Mean recorded, truth;
  double worst = 0;
  std::string worst_at;
  unsigned rows = 0, too_large = 0;
  void add(const SameMemory& row, const std::string& at) {
    if (row.left.path_error <= 1e-9) return;  // the paper's algorithm keeps every iteration, so there is no ratio
    ++rows;
    recorded.add(row.ratio());
    truth.add(row.ratio_true());
    if (row.left.path_error <= 0.01) return;
    too_large += row.ratio() > 1.02;
    if (row.ratio() <= worst) return;
    worst = row.ratio();
    worst_at = at;
  }
  void print() const {
    std::printf(
        "%s / paper at the same memory, %u rows: geometric mean %.3f against recorded values (%.3f against true "
        "times);\n  where paper's error is above 1 %%: worst %.3f (%s), above 1.02 in %u rows\n",
        name, rows, recorded.value(), truth.value(), worst, worst_at.c_str(), too_large);
  }
};

void print_details(const char* name, const Result& r) {
  std::printf("    %-8s k=%-5u made %-5u columns:", name, r.clusters, r.made);
  for (const double e : r.column_error) std::printf(" %.4f", e);
  std::printf("  user %.4f  profiles %zu search %zu vectors %zu samples %zu (1 in %llu)\n", r.user_true, r.profiles,
              r.search, r.vectors, r.samples, static_cast<unsigned long long>(r.sample_stride));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names = generator_names(), files;
  std::vector<std::uint32_t> ks{4, 16, 64, 256};
  std::string save_to, recorded_in;
  bool details = false, cost = true, table = true, clusters = true;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--only" && i + 1 < argc) {
      names = split(argv[++i]);
    } else if (arg == "--k" && i + 1 < argc) {
      ks.clear();
      for (const auto& k : split(argv[++i])) ks.push_back(static_cast<std::uint32_t>(std::stoul(k)));
    } else if (arg == "--save" && i + 1 < argc) {
      save_to = argv[++i];
    } else if (arg == "--recorded" && i + 1 < argc) {
      recorded_in = argv[++i];
    } else if (arg == "--details") {
      details = true;
    } else if (arg == "--no-cost") {
      cost = false;
    } else if (arg == "--no-table") {
      table = false;
    } else if (arg == "--no-clusters") {
      clusters = false;
    } else if (arg.starts_with("--")) {
      std::fprintf(stderr,
                   "usage: bench_clustering [--only NAMES] [--k KS] [--recorded DIRECTORY] [--save DIRECTORY] "
                   "[--details] [--no-cost] [--no-table] [--no-clusters] [FILE...]\n");
      return 2;
    } else {
      files.push_back(arg);
    }
  }
  if (!files.empty() && names.size() == generator_names().size()) names.clear();
  if (!table) names.clear();

  std::vector<Sequence> sequences;
  for (const auto& name : names) sequences.push_back(generate(name));
  for (const auto& file : files) {
    Sequence s;
    if (!load(file, s)) {
      std::fprintf(stderr, "bench_clustering: cannot read %s\n", file.c_str());
      return 1;
    }
    sequences.push_back(std::move(s));
  }
  if (!recorded_in.empty()) {
    try {
      for (Sequence& s : all_recorded(recorded_in)) sequences.push_back(std::move(s));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "bench_clustering: %s\n", error.what());
      return 1;
    }
  }
  if (!save_to.empty()) {
    for (const Sequence& s : sequences)
      if (!save(s, save_to + "/" + s.name + ".seq")) return 1;
    return 0;
  }

  Summary totals[2] = {{"refrain", {}, {}, 0, {}, 0, 0}, {"refrain with samples", {}, {}, 0, {}, 0, 0}};
  Mean plain_ratio, plain_ratio_with_samples;  // errors relative to Refrain's with as many clusters
  double count_error = 0, exact_error = 0, other_error = 0;
  std::string count_at;
  if (!sequences.empty() && clusters)
    std::printf(
        "Errors in percent. path: relative L1 error over iterations and call paths, mean over the metrics, compared "
        "with the\n"
        "recorded values; true: the same, compared with the true time of user code; counts: largest error of visits, "
        "messages, bytes;\n"
        "all: mean error of the overall metrics in the distance, for refrain the largest. chance: path if the true "
        "time "
        "of every call\n"
        "path in every iteration were known, but not the positions of the samples. samples: refrain with %zu KiB for "
        "the samples of\n"
        "single iterations. same memory: clusters of paper and of refrain, path of both, ratio. Refrain has as many "
        "clusters as fit\n"
        "into the bytes of paper at k (including vectors, map and samples). Rows marked *: paper has as many clusters "
        "as fit into the\n"
        "bytes of refrain at k, because refrain's values of single iterations alone exceed the bytes of paper at "
        "k.\n\n",
        with_samples.sample_bytes >> 10);
  for (const Sequence& sequence : sequences) {
    if (!clusters) break;
    Runs runs(sequence);
    std::size_t touched = 0;
    for (const auto& it : sequence.iterations) touched += it.path.size();
    const auto iterations = static_cast<std::uint32_t>(sequence.iterations.size());
    std::printf("%-10s %u iterations, %.0f paths touched on average\n", sequence.name.c_str(), iterations,
                static_cast<double>(touched) / iterations);
    std::printf("  %4s | %-27s | %-27s | %-33s | %-18s | %6s | %-38s | %-38s | %s\n", "k",
                "paper  path  true counts all", "score-p path true counts all", "refrain path true counts all  B/it",
                "samples path  B/it", "chance", "same memory, refrain", "same memory, refrain with samples",
                "us an iteration");
    for (const std::uint32_t k : ks) {
      const Result &p = runs.get(paper, k), &s = runs.get(shipped, k), &r = runs.get(without_samples, k),
                   &w = runs.get(with_samples, k);
      const SameMemory rows[2] = {compare(runs, without_samples, k, iterations),
                                  compare(runs, with_samples, k, iterations)};
      for (unsigned i = 0; i < 2; ++i) totals[i].add(rows[i], sequence.name + " k=" + std::to_string(k));
      if (r.path_error > 1e-9) plain_ratio.add(runs.get(plain, k).path_error / r.path_error);
      if (w.path_error > 1e-9) plain_ratio_with_samples.add(runs.get(plain_with_samples, k).path_error / w.path_error);
      exact_error = std::max(exact_error, r.overall_exact);
      other_error = std::max(other_error, r.overall_other);
      if (k == 64 && r.classes <= 64 && r.count_error > count_error) {
        count_error = r.count_error;
        count_at = sequence.name;
      }
      const auto percent = [](double e) { return 100 * e; };
      const auto each = [&](std::size_t bytes) { return static_cast<double>(bytes) / iterations; };
      std::printf(
          "  %4u | %6.2f %6.2f %6.2f %6.2f | %6.2f %6.2f %6.2f %6.2f | %6.2f %6.2f %6.2f %.3f %5.1f | %6.2f %6.1f | "
          "%6.2f",
          k, percent(p.path_error), percent(p.path_error_true), percent(p.count_error), percent(p.overall_mean),
          percent(s.path_error), percent(s.path_error_true), percent(s.count_error), percent(s.overall_mean),
          percent(r.path_error), percent(r.path_error_true), percent(r.count_error),
          percent(std::max(r.overall_exact, r.overall_other)), each(r.vectors), percent(w.path_error), each(w.samples),
          percent(r.oracle));
      for (const SameMemory& row : rows)
        std::printf(" | %4u:%-4u%s %6.2f %6.2f %.3f (%.3f)", row.left.clusters, row.right.clusters,
                    row.at_k_of_refrain ? "*" : " ", percent(row.left.path_error), percent(row.right.path_error),
                    row.ratio(), row.ratio_true());
      std::printf(" | %.2f %.2f %.2f %.2f\n", p.microseconds, s.microseconds, r.microseconds, w.microseconds);
      if (details)
        for (const SameMemory& row : rows) {
          print_details("paper", row.left);
          print_details("refrain", row.right);
        }
      std::fflush(stdout);
    }
  }
  if (totals[0].rows) {
    std::printf("\n");
    for (const Summary& total : totals) total.print();
    std::printf(
        "clusters by Ward's cost of the overall metrics alone / refrain, as many clusters: geometric mean %.3f, with "
        "samples %.3f\n",
        plain_ratio.value(), plain_ratio_with_samples.value());
    std::printf(
        "overall metrics, largest error: %.4f %% of those kept exactly, %.4f %% of others\n"
        "counts at k = 64 where classes are <= 64, largest error: %.2f %% (%s)\n",
        100 * exact_error, 100 * other_error, 100 * count_error, count_at.c_str());
  }
  if (!sequences.empty()) {
    std::printf(
        "\nUser time by call path and iteration, as the report divides it: error compared with the true times and rows "
        "within 3 errors of them,\nin percent, and number of pools, with 64 clusters and the samples of all, one of 2 "
        "and one of 8 iterations.\n");
    for (const Sequence& sequence : sequences) {
      if (sequence.iterations[0].true_user.empty()) continue;
      std::printf("  %-10s", sequence.name.c_str());
      for (const unsigned level : {0U, 1U, 3U}) {
        const SharesResult r = evaluate_shares(sequence, 64, level);
        std::printf(" | 1 of %u: %6.2f %6.2f %4zu", 1U << level, 100 * r.wrong, 100 * r.within, r.pools);
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
  if (cost) {
    // Memory is measured in cases in which all call paths occur soon, time in cases with more sampled call paths.
    const std::size_t samples = with_samples.sample_bytes;
    for (const CostCase& c :
         {CostCase{4, 3, 1000000, false}, CostCase{4, 3, 1000000}, CostCase{30, 100, 1000000},
          CostCase{30, 100, 1000000, true, samples}, CostCase{60, 470, 1000000}, CostCase{500, 250, 1000000},
          CostCase{500, 1500, 50000}, CostCase{500, 1500, 50000, true, samples}}) {
      const Cost cost = measure_cost(c);
      std::printf(
          "k = 64, 20 metrics, %3u of %4u call paths touched%s: %5.2f us of CPU time an iteration (fastest twentieth "
          "%5.2f), mapped after 10^4 iterations %4zu KiB, after %zu %4zu KiB, vectors %.1f B each\n",
          c.touched, c.touched / 2 + c.sampled,
          !c.log           ? ", without the log"
          : c.sample_bytes ? ", with samples"
                           : "",
          cost.microseconds, cost.best_microseconds, cost.bytes_at_start / 1024, cost.iterations,
          cost.bytes_at_end / 1024, static_cast<double>(cost.vector_bytes) / static_cast<double>(cost.iterations));
      std::fflush(stdout);
    }
  }
  return 0;
}
