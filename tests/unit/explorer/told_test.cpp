// What findings are about, and what documents say of metrics.
#include "offline/explorer/told.hpp"

#include <gtest/gtest.h>

#include "offline/explorer/advice.hpp"
#include "offline/explorer/page.hpp"

namespace refrain::explorer {
namespace {

Told told(const findings::Finding& finding) {
  return told_of(
      finding,
      [](const std::string& path) -> std::optional<std::uint32_t> {
        return path == "smooth"                    ? std::optional(7U)
               : path == "exchange > MPI_Sendrecv" ? std::optional(9U)
                                                   : std::nullopt;
      },
      [](const std::string& name) { return name == "step"; });
}

TEST(Told, names_ranks_and_function) {
  const Told of = told({"late_rank",
                        0.2,
                        0.01,
                        "ranks 0, 4-6 compute longer than the others, 5 s against their mean of 2 s: smooth 80 %",
                        {"--locations"}});
  EXPECT_EQ("user", of.metric);
  EXPECT_EQ((std::vector<std::int32_t>{0, 4, 5, 6}), of.ranks);
  EXPECT_EQ(7U, of.node);
  EXPECT_FALSE(of.loop);
}

TEST(Told, takes_options_first) {
  const Told of = told({"step_of_iterations",
                        0.2,
                        -1,
                        "from iteration 100 on an iteration of step takes 5 ms",
                        {"--iterations", "--loop", "step", "--callpath", "exchange > MPI_Sendrecv"}});
  EXPECT_EQ("step", of.loop);
  EXPECT_EQ((std::pair<std::int64_t, std::int64_t>{100, -1}), of.iterations);
  EXPECT_EQ(9U, of.node);
  EXPECT_EQ(0, of.error) << "not known";
  EXPECT_TRUE(of.ranks.empty());
}

TEST(Told, ranges_of_iterations_have_commas) {
  const Told of = told(
      {"slow_stretch", 0.1, 0.01, "iterations 1,200 to 1,499 of step take 5 ms", {"--iterations", "--loop", "step"}});
  EXPECT_EQ((std::pair<std::int64_t, std::int64_t>{1200, 1499}), of.iterations);
}

TEST(Told, waiting_is_the_metric_of_waits) {
  const Told of = told({"late_sender",
                        0.3,
                        0,
                        "late sender in exchange > MPI_Sendrecv, mostly on rank 2; caused by smooth on rank 0",
                        {"--waits"}});
  EXPECT_EQ("wait", of.metric);
  EXPECT_EQ(9U, of.node);
  EXPECT_EQ((std::vector<std::int32_t>{2}), of.ranks);
}

TEST(Advice, comes_from_the_document) {
  const auto all = advice_of(embedded_patterns);
  ASSERT_TRUE(all.contains("late_sender"));
  EXPECT_NE(std::string::npos, all.at("late_sender").help.find("min(send, leave)"));
  EXPECT_TRUE(all.at("late_sender").advice.starts_with("A late sender is rarely")) << all.at("late_sender").advice;
  EXPECT_TRUE(all.contains("wait_at_barrier"));
}

TEST(Advice, titles_are_words) {
  EXPECT_EQ("Late sender", title_of("late_sender"));
  EXPECT_EQ("MPI point to point", title_of("mpi_point_to_point"));
  EXPECT_EQ("Time", title_of("wall"));
  EXPECT_EQ("PAPI_TOT_INS", title_of("PAPI_TOT_INS"));
}

}  // namespace
}  // namespace refrain::explorer
