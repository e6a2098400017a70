// bench_clustering [--only NAME[,NAME]] [--k K[,K]] [--save DIRECTORY] [--details] [--no-cost] [FILE...]
// One table: error of what is reconstructed, memory and time, for the paper's algorithm, the one that Score-P ships and
// Refrain's, over generated sequences and those recorded in FILEs (bench/clustering/sequence.hpp has the format).
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>

#include "bench/clustering/cost.hpp"
#include "bench/clustering/evaluate.hpp"

using namespace refrain;
using namespace refrain::bench;
using clustering::Algorithm;

namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> out;
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');) out.push_back(item);
  return out;
}

/// Results of one sequence by algorithm and clusters, so that no run is done twice.
class Runs {
 public:
  explicit Runs(const Sequence& sequence) : sequence_(sequence) {}
  const Result& get(Algorithm algorithm, std::uint32_t clusters) {
    auto [at, fresh] = done_.try_emplace({algorithm, clusters});
    if (fresh) at->second = evaluate(sequence_, algorithm, clusters);
    return at->second;
  }
  /// The largest number of clusters whose bytes are at most `bytes`; 0: not even one.
  std::uint32_t fit(Algorithm algorithm, std::size_t bytes, std::uint32_t most) {
    std::uint32_t low = 0, high = most + 1;
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (get(algorithm, middle).bytes() <= bytes) low = middle;
      else high = middle;
      if (high - low <= std::max<std::uint32_t>(1, low / 64)) break;
    }
    return low;
  }

 private:
  const Sequence& sequence_;
  std::map<std::pair<Algorithm, std::uint32_t>, Result> done_;
};

struct Mean {
  double log_sum = 0;
  unsigned count = 0;
  void add(double ratio) {
    log_sum += std::log(std::max(ratio, 1e-9));
    ++count;
  }
  double value() const { return count ? std::exp(log_sum / count) : 0; }
};

