// Measures the cost of writing and of reading the profile of a job. All ranks are threads of this process, so that
// messages cost next to nothing and the work itself is measured. bytes_per_rank is the size of the file divided by the
// number of ranks.

#include <benchmark/benchmark.h>
#include <filesystem>

#include "offline/experiment/experiment.hpp"
#include "record/rank_encoder.hpp"
#include "record/writer.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/thread_peers.hpp"
#include "tests/unit/record/whole_experiment.hpp"

namespace {

using namespace refrain;
using namespace refrain::testing;

/// Arguments: number of ranks, number of call paths with values per rank.
void write_profile(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0)), paths = static_cast<int>(state.range(1));
  std::deque<SampleRank> samples;
  for (int rank = 0; rank < ranks; ++rank) {
    samples.push_back(sample_rank(rank, ranks, 1, paths));
    samples.back().record();
  }
  std::uintmax_t bytes = 0;
  for (auto _ : state) {
    ScratchDirectory directory;
    ThreadJob job(ranks);
    job.run([&](int rank) {
      auto& sample = samples[static_cast<std::size_t>(rank)];
      (void)record::write_profile(sample.record(), job.peers(rank), directory.c_str(), seconds_from_now(60));
    });
    state.PauseTiming();
    bytes = std::filesystem::file_size(directory.path + "/profile.refrain");
    state.ResumeTiming();
  }
  state.counters["bytes_per_rank"] = static_cast<double>(bytes) / ranks;
}
BENCHMARK(write_profile)
    ->ArgNames({"ranks", "paths"})
    ->Args({1, 500})
    ->Args({8, 500})
    ->Args({64, 500})
    ->Args({1, 100'000})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// The work of a single rank, without a file. Arguments: number of clusters of a loop, number of call paths with
/// values.
void encode_rank(benchmark::State& state) {
  SampleRank sample = sample_rank(0, 1, 1, static_cast<int>(state.range(1)));
  if (state.range(0) > 0) sample.add_loop(0, "timestep", static_cast<int>(state.range(0)), 1000);
  const record::RankRecord& record = sample.record();
  for (auto _ : state) {
    record::DefinitionSet definitions;
    record::BlockBuilder block;
    if (!record::encode_rank(record, definitions, block)) state.SkipWithError("no memory");
    state.counters["bytes"] = static_cast<double>(block.size_with(0, 0));
  }
}
BENCHMARK(encode_rank)
    ->ArgNames({"clusters", "paths"})
    ->Args({0, 500})
    ->Args({64, 500})
    ->Args({64, 5000})
    ->Unit(benchmark::kMillisecond);

void read_profile(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0)), paths = static_cast<int>(state.range(1));
  ScratchDirectory directory;
  ThreadJob job(ranks);
  job.run([&](int rank) {
    SampleRank sample = sample_rank(rank, ranks, 1, paths);
    (void)record::write_profile(sample.record(), job.peers(rank), directory.c_str(), seconds_from_now(60));
  });
  for (auto _ : state)
    benchmark::DoNotOptimize(
        experiment::parse_profile(experiment::InputFile(std::filesystem::path(directory.path) / "profile.refrain")));
}
BENCHMARK(read_profile)->ArgNames({"ranks", "paths"})->Args({64, 500})->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
