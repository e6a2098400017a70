#pragma once
/// The log of a hand-made loop, as the program would have written it.

#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "clustering/iteration_log.hpp"
#include "tests/unit/analysis/loop_builder.hpp"

namespace refrain::analysis::test {

/// The log as the measured program writes it, in blocks that may be small. `whole`: this many iterations are kept one
/// by one, a power of two.
inline void add_log(experiment::Loop& loop, const std::vector<Iteration>& iterations,
                    std::uint64_t whole = clustering::IterationLog::all) {
  std::vector<clustering::Precision> columns;
  for (const auto& metric : loop.metrics) columns.push_back(metric.precision);
  clustering::IterationLog log;
  ASSERT_TRUE(log.create(columns, 1024, whole));
  const auto close = [&] {
    const auto block = log.closed();
    loop.log.push_back({nullptr, 0, 0, std::make_shared<std::vector<std::byte>>(block.begin(), block.end())});
    log.start_block();
  };
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    const auto row = vector_of(iterations[i]);
    const auto label = format::Label{static_cast<std::uint32_t>(iterations[i].cluster)};
    if (log.append(i, label, row) != clustering::IterationLog::Appended::BlockFull) continue;
    close();
    ASSERT_EQ(log.append(i, label, row), clustering::IterationLog::Appended::Yes);
  }
  close();
  loop.thinning = {static_cast<std::int64_t>(log.thinned_from()), log.level()};
}

}  // namespace refrain::analysis::test