void print_details(const char* name, const Result& r) {
  std::printf("    %-8s k=%-5u made %-5u columns:", name, r.clusters, r.made);
  for (const double e : r.column_error) std::printf(" %.4f", e);
  std::printf("  user %.4f  profiles %zu search %zu vectors %zu\n", r.user_true, r.profiles, r.search, r.vectors);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names = generator_names(), files;
  std::vector<std::uint32_t> ks{4, 16, 64, 256};
  std::string save_to;
  bool details = false, cost = true, table = true;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--only" && i + 1 < argc) {
      names = split(argv[++i]);
    } else if (arg == "--k" && i + 1 < argc) {
      ks.clear();
      for (const auto& k : split(argv[++i])) ks.push_back(static_cast<std::uint32_t>(std::stoul(k)));
    } else if (arg == "--save" && i + 1 < argc) {
      save_to = argv[++i];
    } else if (arg == "--details") {
      details = true;
    } else if (arg == "--no-cost") {
      cost = false;
    } else if (arg == "--no-table") {
      table = false;
    } else if (arg.starts_with("--")) {
      std::fprintf(stderr,
                   "usage: bench_clustering [--only NAMES] [--k KS] [--save DIRECTORY] [--details] [--no-cost] "
                   "[--no-table] [FILE...]\n");
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
  if (!save_to.empty()) {
    for (const Sequence& s : sequences)
      if (!save(s, save_to + "/" + s.name + ".seq")) return 1;
    return 0;
  }

  Mean recorded, truth;
  double worst = 0;
  std::string worst_at;
  if (!sequences.empty())
    std::printf(
        "Errors in percent. path: relative L1 over iteration x call path, mean over the metrics, against the recorded "
        "values;\n"
        "true: the same with the user code's true time instead of its samples; counts: the worst of visits, messages, "
        "bytes;\n"
        "all: overall metrics. same: refrain's clusters fill the bytes of paper at k (vectors and map charged), or, "
        "marked *,\n"
        "paper gets the clusters that fill the bytes of refrain at k, because the vectors alone exceed paper's bytes "
        "at k.\n\n");
  for (const Sequence& sequence : sequences) {
    Runs runs(sequence);
    std::size_t touched = 0;
    for (const auto& it : sequence.iterations) touched += it.path.size();
    std::printf("%-10s %zu iterations, %.0f paths touched on average\n", sequence.name.c_str(),
                sequence.iterations.size(),
                static_cast<double>(touched) / static_cast<double>(sequence.iterations.size()));
    std::printf("  %4s | %-27s | %-27s | %-34s | %s\n", "k", "paper  path  true counts all",
                "score-p path true counts  all", "refrain path true counts  all  B/it",
                "same memory: k paper:refrain, path true, ratio ratio(true)");
    for (const std::uint32_t k : ks) {
      const Result paper = runs.get(Algorithm::Paper, k), shipped = runs.get(Algorithm::ScorePShipped, k),
                   own = runs.get(Algorithm::Refrain, k);
      const auto most = static_cast<std::uint32_t>(sequence.iterations.size());
      std::uint32_t fitted = runs.fit(Algorithm::Refrain, paper.bytes(), k * 2);
      Result left = paper, right;
      // Classes set a floor: fewer clusters than classes are not possible.
      if (fitted >= 1) {
        right = runs.get(Algorithm::Refrain, fitted);
      } else {
        right = own;
        left = runs.get(Algorithm::Paper, std::max(k, runs.fit(Algorithm::Paper, own.bytes(), std::min(most, 2048U))));
      }
      const double ratio = left.path_error > 0 ? right.path_error / left.path_error : 1;
      const double ratio_true = left.path_error_true > 0 ? right.path_error_true / left.path_error_true : 1;
      if (left.path_error > 1e-9) {
        recorded.add(ratio);
        truth.add(ratio_true);
        if (left.path_error > 0.01 && ratio > worst) {
          worst = ratio;
          worst_at = sequence.name + " k=" + std::to_string(k);
        }
      }
      const auto percent = [](double e) { return 100 * e; };
      std::printf(
          "  %4u | %6.2f %6.2f %6.2f %6.2f | %6.2f %6.2f %6.2f %6.2f | %6.2f %6.2f %6.2f %.3f %5.1f | %4u:%-4u%s %6.2f "
          "%6.2f  %.3f %.3f | KiB %5.0f %5.0f | us %.2f %.2f %.2f\n",
          k, percent(paper.path_error), percent(paper.path_error_true), percent(paper.count_error),
          percent(paper.overall_mean), percent(shipped.path_error), percent(shipped.path_error_true),
          percent(shipped.count_error), percent(shipped.overall_mean), percent(own.path_error),
          percent(own.path_error_true), percent(own.count_error),
          percent(std::max(own.overall_exact, own.overall_other)),
          static_cast<double>(own.vectors) / static_cast<double>(sequence.iterations.size()), left.clusters,
          right.clusters, fitted ? "" : "*", percent(right.path_error), percent(right.path_error_true), ratio,
          ratio_true, static_cast<double>(left.bytes()) / 1024, static_cast<double>(right.bytes()) / 1024,
          paper.microseconds, shipped.microseconds, own.microseconds);
      if (details) {
        print_details("paper", left);
        print_details("refrain", right);
        print_details("same k", own);
      }
      std::fflush(stdout);
    }
  }
  if (recorded.count) {
    std::printf(
        "\nrefrain / paper at the same memory: geometric mean %.3f against recorded values, %.3f against true times\n",
        recorded.value(), truth.value());
    std::printf("worst where paper's error is above 1 %%: %.3f (%s)\n", worst, worst_at.c_str());
  }
  if (cost) {
    // Memory is measured where all call paths that there are have been seen early; time where sampled ones vary more.
    struct Case {
      unsigned touched, sampled;
      std::size_t iterations;
    };
    for (const auto& [touched, sampled, iterations] :
         {Case{30, 100, 1000000}, Case{500, 1500, 50000}, Case{60, 470, 1000000}}) {
      const Cost c = measure_cost(Algorithm::Refrain, touched, iterations, sampled);
      std::printf(
          "k = 64, 20 metrics, %u of %u call paths touched: %.2f us an iteration (fastest twentieth %.2f), mapped "
          "after 10^4 "
          "iterations %zu KiB, after %zu iterations %zu KiB, vectors %.1f B each\n",
          touched, touched / 2 + sampled, c.microseconds, c.best_microseconds, c.early_bytes / 1024, c.iterations,
          c.late_bytes / 1024, static_cast<double>(c.vector_bytes) / static_cast<double>(c.iterations));
    }
  }
  return 0;
}
