/// Runs of other tools: what they have is shown as that of experiments is, and what they lack is nowhere a number.
#include "offline/report/foreign_report.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <tuple>

#include "offline/experiment/damage.hpp"

namespace refrain::report {
namespace {

/// Two ranks: main 1 and 3 s, main > MPI_Send 2 and 2 s.
class MadeUp final : public database::RunSource {
 public:
  explicit MadeUp(bool has_calls) {
    facts_.source = "tau";
    nodes_.resize(3);
    nodes_[0].name = "main";
    nodes_[1].name = "MPI_Send";
    nodes_[1].kind = run::PathKind::Mpi;
    nodes_[1].parent = 0;
    nodes_[2].name = "never";
    locations_ = {{0, 0, "main"}, {1, 0, "main"}};
    metrics_ = {{"wall", "s"}, {"mpi", "s", 0}, {"user", "s", 0}};
    if (has_calls) metrics_.push_back({"visits", "1"});
  }
  std::string digest() const override { return ""; }
  void for_each_node(std::size_t location, const TakeNode& take) override {
    const double main_s = location == 0 ? 1 : 3;
    for (const auto& [node, seconds, calls] : {std::tuple(0u, main_s, 1.0), {1u, 2.0, 5.0}}) {
      std::vector<double> values{seconds, node == 1 ? seconds : 0, node == 0 ? seconds : 0};
      if (metrics_.size() > 3) values.push_back(calls);
      take(node, values);
    }
  }
};

std::string printed(MadeUp run, const Request& request) {
  std::string text;
  const ForeignRun foreign = foreign_run(run, "here", request);
  render_foreign(foreign, request, {}, [&](std::string_view piece) { text += piece; });
  return text;
}

nlohmann::json document(bool has_calls, std::vector<Show> views = {}) {
  Request request;
  request.format = Format::Json;
  request.views = std::move(views);
  return nlohmann::json::parse(printed(MadeUp(has_calls), request));
}

TEST(ForeignReport, has_the_times_of_the_profile) {
  const auto run = document(true);
  EXPECT_EQ(run["totals"]["wall_s"], 8);
  EXPECT_EQ(run["totals"]["mpi_s"], 4);
  EXPECT_EQ(run["totals"]["user_s"], 4);
  EXPECT_EQ(run["totals"]["mpi_calls"], 10);
  ASSERT_EQ(run["callpaths"].size(), 2u);
  const auto& main = run["callpaths"][0];
  EXPECT_EQ(main["exclusive_s"], 4);
  EXPECT_EQ(main["inclusive_s"], 8);
  EXPECT_EQ(main["inclusive_min_s"], 3);
  EXPECT_EQ(main["inclusive_max_s"], 5);
  EXPECT_EQ(main["visits"], 0) << "calls of MPI";
  EXPECT_EQ(main["metrics"]["exclusive"]["region_visits"], 2);
  EXPECT_EQ(run["callpaths"][1]["path"], nlohmann::json({"main", "MPI_Send"}));
  EXPECT_EQ(run["callpaths"][1]["visits"], 10);
  EXPECT_EQ(run["experiment"]["source"], "tau");
  EXPECT_EQ(run["experiment"]["ranks"], 2);
}

TEST(ForeignReport, what_it_lacks_is_left_out) {
  const auto run = document(false);
  for (const char* member : {"samples", "overhead_s", "not_on_cpu_s", "blocked_s", "mpi_calls", "losses", "own_work"})
    EXPECT_FALSE(run["totals"].contains(member)) << member;
  for (const char* member : {"visits", "samples", "bytes_sent", "inclusive_standard_error_s", "precision"})
    EXPECT_FALSE(run["callpaths"][0].contains(member)) << member;
  for (const char* member : {"findings", "communicators", "windows"}) EXPECT_FALSE(run.contains(member)) << member;
  Request request;
  const std::string text = printed(MadeUp(false), request);
  EXPECT_NE(text.find("Not known: calls of MPI, bytes"), text.npos) << text;
  EXPECT_NE(text.find("here: profile of TAU"), text.npos) << text;
  EXPECT_EQ(text.find("Refrain"), text.npos) << text;
}

TEST(ForeignReport, csv_has_empty_fields) {
  Request request;
  request.format = Format::Csv;
  const std::string text = printed(MadeUp(false), request);
  EXPECT_NE(text.find("visits"), text.npos);
  EXPECT_NE(text.find("main;MPI_Send,mpi,4,4,,"), text.npos) << text;
}

TEST(ForeignReport, views_that_need_no_more_are_shown) {
  const auto run = document(true, {Show::Functions, Show::Locations});
  EXPECT_EQ(run["functions"].size(), 2u);
  EXPECT_EQ(run["by_location"][1]["user_s"], 3);
  Request request;
  request.views = {Show::Callers};
  request.subject = "MPI_Send";
  EXPECT_NE(printed(MadeUp(true), request).find("main"), std::string::npos);
}

TEST(ForeignReport, of_one_rank) {
  Request request;
  request.format = Format::Json;
  request.ranks = {1};
  EXPECT_EQ(nlohmann::json::parse(printed(MadeUp(true), request))["totals"]["wall_s"], 5);
  request.ranks = {2};
  EXPECT_THROW(printed(MadeUp(true), request), UsageError);
}

TEST(ForeignReport, other_views_are_refused) {
  for (const Show view : {Show::Waits, Show::Iterations, Show::Efficiency, Show::Mpi}) {
    Request request;
    request.views = {view};
    EXPECT_THROW(printed(MadeUp(true), request), experiment::ReadError);
  }
  Request request;
  request.iteration = 3;
  EXPECT_THROW(printed(MadeUp(true), request), experiment::ReadError);
}

}  // namespace
}  // namespace refrain::report
