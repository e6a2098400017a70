// Reads and unpacks the logs of all loops of an experiment and does nothing with them: what a report of all iterations
// cannot do without. Prints how many iterations there are.

#include <cstdio>
#include <exception>

#include "offline/experiment/experiment.hpp"
#include "offline/run/iterations.hpp"

int main(int argc, char** argv) {
  using namespace refrain;
  if (argc != 2) return std::fputs("Usage: read_log EXPERIMENT\n", stderr), 1;
  try {
    std::int64_t iterations = 0;
    const auto opened = experiment::Experiment::open(argv[1], true);
    for (std::size_t place = 0; place < opened->ranks().size(); ++place) {
      const auto rank = opened->rank(place, experiment::Depth::Loops);
      for (const experiment::Location& location : rank->locations)
        for (const experiment::Loop& loop : location.loops)
          iterations += run::for_each_iteration(loop, [](std::int64_t, std::int32_t, auto) {});
    }
    std::printf("%lld\n", static_cast<long long>(iterations));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "read_log: %s\n", error.what());
    return 1;
  }
}
