// Prints the waiting times that a sample of single messages would have shown in a run whose events were all kept: a
// line of JSON for each level and call path. Usage: bench_matched_waits EXPERIMENT LEVEL...
#include "offline/patterns/matched_waits.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/patterns/path_names.hpp"

int main(int argc, char** argv) {
  using namespace refrain;
  if (argc < 3) return 1;
  try {
    const auto trace = trace::Trace::open(experiment::Experiment::open(argv[1]));
    if (!trace) return 2;
    const patterns::PathNames names(*trace);
    for (int i = 2; i < argc; ++i) {
      const auto level = static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10));
      patterns::MatchedWaits waits(*trace, level);
      auto reader = trace->read();
      while (const trace::Event* event = reader.next()) waits.add(*event);
      for (const patterns::MatchedWait& of : waits.by(names.naming()))
        fmt::print("{{\"level\": {}, \"path\": \"{}\", \"wait_s\": {}, \"wait_error_s\": {}, \"messages\": {}}}\n",
                   level, fmt::join(names.names_of(of.node), " > "), of.ns / 1e9, of.replicates.error_ns() / 1e9,
                   of.messages);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  return 0;
}
