#pragma once
/// `--threads`: how many threads read an experiment.

#include <charconv>
#include <cstdlib>
#include <string>

#include "offline/experiment/rank_pass.hpp"
#include "tools/command_line.hpp"

namespace refrain::tools {

inline void add_threads(Command command, std::string& threads) {
  command
      .option("--threads", threads, "Threads that read ranks (REFRAIN_THREADS; default: one for each core, 8 at most)")
      .type("N")
      .check([](const std::string& text) {
        unsigned number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool is_good = error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= 256;
        return is_good ? std::string() : text + ": a number from 1 to 256";
      });
}

inline void use_threads(const std::string& threads) {
  if (!threads.empty()) setenv(experiment::threads_variable, threads.c_str(), 1);
}

}  // namespace refrain::tools
