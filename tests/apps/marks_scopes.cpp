// The C++ scope objects of the marks, and what exceptions do to them and to plain marks:  marks_scopes CASE
#include <chrono>
#include <cstdio>
#include <ctime>
#include <refrain/refrain.h>
#include <stdexcept>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

volatile double sink;
[[gnu::noinline]] void spin(double seconds) {
  for (const auto begin = Clock::now(); seconds_since(begin) < seconds;)
    for (int i = 0; i < 1000; ++i) sink = sink + 1;
}

[[gnu::noinline]] void step(int i) {
  refrain::Region region(i % 2 ? "odd" : "even");
  spin(0.002);
  if (i % 5 == 4) throw std::runtime_error("every fifth");
}

/// Scope objects end with their scope, whichever way it is left.
int scopes() {
  refrain::Loop loop("scoped");
  for (int i = 0; i < 20; ++i) try {
      refrain::Iteration iteration;
      step(i);
    } catch (const std::runtime_error&) {
    }
  return 0;
}

[[gnu::noinline]] void plain_step(int i) {
  REFRAIN_REGION_BEGIN("thrown out of");
  spin(0.002);
  if (i % 5 == 4) throw std::runtime_error("every fifth");
  REFRAIN_REGION_END();
}

/// The region and the iteration of every fifth step are left: no iteration, not counted, and all others are.
int thrown_in_iteration() {
  REFRAIN_LOOP_BEGIN("plain");
  for (int i = 0; i < 20; ++i) try {
      REFRAIN_ITERATION_BEGIN();
      plain_step(i);
      REFRAIN_ITERATION_END();
    } catch (const std::runtime_error&) {
    }
  REFRAIN_LOOP_END();
  return 8;  // a region and an iteration, four times
}

[[gnu::noinline]] void plain_loop() {
  REFRAIN_LOOP_BEGIN("plain");
  for (int i = 0;; ++i) {
    REFRAIN_ITERATION_BEGIN();
    plain_step(i);
    REFRAIN_ITERATION_END();
  }
}

/// The whole loop is left, three times, after four iterations each.
int thrown_out_of_loop() {
  for (int k = 0; k < 3; ++k) try {
      plain_loop();
    } catch (const std::runtime_error&) {
    }
  return 6;  // a region and a loop, three times
}

[[gnu::noinline]] void throwing_step() {
  refrain::Region region("thrown far");
  throw std::runtime_error("always");
}

[[gnu::noinline]] void descend(int depth) {
  if (depth > 0) descend(depth - 1);
  else throwing_step();
  sink = depth;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Most of the time goes into unwinding from the landing pad on that ends the scope of the region. CPU time, so that a
/// busy machine does not cost samples.
int thrown_far() {
  for (const double begin = cpu_seconds(); cpu_seconds() < begin + 0.5;) try {
      descend(100);
    } catch (const std::runtime_error&) {
    }
  return 0;
}

[[gnu::noinline]] void good() {
  refrain::Loop loop("good");
  for (int i = 0; i < 20; ++i) {
    refrain::Iteration iteration;
    spin(0.003);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  int misused = -1;
  if (what == "scopes") misused = scopes();
  if (what == "thrown_in_iteration") misused = thrown_in_iteration();
  if (what == "thrown_out_of_loop") misused = thrown_out_of_loop();
  if (what == "thrown_far") misused = thrown_far();
  good();
  std::printf("{\"misused\": %d}\n", misused);
}
