// A trace that is opened as a smaller sample has the iterations that the nested sample has at a higher level, chosen by
// the number of records alone.
//
// A rank has iterations of a marked loop, each with one barrier.

#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "offline/patterns/search.hpp"
#include "offline/trace/trace.hpp"
#include "tests/unit/record/thread_peers.hpp"
#include "tests/unit/trace/marked_events.hpp"

namespace refrain::testing {
namespace {

using Numbers = std::set<std::int64_t>;

class ThinnedTrace : public ::testing::Test {
 protected:
  std::shared_ptr<const experiment::Experiment> experiment(bool is_marked, bool is_sample) {
    const std::string directory = scratch_.path + "/" + std::to_string(is_marked) + std::to_string(is_sample);
    std::filesystem::create_directory(directory);
    put_manifest(directory, 1);
    const MarkedEvents events(is_marked, is_sample);
    write_file(directory + "/events-0.refrain", events.file());
    EXPECT_TRUE(write_job(directory, 1, [&](int) { return MarkedRank(events, is_sample); }));
    return experiment::Experiment::open(directory);
  }
  static Numbers iterations(const trace::Trace& trace) {
    Numbers numbers;
    auto reader = trace.read();
    while (const trace::Event* event = reader.next())
      if (event->type == trace::Type::SpanEnd && event->record.region != 0) numbers.insert(event->record.value);
    return numbers;
  }
  ScratchDirectory scratch_;
};

TEST_F(ThinnedTrace, has_everything_where_that_fits) {
  const auto trace = trace::Trace::open_thinned(experiment(true, false), 2 * all_iterations);
  EXPECT_EQ(2U * all_iterations, trace->records());
  EXPECT_EQ(0U, trace->thinned());
  EXPECT_EQ(static_cast<std::size_t>(all_iterations), iterations(*trace).size());
  EXPECT_FALSE(patterns::is_sample_of_iterations(*trace));
}

TEST_F(ThinnedTrace, of_everything_has_the_smallest_level_that_fits) {
  const auto opened = experiment(true, false);
  for (unsigned level = 1; level < 5; ++level) {
    const auto trace = trace::Trace::open_thinned(opened, (2U * all_iterations) >> level);
    EXPECT_EQ(level, trace->thinned());
    EXPECT_TRUE(patterns::is_sample_of_iterations(*trace));
    const Numbers shown = iterations(*trace);
    for (std::int64_t i = 0; i < all_iterations; ++i) {
      // The others come before one of the sample.
      EXPECT_TRUE(shown.contains(i) ? is_at(level, i) || is_at(level, i + 1) : !is_at(level, i)) << level << " " << i;
    }
  }
}

TEST_F(ThinnedTrace, of_a_sample_has_a_part_of_it) {
  const auto opened = experiment(true, true);
  const auto whole = trace::Trace::open(opened), part = trace::Trace::open_thinned(opened, whole->records() / 4);
  const Numbers kept = iterations(*whole), shown = iterations(*part);
  EXPECT_EQ(static_cast<std::size_t>(all_iterations) >> kept_level, kept.size());
  EXPECT_EQ(2U, part->thinned());
  for (const std::int64_t i : kept)
    EXPECT_EQ(is_at(kept_level + 2, i) || is_at(kept_level + 2, i + 1), shown.contains(i)) << i;
}

TEST_F(ThinnedTrace, needs_iterations) {
  const auto opened = experiment(false, false);
  EXPECT_NO_THROW(trace::Trace::open_thinned(opened, all_iterations));
  EXPECT_THROW(trace::Trace::open_thinned(opened, all_iterations - 1), std::invalid_argument);
}

}  // namespace
}  // namespace refrain::testing
