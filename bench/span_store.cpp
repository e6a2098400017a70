// Measures the cost of keeping a sample of events: per call, with the ends of the iterations, and the longest pause at
// the end of an iteration.

#include "events/span_store.hpp"

#include <benchmark/benchmark.h>
#include <chrono>
#include <vector>

namespace {

using namespace refrain::events;

class Sample {
 public:
  explicit Sample(std::size_t bytes) : memory_(bytes / 8) {
    std::span<std::byte> memory = std::as_writable_bytes(std::span(memory_));
    const Packer packer = Packer::at_end_of(memory);
    buffer.create(memory, 0);
    store.create(memory, buffer, 0, 16, packer);
  }
  void call() {
    time_ += 1000;
    (void)buffer.append(CallRecord{true, 42, static_cast<std::uint32_t>(time_ / 1000 % 40), time_ - 700, time_});
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

/// Iterations in the steady state of a long run. Argument: number of calls per iteration.
void BM_iterations(benchmark::State& state) {
  Sample sample(std::size_t{8} << 20);
  const auto calls = static_cast<int>(state.range(0));
  for (int i = 0; i < 200'000; ++i) sample.iteration(calls);
  for (auto _ : state) sample.iteration(calls);
  state.SetItemsProcessed(state.iterations() * calls);
}
BENCHMARK(BM_iterations)->Arg(1)->Arg(10)->Arg(100);

/// The longest end of an iteration in a run in which the store several times compresses everything and then drops every
/// second iteration. Argument: MiB of memory.
void BM_longest_pause(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  for (auto _ : state) {
    Sample sample(static_cast<std::size_t>(state.range(0)) << 20);
    Clock::duration longest{};
    for (int i = 0; i < 100'000; ++i) {
      for (int call = 0; call < 100; ++call) sample.call();
      const Clock::time_point begin = Clock::now();
      sample.end_iteration();
      longest = std::max(longest, Clock::now() - begin);
    }
    state.SetIterationTime(std::chrono::duration<double>(longest).count());
  }
}
BENCHMARK(BM_longest_pause)->Arg(8)->Arg(16)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(10);

}  // namespace
