/// The profile format of Callgrind ("Callgrind Format Specification" in Valgrind's manual), which KCachegrind reads. It
/// has functions and their callees, but no call paths: the costs of a function in several call paths are added up. Each
/// name is written once; then its number stands for it.

#include <cmath>
#include <fmt/format.h>
#include <map>

#include "offline/experiment/clean_text.hpp"
#include "offline/export/formats.hpp"

namespace refrain::exports {
namespace {

class CallgrindWriter {
 public:
  CallgrindWriter(Run& run, OutputFile& out) : run_(run), out_(out) {}

  void write() {
    const std::size_t chosen[] = {run_.metric(wall_metric).value(), run_.metric(mpi_metric).value(),
                                  run_.metric(visits_metric).value()};
    const std::vector<double> exclusive = sums_of(run_, 0, run_.locations().size(), chosen);
    std::vector<double> inclusive = exclusive;
    add_below(run_, inclusive, columns);
    double wall_s = 0, mpi_s = 0;
    for (std::size_t i = 0; i < exclusive.size(); i += columns) {
      wall_s += exclusive[i];
      mpi_s += exclusive[i + 1];
    }
    out_.write(fmt::format(
        "# callgrind format\nversion: 1\ncreator: {}, schema 1\ncmd: {}\npositions: line\nevents: wall_ns mpi_ns\n"
        "event: wall_ns : wall time of all ranks, nanoseconds\nevent: mpi_ns : time in MPI, nanoseconds\n"
        "summary: {} {}\n",
        run_.facts().creator, experiment::clean_text(run_.facts().program), ns(wall_s), ns(mpi_s)));
    for (std::uint32_t node = 0; node < run_.nodes().size(); ++node) {
      const RunNode& of = run_.nodes()[node];
      out_.write(fmt::format("\nfn={}\n0 {}\n", name(of.name), costs(exclusive, node)));
      for (std::uint32_t child = node + 1; child < of.end; child = run_.nodes()[child].end) {
        // Calls of sampled functions are not counted.
        const double calls = std::max(exclusive[child * columns + 2], 1.0);
        out_.write(fmt::format("cfn={}\ncalls={} 0\n0 {}\n", name(run_.nodes()[child].name), std::llround(calls),
                               costs(inclusive, child)));
      }
    }
  }

 private:
  static constexpr std::size_t columns = 3;
  static long long ns(double seconds) { return std::llround(std::max(seconds, 0.0) * 1e9); }
  static std::string costs(std::span<const double> values, std::uint32_t node) {
    return fmt::format("{} {}", ns(values[node * columns]), ns(values[node * columns + 1]));
  }
  std::string name(const std::string& of) {
    const auto [at, is_new] = numbers_.try_emplace(of, numbers_.size() + 1);
    return is_new ? fmt::format("({}) {}", at->second, experiment::clean_text(of)) : fmt::format("({})", at->second);
  }

  Run& run_;
  OutputFile& out_;
  std::map<std::string_view, std::size_t> numbers_;
};

}  // namespace

void write_callgrind(Run& run, OutputFile& out) { CallgrindWriter(run, out).write(); }

}  // namespace refrain::exports
