// Reports of hand-made loops: every line of the text is looked at.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "format/kept_iterations.hpp"
#include "offline/report/report.hpp"
#include "offline/report/views.hpp"
#include "tests/unit/analysis/loop_builder.hpp"
#include "tests/unit/analysis/loop_log.hpp"
#include "tests/unit/report/on_new_line.hpp"

namespace refrain::report {
namespace {

using analysis::test::Iteration;
using test::on_new_line;
using Json = nlohmann::json;

struct NamedLoop {
  std::string name;
  std::vector<Iteration> iterations;
};

/// One rank per element.
experiment::WholeExperiment experiment_of(const std::vector<std::vector<NamedLoop>>& ranks) {
  experiment::WholeExperiment experiment;
  experiment.directory = "/data/refrain-heat";
  experiment.manifest.command = {"./heat"};
  experiment.manifest.state = "complete";
  experiment::Profile& profile = experiment.profile;
  profile = analysis::test::empty_profile();
  profile.ranks_expected = static_cast<std::int32_t>(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    experiment::Rank rank;
    rank.rank = static_cast<std::int32_t>(r);
    rank.ticks_per_second = 1e9;
    experiment::Location location;
    location.rank = rank.rank;
    location.name = "main";
    location.losses.assign(format::loss_count, 0);
    for (const NamedLoop& loop : ranks[r]) {
      analysis::test::add_loop(location, loop.name, loop.iterations);
      analysis::test::add_log(location.loops.back(), loop.iterations);
    }
    rank.locations.push_back(std::move(location));
    profile.ranks.push_back(std::move(rank));
  }
  return experiment;
}

/// Ten iterations of `ms` milliseconds; the seventh takes five times as long.
std::vector<Iteration> ten_iterations(std::int64_t ms) {
  std::vector<Iteration> iterations;
  for (std::int64_t i = 0; i < 10; ++i) {
    const std::int64_t slow = i == 6;
    iterations.push_back({slow ? 1 : 0,
                          ms * 1'000'000 * (1 + 4 * slow),
                          {1, 200'000, 1, 1'000 * (i % 3 + 1), 1, 8},
                          {},
                          {20, 20'000'000},
                          {40 * slow, 40'000'000 * slow}});
  }
  return iterations;
}

experiment::WholeExperiment two_ranks() {
  return experiment_of({{{"step", ten_iterations(1)}}, {{"step", ten_iterations(2)}}});
}

std::string rendered(const experiment::WholeExperiment& experiment, const Request& request,
                     const Terminal& terminal = {80, false, false}) {
  analysis::Symbolizer symbolizer;
  std::string out;
  render({experiment::Experiment::of(experiment), symbolizer}, request, terminal,
         [&](std::string_view text) { out += text; });
  return out;
}
Request iterations(Format format = Format::Text) {
  Request request;
  request.views = {Show::Iterations};
  request.format = format;
  return request;
}
std::string error_of(const experiment::WholeExperiment& experiment, const Request& request) {
  try {
    rendered(experiment, request);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(IterationsText, reads_like_this) {
  EXPECT_EQ(on_new_line(rendered(two_ranks(), iterations())), R"(
./heat                                                                   2 ranks
28.0 ms, complete

loop step: 10 iterations on 2 ranks, wall time
least 1.00 ms (iteration 0 of rank 0), mean 2.10 ms, largest 10.0 ms (iteration
6 of rank 1)

    10.0 ms |                        ::::
            |                        ::::
            |                        ####
            |                        ::::
            |                        ::::
    5.83 ms |                        ::::
            |
            |
            |
            |::::::::::::::::::::::::    ::::::::::::
            |########################    ############
        0 s |
            ++-------------------+-------------------
  iteration  0                   5
# median over ranks, : least to largest. A column is one iteration.

     rank 0 |........................****............
     rank 1 |------------------------@@@@------------
            ++-------------------+-------------------
  iteration  0                   5
. from 1.00 ms, : from 1.33 ms, - from 1.78 ms, = from 2.37 ms, + from 3.16 ms,
* from 4.22 ms, # from 5.62 ms, @ from 7.50 ms.
)");
}

TEST(IterationsText, zero_is_at_the_bottom_also_when_everything_is_zero) {
  Request request = iterations();
  request.metric = "bytes_received";
  auto silent = ten_iterations(1);
  for (Iteration& it : silent) it.send[5] = 0;
  const std::string text = rendered(experiment_of({{{"step", silent}}}), request);
  EXPECT_NE(text.find("        0 B |########################################\n"), text.npos) << text;
  EXPECT_EQ(text.find(" -"), text.npos) << text;
}

TEST(IterationsText, folds_to_the_terminal) {
  std::vector<Iteration> many;
  for (int i = 0; i < 1'000; ++i) many.push_back(ten_iterations(1)[static_cast<std::size_t>(i % 10)]);
  std::vector<std::vector<NamedLoop>> ranks(70, {{"step", many}});
  const auto experiment = experiment_of(ranks);
  for (const int width : {60, 80, 132}) {
    const std::string text = rendered(experiment, iterations(), {width, false, false});
    std::istringstream lines(text);
    int rows = 0;
    for (std::string line; std::getline(lines, line); ++rows)
      ASSERT_LE(line.size(), static_cast<std::size_t>(width)) << line;
    EXPECT_LT(rows, 60);
    EXPECT_NE(text.find("0-2 |"), text.npos) << "three ranks a row";
    EXPECT_NE(text.find("up to 3"), text.npos);
  }
}

TEST(IterationsText, one_location_is_not_named_again) {
  const std::string text = rendered(experiment_of({{{"step", ten_iterations(1)}}}), iterations());
  EXPECT_NE(text.find("\nloop step: 10 iterations, wall time\n"), text.npos) << text;
  EXPECT_NE(text.find("least 1.00 ms (iteration 0), mean"), text.npos) << text;
}

TEST(IterationsText, the_axis_has_round_numbers) {
  for (const int count : {2, 7, 40, 99, 400, 1'000, 4'567}) {
    std::vector<Iteration> many;
    for (int i = 0; i < count; ++i) many.push_back(ten_iterations(1)[static_cast<std::size_t>(i % 10)]);
    const auto experiment = experiment_of({{{"step", many}}});
    for (const int width : {60, 80, 100, 133}) {
      std::istringstream lines(rendered(experiment, iterations(), {width, false, false}));
      for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("  iteration ")) continue;
        std::istringstream words(line.substr(11));
        long step = 0, last = -1;
        for (long tick; words >> tick; last = tick) {
          if (last == 0) step = tick;
          if (last >= 0) {
            EXPECT_EQ(tick - last, step) << line;
          }
        }
        while (step > 0 && step % 10 == 0) step /= 10;
        EXPECT_TRUE(step == 1 || step == 2 || step == 5 || last == 0) << line;
        EXPECT_TRUE(last > 0 || count == 2) << line;
      }
    }
  }
}

TEST(IterationsText, one_slow_iteration_stays_visible_among_many) {
  std::vector<Iteration> many(1'000, ten_iterations(1)[0]);
  many[500] = ten_iterations(1)[6];
  const std::string text = rendered(experiment_of({{{"step", many}}}), iterations(), {63, false, false});
  EXPECT_NE(text.find("rank 0 |" + std::string(25, '.') + "@" + std::string(24, '.') + "\n"), text.npos) << text;
  EXPECT_NE(text.find("5.00 ms |" + std::string(25, ' ') + ":\n"), text.npos) << text;
}

TEST(IterationsText, one_slow_iteration_leaves_the_others_their_height) {
  std::vector<Iteration> loop;
  for (std::int64_t i = 0; i < 60; ++i) {
    const std::int64_t ms = i == 20 ? 900 : i < 30 ? 10 : 16;
    loop.push_back({i == 20 ? 1 : 0, ms * 1'000'000, {}, {}, {20, ms * 1'000'000}, {}});
  }
  const std::string text = rendered(experiment_of({{{"step", loop}}}), iterations(), {90, false, false});
  EXPECT_NE(text.find("\n    16.0 ms |                    ^         #####"), text.npos) << text;
  EXPECT_NE(text.find("\n^ goes on above the graph, to 900 ms at most.\n"), text.npos) << text;
  EXPECT_EQ(rendered(two_ranks(), iterations()).find("goes on above"), std::string::npos);
}

TEST(IterationsText, ranks_may_end_early) {
  auto fewer = ten_iterations(1);
  fewer.resize(5);
  const auto text = rendered(experiment_of({{{"step", ten_iterations(1)}}, {{"step", fewer}}}), iterations());
  EXPECT_NE(text.find("Not all have as many iterations: rank 1 has 5."), text.npos);
  EXPECT_NE(text.find("rank 1 |" + std::string(20, '.') + "\n"), text.npos) << text;
}

TEST(IterationsText, a_damaged_log_is_said) {
  auto experiment = two_ranks();
  auto& piece = experiment.profile.ranks[0].locations[0].loops[0].log.back().contents;
  piece = std::make_shared<std::vector<std::byte>>(piece->begin(), piece->end() - 10);
  EXPECT_NE(rendered(experiment, iterations()).find("10 iterations of this loop could not be read"), std::string::npos);
}

TEST(IterationsText, an_empty_loop_is_no_problem) {
  const auto experiment = experiment_of({{{"step", {}}}});
  EXPECT_NE(rendered(experiment, iterations()).find("no iteration of this loop has been recorded"), std::string::npos);
  EXPECT_EQ(rendered(experiment, iterations(Format::Csv)).find("step"), std::string::npos);
}

TEST(ClustersText, reads_like_this) {
  Request request;
  request.views = {Show::Clusters};
  request.ranks = {0};
  EXPECT_EQ(on_new_line(rendered(two_ranks(), request, {110, true, false})), R"(
./heat                                                                                             rank 0 of 2
14.0 ms, complete

loop step: 10 iterations, clusters

rank 0: 2 clusters
cluster    size wall % class    first     last exemplar     mean  std dev  what sets it apart
      0       9   64.3     0        0        9        0  1.00 ms      0 s  0.71x in 0x10 (-400 us)
      1       1   35.7     0        6        6        6  5.00 ms      0 s  3.6x in 0x10 (+3.60 ms)
Times are per iteration; 2.0x in f is twice what f takes in the mean iteration of the loop.
Iterations are counted from 0; the exemplar is the one nearest to the mean of its cluster.
)");
}

TEST(Iterations, csv_has_a_row_for_each) {
  const std::string text = rendered(two_ranks(), iterations(Format::Csv));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 21);
  EXPECT_TRUE(text.starts_with("loop,rank,thread,iteration,cluster,wall_s,mpi_calls,mpi_s,user_s,"));
  EXPECT_NE(text.find("\r\nstep,1,0,6,1,0.01,1,0.0002,0.0098,"), text.npos) << text;
}

TEST(Iterations, csv_and_markdown_say_what_is_reconstructed) {
  Request request = iterations(Format::Csv);
  request.callpath = "MPI_Send";
  request.metric = "mpi";
  const std::string text = rendered(two_ranks(), request);
  EXPECT_NE(text.find(",callpath_mpi_s,callpath_precision\r\n"), text.npos) << text;
  EXPECT_NE(text.find(",0.0002,reconstructed\r\nstep,0,0,6,1,"), text.npos) << text;
  EXPECT_NE(text.find(",0.0002,exact\r\nstep,0,0,7,0,"), text.npos) << "alone in its cluster: " << text;
  request.format = format_of("markdown");
  EXPECT_NE(rendered(two_ranks(), request).find("| 200 us | reconstructed |\n"), std::string::npos);
}

TEST(Iterations, below_the_root_is_everything) {
  Request request = iterations(Format::Json);
  request.metric = "user";
  request.callpath = "heat";
  const Json of = Json::parse(rendered(two_ranks(), request))["loops"][0]["per_location"][1];
  EXPECT_EQ(of["callpath"]["user_s"], of["user_s"]);
  EXPECT_EQ(of["callpath"]["reconstructed"], false);
  request.format = Format::Text;
  EXPECT_EQ(rendered(two_ranks(), request).find("Reconstructed"), std::string::npos);
}

TEST(Iterations, json_has_them_per_location) {
  const Json loops = Json::parse(rendered(two_ranks(), iterations(Format::Json)))["loops"];
  ASSERT_EQ(loops.size(), 1U);
  EXPECT_EQ(loops[0]["iterations"], 10);
  const Json& second = loops[0]["per_location"][1];
  EXPECT_EQ(second["rank"], 1);
  EXPECT_EQ(second["cluster_of"], (std::vector<int>{0, 0, 0, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(second["wall_s"][6], 0.01);
  EXPECT_EQ(second["bytes_sent"][2], 3'000);
  EXPECT_EQ(second["clusters"][1]["size"], 1);
  EXPECT_EQ(second["clusters"][1]["exemplar"], 6);
}

TEST(Iterations, json_has_the_slowest_and_what_the_log_keeps) {
  auto experiment = two_ranks();
  const auto loop_of = [&] { return Json::parse(rendered(experiment, iterations(Format::Json)))["loops"][0]; };
  const Json of_logs = loop_of();
  EXPECT_EQ(of_logs["thinned_from"], 10);
  EXPECT_EQ(of_logs["kept_every"], 1);
  ASSERT_EQ(of_logs["slowest"].size(), 10U);
  EXPECT_EQ(of_logs["slowest"][0], (Json{{"iteration", 6}, {"wall_s", 0.01}}));
  EXPECT_EQ(of_logs["slowest"][1], (Json{{"iteration", 0}, {"wall_s", 0.002}})) << "the larger one of both ranks";

  // What is kept by itself does not depend on the log.
  for (std::size_t r = 0; r < 2; ++r) {
    experiment::Loop& loop = experiment.profile.ranks[r].locations[0].loops[0];
    loop.slowest = {{6, 5'000'000}, {static_cast<std::int64_t>(r), 1'000'000}};
    loop.thinning = {4, static_cast<unsigned>(1 + r)};
  }
  const Json kept = loop_of();
  EXPECT_EQ(kept["thinned_from"], 4);
  EXPECT_EQ(kept["kept_every"], 4);
  ASSERT_EQ(kept["slowest"].size(), 3U);
  EXPECT_EQ(kept["slowest"][0], (Json{{"iteration", 6}, {"wall_s", 0.005}}));
  EXPECT_EQ(kept["slowest"][2], (Json{{"iteration", 1}, {"wall_s", 0.001}}));
  EXPECT_NE(rendered(experiment, iterations()).find("one of 2 iterations, at the end one of 4"), std::string::npos);
}

TEST(Iterations, those_that_are_not_in_the_log_leave_a_gap) {
  std::vector<Iteration> many(3000, ten_iterations(1)[0]);
  for (std::size_t i = 0; i < many.size(); ++i) many[i].wall += static_cast<std::int64_t>(i);
  const auto walls = [](const experiment::WholeExperiment& of) {
    return Json::parse(rendered(of, iterations(Format::Json)))["loops"][0]["per_location"][0]["wall_s"];
  };
  auto experiment = experiment_of({{{"step", many}}});
  const Json whole = walls(experiment);
  auto& log = experiment.profile.ranks[0].locations[0].loops[0].log;
  ASSERT_GE(log.size(), 3U);
  log.erase(log.begin() + 1);
  const auto expect_whole_but_for = [&](const Json& shown) {
    ASSERT_EQ(shown.size(), many.size());
    std::size_t missing = 0;
    for (std::size_t i = 0; i < many.size(); ++i) {
      if (shown[i].is_null()) ++missing;
      else EXPECT_EQ(shown[i], whole[i]) << i;
    }
    EXPECT_GT(missing, 0U);
    EXPECT_LT(missing, many.size());
  };
  expect_whole_but_for(walls(experiment));
  log.pop_back();  // the end as well
  expect_whole_but_for(walls(experiment));
  EXPECT_TRUE(walls(experiment).back().is_null());
}

TEST(PartOfRun, an_iteration_is_reported_as_a_run) {
  Request request;
  request.format = Format::Json;
  request.iteration = 6;
  const Json json = Json::parse(rendered(two_ranks(), request));
  EXPECT_NEAR(json["totals"]["wall_s"].get<double>(), 0.015, 1e-12);
  double sum = 0;
  for (const Json& path : json["callpaths"]) sum += path["exclusive_s"].get<double>();
  EXPECT_NEAR(sum, 0.015, 1e-12);
  EXPECT_EQ(json["experiment"]["subject"][0], "iteration 6 of loop step");
}

/// Of a part that not every rank has: a cluster is one rank's, and loops may end early on some.
Request part(std::optional<std::int64_t> iteration, std::optional<std::int32_t> cluster, Format format = Format::Text) {
  Request request;
  request.iteration = iteration, request.cluster = cluster, request.format = format;
  return request;
}

TEST(PartOfRun, is_as_complete_as_its_experiment) {
  auto shorter = ten_iterations(2);
  shorter.resize(9);
  auto experiment = experiment_of({{{"step", ten_iterations(1)}}, {{"step", shorter}}});
  for (const auto& [iteration, cluster] :
       {std::pair<std::optional<std::int64_t>, std::optional<std::int32_t>>{std::nullopt, 1}, {9, std::nullopt}}) {
    const Json whole = Json::parse(rendered(experiment, part(iteration, cluster, Format::Json)))["experiment"];
    EXPECT_EQ(whole["state"], "complete");
    EXPECT_EQ(whole["missing_ranks"], Json::array());
    const std::string text = rendered(experiment, part(iteration, cluster));
    EXPECT_EQ(text.find("incomplete"), text.npos) << text;
    EXPECT_EQ(text.find("no data of rank"), text.npos) << text;
  }
  experiment.profile.ranks.pop_back();
  const Json lost = Json::parse(rendered(experiment, part(std::nullopt, 1, Format::Json)))["experiment"];
  EXPECT_EQ(lost["state"], "incomplete");
  EXPECT_EQ(lost["missing_ranks"], Json::array({1}));
  EXPECT_NE(rendered(experiment, part(9, std::nullopt)).find("rank 1 was not measured"), std::string::npos);
  experiment.manifest.state = "incomplete";
  EXPECT_NE(rendered(experiment, part(9, std::nullopt)).find("no data of rank 1"), std::string::npos);
}

TEST(PartOfRun, overflow_is_said) {
  auto experiment = two_ranks();
  for (auto& rank : experiment.profile.ranks) rank.locations[0].loops[0].clusters[0].overflow = true;
  Request request;
  request.iteration = 0;
  EXPECT_NE(rendered(experiment, request).find("several classes"), std::string::npos);
  request.iteration.reset();
  request.views = {Show::Clusters};
  EXPECT_NE(rendered(experiment, request).find("* holds iterations of several classes"), std::string::npos);
}

TEST(PartOfRun, an_iteration_whose_cluster_was_not_saved_has_totals) {
  auto experiment = two_ranks();
  for (auto& rank : experiment.profile.ranks) {
    auto& location = rank.locations[0];
    location.loops[0].clusters.clear();
    location.units.clear();
  }
  Request request;
  request.iteration = 6;
  const std::string text = rendered(experiment, request);
  EXPECT_NE(text.find("(MPI without call path)"), text.npos) << text;
  EXPECT_NE(text.find("was not saved"), text.npos);
}

TEST(PartOfRun, an_iteration_that_is_not_kept_is_the_mean_of_its_group) {
  std::vector<Iteration> many(32, ten_iterations(1)[0]);
  const format::KeptIterations kept{2};
  const auto alone = static_cast<std::int64_t>(kept.in_block(5));  // a cluster of its own, kept of 20 to 23
  many[static_cast<std::size_t>(alone)] = ten_iterations(1)[6];
  auto experiment = experiment_of({{{"step", many}}});
  experiment::Loop& loop = experiment.profile.ranks[0].locations[0].loops[0];
  loop.log.clear();
  analysis::test::add_log(loop, many, 8);
  const auto origin = [&](std::int64_t i) {
    return Json::parse(rendered(experiment, part(i, std::nullopt, Format::Json)))["experiment"]["subject"][1]
        .get<std::string>();
  };
  const auto says = [&](std::int64_t i, const char* text) {
    EXPECT_NE(origin(i).find(text), std::string::npos) << i << ": " << origin(i);
  };
  constexpr const char* mean = "The log does not keep this iteration: its times, calls and bytes are the mean of 3";
  says(alone, "Wall time, MPI time, calls and bytes are exact. It has a cluster of its own: nothing is reconstructed.");
  says(alone ^ 1, mean);
  says(alone ^ 1, "Its cluster is not known: there are no call paths.");
  const auto beside_usual = static_cast<std::int64_t>(kept.in_block(6)) ^ 1;
  says(beside_usual, mean);
  says(beside_usual, "reconstructed from the kept iteration's cluster of 31 iterations.");
}

TEST(Loops, wrong_requests_say_what_is_there) {
  const auto several = experiment_of({{{"step", ten_iterations(1)}, {"output", ten_iterations(3)}}});
  Request request = iterations();
  request.metric = "weather";
  EXPECT_TRUE(error_of(several, request)
                  .starts_with("--metric weather: an iteration has wall, mpi_calls, mpi, user, cpu, off_cpu, "));
  request = iterations();
  request.loop = "setup";
  EXPECT_EQ(error_of(several, request), "--loop setup: the marked loops are step, output");
  request = {};
  request.iteration = 1;
  EXPECT_EQ(error_of(several, request), "--iteration: several loops are marked (step, output); choose one with --loop");
  request.loop = "output";
  EXPECT_EQ(error_of(several, request), "");
  request.iteration = 10;
  EXPECT_EQ(error_of(several, request), "--iteration 10: loop output has 10 iterations, counted from 0");
  request = {};
  request.cluster = 2, request.loop = "step";
  EXPECT_EQ(error_of(several, request), "--cluster 2: loop step on rank 0 has 2 clusters, counted from 0");
  request = iterations();
  request.callpath = "MPI_Sent";
  EXPECT_EQ(error_of(several, request), "--callpath MPI_Sent: no such call path; near it: MPI_Send");
}

TEST(Locations, a_thread_that_is_not_there_is_said) {
  Request request;
  request.views = {Show::Locations};
  for (const Format format : {Format::Text, Format::Csv, Format::Json}) {
    request.format = format;
    request.thread = 0;
    EXPECT_EQ(error_of(two_ranks(), request), "");
    request.thread = 77;
    EXPECT_EQ(error_of(two_ranks(), request), "--thread 77: no thread of this number is here; the last one is 0");
  }
}

TEST(Locations, below_the_root_is_everything) {
  Request request;
  request.views = {Show::Locations};
  request.format = Format::Csv;
  const std::string all = rendered(two_ranks(), request);
  request.callpath = "heat";
  EXPECT_EQ(rendered(two_ranks(), request), all);
  request.callpath = "heat;MPI_Send";
  EXPECT_TRUE(error_of(two_ranks(), request).starts_with("--callpath heat;MPI_Send: no such call path"));
}

TEST(Flat, options_of_other_views_are_refused_with_the_reason) {
  Request request;
  request.views = {Show::Functions};
  request.callpath = "MPI_Send";
  EXPECT_EQ(error_of(two_ranks(), request), "--callpath: goes with --iterations or --locations");
  request.callpath.clear();
  request.metric = "mpi";
  EXPECT_EQ(error_of(two_ranks(), request), "--metric: goes with --iterations or --locations");
  request.metric.clear();
  request.callsites = true;
  EXPECT_EQ(error_of(two_ranks(), request), "--callsites: --flat does not keep call sites apart");
}

TEST(Loops, none_is_one_clear_line) {
  const auto none = experiment_of({{}});
  for (const Format format : {Format::Text, Format::Csv})
    EXPECT_TRUE(error_of(none, iterations(format)).starts_with("no loop is marked in this experiment: mark it "));
  EXPECT_TRUE(Json::parse(rendered(none, iterations(Format::Json)))["loops"].empty());
}

}  // namespace
}  // namespace refrain::report
