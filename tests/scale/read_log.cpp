// Reads and unpacks the logs of all loops of an experiment and does nothing with them: what a report of all iterations
// cannot do without. Prints how many iterations there are.

#include <cstdio>
#include <exception>

#include "offline/analysis/iterations.hpp"
#include "offline/experiment/reader.hpp"

int main(int argc, char** argv) {
  using namespace refrain;
  if (argc != 2) return std::fputs("Usage: read_log EXPERIMENT\n", stderr), 1;
  try {
    std::int64_t iterations = 0;
    const experiment::Experiment opened = experiment::read_experiment(argv[1]);
    for (const experiment::Rank& rank : opened.profile.ranks)
      for (const experiment::Location& location : rank.locations)
        for (const experiment::Loop& loop : location.loops)
          iterations += analysis::for_each_iteration(loop, [](std::int64_t, std::int32_t, auto) {});
    std::printf("%lld\n", static_cast<long long>(iterations));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "read_log: %s\n", error.what());
    return 1;
  }
}
