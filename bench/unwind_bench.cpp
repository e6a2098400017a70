/// Measures the cost of a stack walk at depths 10, 40 and 200, in code with and without frame pointers: incremental, in
/// the steady state of a program that calls from two call sites in turn; full; and with libunwind.

#include <benchmark/benchmark.h>

#include "platform/threads.hpp"
#include "tests/async/unwind/mapped_walker.hpp"
#include "unwind/calling_frame.hpp"
#include "unwind_stack.hpp"

namespace {

using namespace refrain::unwind;

enum class How { Incremental, Full, Libunwind };

struct Setting {
  benchmark::State& state;
  How how;
  test::MappedWalker walker;
  std::uint32_t depth = 0, reused = 0;
};

[[gnu::noinline]] void capture(Setting& setting) {
  const Start start = calling_frame();
  const Walk walk = setting.how == How::Full ? setting.walker.walk_fully(start) : setting.walker.walk(start);
  for (std::uint32_t i = walk.reused; i < walk.depth; ++i) walk.frames[i].tag = i;
  setting.depth = walk.depth;
  setting.reused = walk.reused;
}

[[gnu::noinline]] void iterate(void* argument) {
  auto& setting = *static_cast<Setting*>(argument);
  for (auto _ : setting.state) {
    capture(setting);
    benchmark::ClobberMemory();
    capture(setting);
    benchmark::ClobberMemory();
  }
}

void walk(benchmark::State& state, How how, void (*run_below)(unsigned, unwind_bench::Work, void*)) {
  Setting setting{state, how, {}};
  const auto backend = how == How::Libunwind ? Backend::Libunwind : Backend::Incremental;
  if (!start_rule_cache() || !setting.walker.create(refrain::platform::own_stack(), 1024, backend)) {
    state.SkipWithError("no walker");
    return;
  }
  // Counts the frames outside those of run_below: main and the benchmark's own frames.
  run_below(
      0, [](void* s) { capture(*static_cast<Setting*>(s)); }, &setting);
  const auto outside = static_cast<unsigned>(setting.depth), wanted = static_cast<unsigned>(state.range(0));
  run_below(wanted > outside ? wanted - outside : 0, iterate, &setting);
  state.SetItemsProcessed(state.iterations() * 2);
  state.counters["frames"] = setting.depth;
  state.counters["reused"] = setting.reused;
  setting.walker.destroy();
}

using namespace unwind_bench;
#define AT_DEPTHS ->Arg(10)->Arg(40)->Arg(200)
BENCHMARK_CAPTURE(walk, incremental, How::Incremental, without_fp::run_below) AT_DEPTHS;
BENCHMARK_CAPTURE(walk, incremental_with_fp, How::Incremental, with_fp::run_below) AT_DEPTHS;
BENCHMARK_CAPTURE(walk, full, How::Full, without_fp::run_below) AT_DEPTHS;
BENCHMARK_CAPTURE(walk, full_with_fp, How::Full, with_fp::run_below) AT_DEPTHS;
BENCHMARK_CAPTURE(walk, libunwind, How::Libunwind, without_fp::run_below) AT_DEPTHS;

}  // namespace

BENCHMARK_MAIN();
