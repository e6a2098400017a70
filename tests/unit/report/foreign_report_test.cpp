/// Runs of other tools: what they have is shown as that of experiments is, and what they lack is nowhere a number.
#include "offline/report/foreign_report.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "offline/experiment/damage.hpp"
#include "offline/report/compared_run.hpp"
#include "offline/report/difference.hpp"
#include "offline/report/several.hpp"

namespace refrain::report {
namespace {

/// Two ranks: main 1 and 3 s, main > MPI_Send 2 and 2 s.
class MadeUp final : public database::RunSource {
 public:
  explicit MadeUp(bool has_calls, bool is_complete = true) {
    facts_.source = "tau";
    facts_.complete = is_complete;
    if (!is_complete) facts_.notes = {"profile.1.0.0: at byte 7"};
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

/// One function with 0.3 and 0.2 GB, and 2 and 3 of what is counted.
class WithFractions final : public database::RunSource {
 public:
  WithFractions() {
    facts_.source = "caliper";
    nodes_.resize(1);
    nodes_[0].name = "main";
    locations_ = {{0, 0, "main"}, {1, 0, "main"}};
    metrics_ = {{"wall", "s"}, {"moved", "GB"}, {"counted", "1"}};
  }
  std::string digest() const override { return ""; }
  void for_each_node(std::size_t location, const TakeNode& take) override {
    take(0, location == 0 ? std::vector<double>{1, .3, 2} : std::vector<double>{1, .2, 3});
  }
};

TEST(ForeignReport, fractions_of_metrics_are_kept) {
  WithFractions run;
  Request request;
  request.format = Format::Json;
  std::string text;
  render_foreign(foreign_run(run, "here", request), request, {}, [&](std::string_view piece) { text += piece; });
  const auto metrics = nlohmann::json::parse(text)["totals"]["metrics"];
  EXPECT_DOUBLE_EQ(metrics["moved"].get<double>(), .5);
  EXPECT_EQ(metrics["counted"], 5);
  EXPECT_TRUE(metrics["counted"].is_number_integer());
}

RunToCompare to_compare(bool is_complete, const char* name) {
  MadeUp run(true, is_complete);
  return {compared_run(foreign_run(run, name, {}))};
}

TEST(ForeignReport, a_run_of_which_a_part_is_missing_is_named_beside_others) {
  const RunToCompare whole = to_compare(true, "whole"), part = to_compare(false, "part");
  for (const Format format : {Format::Json, Format::Text}) {
    Request request;
    request.format = format;
    std::string two, three;
    render_difference(whole, part, request, {}, [&](std::string_view text) { two += text; });
    render_several({whole, part, whole}, request, {}, [&](std::string_view text) { three += text; });
    for (const std::string& text : {two, three}) {
      EXPECT_NE(text.find("part: a part of it cannot be read"), text.npos) << text;
      EXPECT_NE(text.find("part: profile.1.0.0: at byte 7"), text.npos) << text;
    }
    if (format == Format::Json) {
      EXPECT_EQ(nlohmann::json::parse(two)["now"]["saw_whole"], false);
    }
  }
}

TEST(ForeignReport, a_rank_that_is_missing_is_no_smaller_job) {
  ComparedRun whole = to_compare(true, "whole"), less = to_compare(true, "less"), small = to_compare(true, "small");
  less.ranks = 1;
  less.lacks = "it is incomplete";
  small.ranks = small.ranks_expected = 1;
  const auto notes = [](const ComparedRun& one, const ComparedRun& other) {
    const ComparedRun* const runs[] = {&one, &other};
    return notes_on(runs);
  };
  EXPECT_TRUE(notes(whole, whole).empty());
  EXPECT_EQ(notes(whole, less),
            std::vector<std::string>{"less: it is incomplete (1 of 2 ranks); what it lacks shows as a change"});
  EXPECT_EQ(notes(whole, small),
            std::vector<std::string>{
                "the runs have different numbers of ranks (1, 2); each counts by the mean over its ranks"});
}

TEST(ForeignReport, options_of_experiments_are_refused_with_a_hint_that_fits) {
  MadeUp source(true);
  Request request;
  const ForeignRun run = foreign_run(source, "here", request);
  request.fold.runtimes = false;  // --fold none
  for (const Together together : {Together::One, Together::Several}) {
    try {
      check_foreign_request(run, request, together);
      ADD_FAILURE() << "not refused";
    } catch (const experiment::ReadError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("--fold is of experiments"), text.npos) << text;
      EXPECT_EQ(text.find("--flat") == text.npos, together == Together::Several) << text;
    }
  }
  request = {};
  request.ranks = {0};  // --rank 0.5
  request.threads_of_ranks = {{0, 5}};
  try {
    (void)foreign_run(source, "here", request);
    ADD_FAILURE() << "not refused";
  } catch (const UsageError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("--rank 0.5: here has no thread")) << error.what();
  }
}

}  // namespace
}  // namespace refrain::report
