// What keeping a sample of events costs: a call, the end of an iteration, and the pause when the level rises.

#include "events/span_store.hpp"

#include <benchmark/benchmark.h>
#include <vector>

namespace {

using namespace refrain::events;

class Sample {
 public:
  explicit Sample(std::size_t bytes) : memory_(bytes / 8) {
    const auto memory = std::as_writable_bytes(std::span(memory_));
    buffer.create(memory, 0);
    store.create(memory, buffer, 0, 16);
  }
  void call() {
    time_ += 1000;
    (void)buffer.append(
        CallRecord{true, false, false, 42, static_cast<std::uint32_t>(time_ / 1000 % 40), time_ - 700, time_});
  }
  void end_iteration() {
    Record end;
    end.kind = Kind::Span;
    end.region = 300;
    end.value = iteration_++;
    end.begin = begin_;
    end.time = begin_ = time_;
    store.end_span(buffer, end);
  }
  void iteration(int calls) {
    for (int i = 0; i < calls; ++i) call();
    end_iteration();
  }

 private:
  std::vector<std::uint64_t> memory_;

 public:
  Buffer buffer;
  SpanStore store;

 private:
  std::int64_t time_ = 0, begin_ = 0, iteration_ = 0;
};

/// Iterations of so many calls, in the steady state of a long run.
void BM_iterations(benchmark::State& state) {
  Sample sample(std::size_t{8} << 20);
  const auto calls = static_cast<int>(state.range(0));
  for (int i = 0; i < 200'000; ++i) sample.iteration(calls);
  for (auto _ : state) sample.iteration(calls);
  state.SetItemsProcessed(state.iterations() * calls);
}
BENCHMARK(BM_iterations)->Arg(1)->Arg(10)->Arg(100);

/// The memory is full, and one of two iterations goes. Argument: MiB.
void BM_level_rises(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Sample sample(static_cast<std::size_t>(state.range(0)) << 20);
    unsigned level = 0;
    std::size_t before = 0;
    while (sample.buffer.size() >= before) before = sample.buffer.size(), sample.iteration(100);
    while (sample.buffer.size() < before * 99 / 100) sample.iteration(100);
    for (const SpanStore::Loop& loop : sample.store.loops()) level = std::max<unsigned>(level, loop.level);
    state.ResumeTiming();
    sample.store.agree(sample.buffer, 300, level + 1, 0, {});
  }
}
BENCHMARK(BM_level_rises)->Arg(8)->Arg(16)->Unit(benchmark::kMillisecond)->Iterations(20);

}  // namespace
