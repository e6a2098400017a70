// What findings are about, and what documents say of metrics.
#include "offline/explorer/told.hpp"

#include <gtest/gtest.h>

#include "offline/explorer/advice.hpp"
#include "offline/explorer/page.hpp"
#include "offline/findings/sentence.hpp"

namespace refrain::explorer {
namespace {

using findings::Figure;
using findings::Iterations;
using findings::Path;
using findings::Ranks;

Told told(const findings::Finding& finding) {
  return told_of(
      finding,
      [](const Path& path) -> std::optional<std::uint32_t> {
        return path == Path{"main", "smooth"}                     ? std::optional(7U)
               : path == Path{"main", "exchange", "MPI_Sendrecv"} ? std::optional(9U)
                                                                  : std::nullopt;
      },
      [](const std::string& name) { return name == "step"; });
}

TEST(Told, has_ranks_and_function) {
  const Told of = told({.rule = "late_rank",
                        .share = 0.2,
                        .error = 0.01,
                        .ranks = Ranks({0, 4, 5, 6}),
                        .cause = {.path = {"main", "smooth"}, .is_user = true},
                        .figures = {{Figure::Mean, 5}, {Figure::Others, 2}}});
  EXPECT_EQ("user", of.metric);
  EXPECT_EQ((std::vector<std::int32_t>{0, 4, 5, 6}), of.ranks);
  EXPECT_EQ(7U, of.node);
  EXPECT_FALSE(of.loop);
}

TEST(Told, has_loop_and_iterations) {
  const Told of = told({.rule = "step_of_iterations",
                        .share = 0.2,
                        .error = -1,
                        .paths = {{"main", "exchange", "MPI_Sendrecv"}},
                        .iterations = Iterations{.loop = "step", .of = 400, .first = 100, .last = 399}});
  EXPECT_EQ("step", of.loop);
  EXPECT_EQ((std::pair<std::int64_t, std::int64_t>{100, 399}), of.iterations);
  EXPECT_EQ(9U, of.node);
  EXPECT_EQ(0, of.error) << "not known";
  EXPECT_TRUE(of.ranks.empty());
}

TEST(Told, has_no_iterations_where_they_are_no_range) {
  Iterations all{.loop = "step", .of = 400, .first = 0, .last = 399};
  EXPECT_FALSE(told({.rule = "varying_iterations", .iterations = all}).iterations);
  all.count = 20;
  all.numbers = {7, 27};
  EXPECT_FALSE(told({.rule = "slow_iterations", .iterations = all}).iterations);
  all.count = 1;
  all.numbers = {7};
  EXPECT_EQ((std::pair<std::int64_t, std::int64_t>{7, 7}),
            told({.rule = "slow_iterations", .iterations = all}).iterations);
}

TEST(Told, metrics_are_those_of_rules_and_their_options) {
  EXPECT_EQ("blocked", told({.rule = "blocked"}).metric);
  EXPECT_EQ("mpi", told({.rule = "polling"}).metric);
  EXPECT_EQ("", told({.rule = "unseen"}).metric);
}

TEST(Told, waiting_is_the_metric_of_waits) {
  findings::Finding finding{.rule = "late_sender",
                            .share = 0.3,
                            .paths = {{"main", "exchange", "MPI_Sendrecv"}},
                            .cause = {.path = {"main", "smooth"}, .is_user = true, .ranks = Ranks({0})},
                            .part_of = 0};
  EXPECT_EQ("wait", told(finding).metric);
  EXPECT_EQ(9U, told(finding).node);
  EXPECT_EQ((std::vector<std::int32_t>{0}), told(finding).ranks) << "those that are waited for";
  EXPECT_EQ(findings::sentence_of(finding), told(finding).text);
  EXPECT_EQ(std::optional<std::size_t>(0), told(finding).part_of);
  finding.ranks = Ranks({2});
  EXPECT_EQ((std::vector<std::int32_t>{2}), told(finding).ranks);
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
