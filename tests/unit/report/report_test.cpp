// Reports of hand-made experiments.
#include "offline/report/report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "offline/findings/sentence.hpp"
#include "offline/report/views.hpp"
#include "tests/unit/report/on_new_line.hpp"

namespace refrain::report {
namespace {

using analysis::CallTree;
using run::PathKind;
using test::on_new_line;
using Json = nlohmann::json;

/// 100 s on two ranks, built as analysis builds it: exclusive values are given, the others follow.
class Sample {
 public:
  Sample() {
    experiment.directory = "/data/refrain-heat-2";
    experiment::Manifest& manifest = experiment.manifest;
    manifest.version = "1.2.3";
    manifest.command = {"./heat", "in, put.dat"};
    manifest.state = "complete";
    manifest.ranks = 2;
    manifest.started = "2024-05-06T07:08:09Z";
    manifest.host = "node1";
    manifest.mpi_library = "Open MPI 4.1.4, package: Distribution, ident: 4.1.4";
    experiment.profile.ranks_expected = 2;
    experiment.profile.complete = true;
    for (int r = 0; r < 2; ++r) {
      experiment::Rank rank;
      rank.rank = r;
      rank.host = "node1";
      rank.call_cost = {90, 80, 110};
      rank.tick_cost = {6'000, 5'000, 9'000};
      rank.locations.resize(1);
      experiment.profile.ranks.push_back(rank);
      tree.locations.push_back({{.wall_s = 50,
                                 .mpi_s = 15,
                                 .user_s = 34.9,
                                 .refrain_s = .1,
                                 .not_on_cpu_s = .7,
                                 .not_on_cpu_low_s = .5,
                                 .not_on_cpu_high_s = 1,
                                 .off_untold_s = .7,
                                 .off_cpu_is_counted = false,
                                 .off_cpu_is_told_apart = false},
                                r,
                                0,
                                "main",
                                1700});
    }
    tree.nodes.emplace_back();
    const auto main = add(0, "main", PathKind::User, 2);
    const auto solve = add(main, "solve(Grid<double, 2>&, int)", PathKind::User, 40);
    const auto deep = add(solve, "dive", PathKind::User, 0);
    const auto deeper = add(deep, "dive", PathKind::User, 0);
    add(add(deeper, "dive", PathKind::User, 20), "MPI_Allreduce", PathKind::Mpi, 28,
        {2'000, 2'000, 16'000, 2'000, 16'000});
    add(main, "output", PathKind::User, 5.8);
    for (int i = 0; i < 3; ++i) add(main, "tiny" + std::to_string(i), PathKind::User, .2);
    add(add(main, "setup", PathKind::User, 0), "MPI_Bcast", PathKind::Mpi, 2, {2, 2, 3'000'000, 2, 3'000'000});
    add(0, run::not_on_cpu_name, PathKind::Other, 1.4);
    add(0, run::refrain_name, PathKind::Other, .2);
    finish();
  }
  std::uint32_t add(std::uint32_t parent, const std::string& name, PathKind kind, double seconds,
                    std::vector<std::int64_t> calls_and_traffic = {}) {
    analysis::TreeNode node;
    node.parent = static_cast<std::int32_t>(parent);
    node.kind = kind;
    node.name = name;
    node.exclusive_s = seconds;
    using format::MetricId;
    constexpr MetricId metrics[] = {MetricId::Visits, MetricId::MessagesSent, MetricId::BytesSent,
                                    MetricId::MessagesReceived, MetricId::BytesReceived};
    for (std::size_t i = 0; i < calls_and_traffic.size(); ++i) node.exclusive.add(metrics[i], calls_and_traffic[i]);
    tree.nodes[parent].children.push_back(static_cast<std::uint32_t>(tree.nodes.size()));
    tree.nodes.push_back(node);
    return static_cast<std::uint32_t>(tree.nodes.size() - 1);
  }
  std::string text(const Terminal& terminal, const Request& request = {}) { return printed(request, terminal); }
  std::string json(Request request = {}) {
    request.format = Format::Json;
    return printed(request);
  }
  std::string printed_as(const Request& request) { return printed(request); }
  std::string csv(Request request = {}) {
    request.format = Format::Csv;
    return printed(request);
  }

  experiment::WholeExperiment experiment;
  CallTree tree;
  Found found;

 private:
  std::string printed(const Request& request, const Terminal& terminal = {}) {
    const auto held = experiment::Experiment::of(experiment);
    OverviewBuilder builder;
    for (const auto& rank : experiment.profile.ranks) builder.add(rank);
    const Overview overview = builder.finish(*held, request, tree);
    std::string out;
    print_document({held, request, tree, overview, {}, nullptr, nullptr, found}, terminal,
                   [&](std::string_view text) { out += text; });
    return out;
  }

  void finish() {
    for (auto& node : tree.nodes) node.inclusive_s = node.exclusive_s, node.inclusive = node.exclusive;
    for (std::size_t i = tree.nodes.size(); i-- > 1;) {
      tree.nodes[tree.nodes[i].parent].inclusive_s += tree.nodes[i].inclusive_s;
      tree.nodes[tree.nodes[i].parent].inclusive += tree.nodes[i].inclusive;
    }
    for (auto& node : tree.nodes) node.spread = {node.inclusive_s * .4, node.inclusive_s * .5, node.inclusive_s * .6};
    tree.totals = {};
    for (const auto& of : tree.locations) tree.totals += of;
    tree.totals.mpi_calls = 2'002;
    tree.totals.ticks_user = 3'400;
    tree.totals.ticks_mpi = 1'500;
    tree.totals.losses.assign(format::loss_count, 0);
  }
};

TEST(TextReport, reads_like_this) {
  EXPECT_EQ(on_new_line(Sample().text({110, true, false})), R"(
./heat in, put.dat                                                            2 ranks on node1, Open MPI 4.1.4
6 May 2024 07:08 UTC, 50.0 s, complete

Parallel efficiency 70 % = load balance 100 % x communication 70 %

                    time     share
 MPI              30.0 s    30.0 %   waiting: not known, 2,002 calls
 user code        68.4 s    68.4 %   3,400 samples
 not on CPU       1.40 s     1.4 %   between 1.00 s and 2.00 s
 Refrain          200 ms     0.2 %   90 ns per MPI call, 6.00 us per tick

 incl %  excl %      time   MPI calls     bytes  ranks: min  mean   max     call path
   98.4     2.0    98.4 s       2,002  5.75 MiB        39.4  49.2  59.0 s   main
   88.0    40.0    88.0 s       2,000  31.2 KiB        35.2  44.0  52.8 s   ├ solve
   48.0    20.0    48.0 s       2,000  31.2 KiB        19.2  24.0  28.8 s   │ └ dive ×3
   28.0    28.0    28.0 s       2,000  31.2 KiB        11.2  14.0  16.8 s   │   └ MPI_Allreduce
    5.8     5.8    5.80 s                              2.32  2.90  3.48 s   ├ output
    2.0     2.0    2.00 s           2  5.72 MiB        0.80  1.00  1.20 s   └ setup > MPI_Bcast
 3 call paths below 1 % (0.6 % together): --min-share 0
)");
}

TEST(TextReport, fits_narrow_terminals_in_ascii) {
  EXPECT_EQ(on_new_line(Sample().text({80, false, false})), R"(
./heat in, put.dat                              2 ranks on node1, Open MPI 4.1.4
6 May 2024 07:08 UTC, 50.0 s, complete

Parallel efficiency 70 % = load balance 100 % x communication 70 %

                    time     share
 MPI              30.0 s    30.0 %   waiting: not known, 2,002 calls
 user code        68.4 s    68.4 %   3,400 samples
 not on CPU       1.40 s     1.4 %   between 1.00 s and 2.00 s
 Refrain          200 ms     0.2 %   90 ns per MPI call, 6.00 us per tick

 incl %  excl %      time   MPI calls     bytes  call path
   98.4     2.0    98.4 s       2,002  5.75 MiB  main
   88.0    40.0    88.0 s       2,000  31.2 KiB  |-solve
   48.0    20.0    48.0 s       2,000  31.2 KiB  | `-dive x3
   28.0    28.0    28.0 s       2,000  31.2 KiB  |   `-MPI_Allreduce
    5.8     5.8    5.80 s                        |-output
    2.0     2.0    2.00 s           2  5.72 MiB  `-setup > MPI_Bcast
 3 call paths below 1 % (0.6 % together): --min-share 0
)");
}

TEST(TextReport, findings_are_numbered_and_what_they_name_is_in_the_tree) {
  Sample sample;
  EXPECT_EQ(sample.text({110, true, false}).find("tiny1"), std::string::npos);
  sample.found.findings = {{.rule = "blocked", .share = 0.3, .error = 0.01},
                           {.rule = "late_rank",
                            .share = 0.2,
                            .ranks = findings::Ranks({1}),
                            .cause = {.path = {"main", "tiny1"}, .is_user = true},
                            .figures = {{findings::Figure::Mean, 2}, {findings::Figure::Others, 1}},
                            .part_of = 0}};
  const std::string text = sample.text({110, true, false});
  EXPECT_NE(text.find("\n 1  30.0 +- 1.0 %  user code was blocked (sleep, locks, files or page faults)"), text.npos)
      << text;
  EXPECT_NE(text.find("--locations --metric blocked\n"), text.npos) << text;
  EXPECT_NE(
      text.find("\n 2  20.0 %         rank 1 computes longer than the others, 2.00 s against their mean of 1.00 s,"),
      text.npos)
      << text;
  EXPECT_NE(text.find("; part of 1"), text.npos) << text;
  EXPECT_NE(text.find("└ tiny1\n"), text.npos) << text;
}

TEST(TextReport, no_line_is_wider_than_the_terminal) {
  for (int width = 60; width < 160; ++width) {
    std::istringstream lines(Sample().text({width, false, false}));
    for (std::string line; std::getline(lines, line);) ASSERT_LE(line.size(), static_cast<std::size_t>(width)) << line;
  }
}

TEST(TextReport, time_off_the_cpu_that_was_counted_is_told_apart) {
  Sample sample;
  sample.tree.totals.off_cpu_is_counted = sample.tree.totals.off_cpu_is_told_apart = true;
  sample.tree.totals.waited_for_core_s = 1;
  sample.tree.totals.blocked_s = .4;
  sample.tree.totals.mpi_off_cpu_s = 3;
  for (auto& of : sample.tree.locations) {
    of.not_on_cpu_low_s = of.not_on_cpu_high_s = of.not_on_cpu_s;
    of.off_cpu_is_counted = of.off_cpu_is_told_apart = true;
    of.off_untold_s = 0;
    of.waited_for_core_s = .5;
    of.blocked_s = .2;
  }
  auto& node = *std::ranges::find(sample.tree.nodes, run::not_on_cpu_name, &analysis::TreeNode::name);
  node.name = run::waited_name;
  const std::string text = sample.text({110, true, false});
  EXPECT_NE(
      text.find("\n MPI              30.0 s    30.0 %   waiting: not known, 2,002 calls, off the CPU for 3.00 s\n"),
      text.npos)
      << text;
  EXPECT_NE(text.find("\n no core          1.00 s     1.0 %\n"), text.npos) << text;
  EXPECT_NE(text.find("\n blocked          400 ms     0.4 %   sleep, locks, files, page faults\n"), text.npos) << text;
  EXPECT_EQ(text.find("(waited for a core)"), text.npos) << "it is among the shares: " << text;
  EXPECT_EQ(text.find("not on CPU"), text.npos) << text;
  const Json totals = Json::parse(sample.json())["totals"];
  EXPECT_EQ(totals["waited_for_core_s"], 1);
  EXPECT_EQ(totals["blocked_s"], .4);
  EXPECT_EQ(totals["mpi_off_cpu_s"], 3);
}

/// A kernel that does not count run delay.
TEST(TextReport, time_off_the_cpu_that_is_not_told_apart_has_no_bounds_where_it_was_counted) {
  Sample sample;
  sample.tree.totals.off_cpu_is_counted = true;
  for (auto& of : sample.tree.locations) of.not_on_cpu_low_s = of.not_on_cpu_high_s = of.not_on_cpu_s;
  const std::string text = sample.text({110, true, false});
  EXPECT_NE(text.find("\n not on CPU       1.40 s     1.4 %\n"), text.npos) << text;
  EXPECT_EQ(text.find("no core"), text.npos) << text;
  EXPECT_TRUE(Json::parse(sample.json())["totals"]["blocked_s"].is_null()) << "unknown is not 0";
}

TEST(TextReport, a_program_without_mpi_has_no_ranks_and_no_cost_of_calls) {
  Sample sample;
  sample.experiment.manifest.mpi_library.clear();
  sample.experiment.profile.ranks.pop_back();
  sample.experiment.profile.ranks_expected = 1;
  sample.tree.locations.pop_back();
  sample.tree.totals.mpi_s = 0, sample.tree.totals.mpi_calls = 0;
  const std::string text = sample.text({});
  EXPECT_NE(text.find("1 process without MPI on node1\n6 May 2024 07:08 UTC, "), text.npos) << text;
  EXPECT_NE(text.find("0.4 %   6.00 us per tick\n"), text.npos) << text;
  EXPECT_EQ(text.find("  MPI  "), text.npos) << text;
  EXPECT_EQ(text.find("1 rank"), text.npos) << text;
}

TEST(TextReport, callsites_without_lines_have_their_place_in_the_module) {
  Sample sample;
  for (std::uint32_t i : {8u, 9u, 10u}) {  // tiny0 to tiny2
    auto& node = sample.tree.nodes[i];
    node.name = "tiny", node.module = "/bin/heat", node.offset = 0x1200 + i;
  }
  Request request;
  request.callsites = true, request.min_share = 0;
  std::string text = sample.text({}, request);
  for (const char* site : {"tiny  [heat+0x1208]", "tiny  [heat+0x1209]", "tiny  [heat+0x120a]"})
    EXPECT_NE(text.find(site), text.npos) << text;
  for (std::uint32_t i : {8u, 9u, 10u})
    sample.tree.nodes[i].file = "/src/heat.c", sample.tree.nodes[i].line = 12 + i / 10;
  text = sample.text({}, request);
  for (const char* site : {"[heat.c:12, heat+0x1208]", "[heat.c:12, heat+0x1209]", "[heat.c:13]"})
    EXPECT_NE(text.find(site), text.npos) << "two calls in one line, and one alone" << text;
}

TEST(TextReport, min_share_0_shows_everything) {
  Request request;
  request.min_share = 0;
  const std::string text = Sample().text({}, request);
  EXPECT_NE(text.find("tiny0"), text.npos);
  EXPECT_EQ(text.find("together"), text.npos);
  EXPECT_EQ(Sample().text({}).find("tiny0"), text.npos);
}

TEST(TextReport, sampled_times_have_a_standard_error_and_no_digits_beyond_it) {
  Sample sample;
  sample.tree.nodes[0].sampled_s = 68;
  for (auto& node : sample.tree.nodes)
    if (node.kind == PathKind::User) node.standard_error_s = node.exclusive_error_s = 1.2;
  const std::string text = sample.text({140, true, false});
  EXPECT_NE(text.find("    88   1.2      40      88 s       2,000"), text.npos) << text;
  EXPECT_NE(text.find("  28.0          28.0    28.0 s       2,000"), text.npos) << "exact" << text;
  EXPECT_NE(text.find(" incl %     ±  excl %"), text.npos) << text;
  EXPECT_EQ(Sample().text({140, true, false}).find("±"), std::string::npos) << "nothing was sampled";
}

TEST(MarkdownReport, is_the_table_of_the_view) {
  Request request;
  request.format = format_of("markdown");
  request.views = {Show::Functions};
  const std::string text = Sample().printed_as(request);
  EXPECT_TRUE(text.starts_with("| function | kind | exclusive_s | inclusive_s | visits |")) << text;
  EXPECT_NE(text.find("\n| --- | --- | ---: | ---: | ---: |"), text.npos) << text;
  EXPECT_NE(text.find("\n| MPI_Allreduce | mpi | 28.0 s | 28.0 s | 2,000 |"), text.npos) << text;
}

TEST(TextReport, functions_have_a_standard_error_too) {
  Request request;
  request.views = {Show::Functions};
  Sample sample;
  EXPECT_EQ(sample.text({140, true, false}, request).find("±"), std::string::npos) << "nothing was sampled";
  sample.tree.nodes[0].sampled_s = 68;
  sample.tree.function_errors[{PathKind::User, "solve(Grid<double, 2>&, int)"}] = {3.33, 0.68};  // of 100 s
  const std::string text = sample.text({140, true, false}, request);
  EXPECT_NE(text.find("   40.0  3.3    40.0 s"), text.npos) << text;
  request.format = format_of("csv");
  const std::string csv = sample.printed_as(request);
  EXPECT_NE(csv.find(",exclusive_standard_error_s,inclusive_standard_error_s,precision"), csv.npos) << csv;
  EXPECT_NE(csv.find(",3.33"), csv.npos) << csv;
}

TEST(TextReport, colours_only_where_they_are_wanted) {
  EXPECT_EQ(Sample().text({110, true, false}).find('\033'), std::string::npos);
  EXPECT_NE(Sample().text({110, true, true}).find('\033'), std::string::npos);
}

TEST(TextReport, losses_come_with_their_explanation) {
  Sample sample;
  EXPECT_EQ(sample.text({}).find("Not seen"), std::string::npos);
  const auto loss = static_cast<std::size_t>(format::Loss::ArenaFull);
  sample.tree.totals.losses[loss] = 1234;
  const std::string text = sample.text({});
  EXPECT_NE(text.find("Not seen: 1,234 arena_full (the call tree has outgrown REFRAIN_MEMORY)."), text.npos) << text;
}

TEST(TextReport, incomplete_experiments_name_the_missing_ranks) {
  Sample sample;
  sample.experiment.profile.ranks_expected = 6;
  EXPECT_TRUE(sample.text({}).starts_with("warning: the experiment is incomplete: ranks 2-5 were not measured\n"));
  sample.experiment.manifest.state = "incomplete";
  std::string text = sample.text({});
  EXPECT_TRUE(text.starts_with("warning: the experiment is incomplete: the program ended without")) << text;
  for (std::size_t at; (at = text.find("\n         ")) != text.npos;) text.replace(at, 10, 1, ' ');  // unwrap
  EXPECT_NE(text.find("no data of ranks 2-5"), text.npos);
  EXPECT_EQ(Sample().text({}).find("warning"), std::string::npos);
}

TEST(TextReport, flat_is_by_function) {
  Request request;
  request.views = {Show::Functions};
  EXPECT_EQ(on_new_line(Sample().text({100, true, false}, request)), R"(
./heat in, put.dat                                                  2 ranks on node1, Open MPI 4.1.4
6 May 2024 07:08 UTC, 50.0 s, complete

                    time     share
 MPI              30.0 s    30.0 %   2,002 calls
 user code        68.4 s    68.4 %   3,400 samples
 not on CPU       1.40 s     1.4 %   between 1.00 s and 2.00 s
 Refrain          200 ms     0.2 %   90 ns per MPI call, 6.00 us per tick

 excl %      time  incl %      time   MPI calls     samples      sent  received  function
   40.0    40.0 s    88.0    88.0 s                                              solve
   28.0    28.0 s    28.0    28.0 s       2,000              15.6 KiB  15.6 KiB  MPI_Allreduce
   20.0    20.0 s    48.0    48.0 s                                              dive
    5.8    5.80 s     5.8    5.80 s                                              output
    2.0    2.00 s    98.4    98.4 s                                              main
    2.0    2.00 s     2.0    2.00 s           2              2.86 MiB  2.86 MiB  MPI_Bcast
    1.4    1.40 s     1.4    1.40 s                                              (not on CPU)
    0.2    200 ms     0.2    200 ms                                              (refrain)
 4 functions below 1 % (0.6 % together): --min-share 0
)");
}

TEST(JsonReport, has_the_fields_that_programs_rely_on) {
  const Json report = Json::parse(Sample().json());
  const Json& experiment = report.at("experiment");
  EXPECT_EQ(experiment.at("command"), (Json{"./heat", "in, put.dat"}));
  EXPECT_EQ(experiment.at("ranks"), 2);
  EXPECT_EQ(experiment.at("state"), "complete");
  EXPECT_EQ(experiment.at("version"), "1.2.3");
  const Json& totals = report.at("totals");
  for (const char* key : {"wall_s", "mpi_s", "user_s", "overhead_s"}) EXPECT_TRUE(totals.at(key).is_number()) << key;
  EXPECT_EQ(totals.at("samples"), 3'400);
  EXPECT_TRUE(totals.at("losses").is_object());
  ASSERT_EQ(report.at("locations").size(), 2u);
  for (const char* key : {"rank", "thread", "wall_s", "mpi_s", "user_s", "samples"})
    EXPECT_TRUE(report["locations"][1].at(key).is_number()) << key;
  double sum = 0;
  std::set<std::string> kinds;
  for (const Json& path : report.at("callpaths")) {
    EXPECT_TRUE(path.at("path").is_array());
    EXPECT_FALSE(path["path"].empty());
    sum += path.at("exclusive_s").get<double>();
    kinds.insert(path.at("kind"));
    for (const char* key : {"visits", "samples", "messages_sent", "bytes_sent", "messages_received", "bytes_received"})
      EXPECT_TRUE(path.at(key).is_number_integer()) << key;
    EXPECT_FALSE(path.contains("module"));
  }
  EXPECT_NEAR(sum, 100, 1e-9);
  EXPECT_EQ(kinds, (std::set<std::string>{"mpi", "other", "user"}));
  const Json& reduce = report["callpaths"][5];
  EXPECT_EQ(reduce["path"], (Json{"main", "solve(Grid<double, 2>&, int)", "dive", "dive", "dive", "MPI_Allreduce"}));
  EXPECT_EQ(reduce["bytes_sent"], 16'000);
  EXPECT_EQ(reduce["inclusive_s"], 28);
}

TEST(JsonReport, findings_are_records) {
  using findings::Figure;
  Sample sample;
  sample.found.findings = {
      {.rule = "blocked", .share = 0.3},
      {.rule = "slow_iterations",
       .share = 0.2,
       .error = 0.01,
       .paths = {{"main", "f"}, {"main", "g"}},
       .ranks = findings::Ranks({1, 2, 3, 7}),
       .iterations =
           findings::Iterations{.loop = "step", .of = 100, .last = 99, .count = 5, .period = 20, .numbers = {7, 27}},
       .cause = {.path = {"main", "write"}, .is_user = true, .ranks = findings::Ranks({1})},
       .figures = {{Figure::Mean, 4}, {Figure::Others, 1}},
       .part_of = 0}};
  const Json all = Json::parse(sample.json())["findings"];
  ASSERT_EQ(2u, all.size());
  for (const char* absent : {"path", "further_paths", "ranks", "method", "iterations", "cause", "figures", "part_of"})
    EXPECT_FALSE(all[0].contains(absent)) << absent;
  EXPECT_EQ("--locations --metric blocked", all[0]["options"]);
  const Json& of = all[1];
  EXPECT_EQ(findings::sentence_of(sample.found.findings[1]), of["text"]);
  EXPECT_EQ((Json{"main", "f"}), of["path"]);
  EXPECT_EQ((Json{"main > g"}), of["further_paths"]);
  EXPECT_EQ("1-3, 7", of["ranks"]);
  EXPECT_EQ((Json{{"loop", "step"},
                  {"of", 100},
                  {"first", 0},
                  {"last", 99},
                  {"count", 5},
                  {"period", 20},
                  {"numbers", {7, 27}}}),
            of["iterations"]);
  EXPECT_EQ((Json{"main", "write"}), of["cause"]["path"]);
  EXPECT_EQ("1", of["cause"]["ranks"]);
  EXPECT_EQ(1, of["cause"]["share"]);
  EXPECT_EQ((Json{{"mean_s", 4}, {"others_s", 1}}), of["figures"]);
  EXPECT_EQ(0, of["part_of"]);
}

TEST(JsonReport, any_bytes_in_names_give_valid_json) {
  Sample sample;
  sample.experiment.manifest.command = {"./a\xff\"\n"};
  sample.tree.nodes[1].name = "\xc3(\"\\";
  EXPECT_TRUE(Json::accept(sample.json()));
}

TEST(JsonReport, losses_are_counts_by_reason) {
  Sample sample;
  EXPECT_TRUE(Json::parse(sample.json())["totals"]["losses"].empty());
  sample.tree.totals.losses[static_cast<std::size_t>(format::Loss::TruncatedNoTables)] = 3;
  EXPECT_EQ(Json::parse(sample.json())["totals"]["losses"], (Json{{"truncated_no_tables", 3}}));
}

TEST(JsonReport, callsites_have_module_file_and_line) {
  Sample sample;
  sample.tree.nodes[1].module = "/bin/heat", sample.tree.nodes[1].file = "/src/heat.c", sample.tree.nodes[1].line = 12;
  Request request;
  request.callsites = true;
  const Json path = Json::parse(sample.json(request))["callpaths"][0];
  EXPECT_EQ(path["module"], "/bin/heat");
  EXPECT_EQ(path["file"], "/src/heat.c");
  EXPECT_EQ(path["line"], 12);
  EXPECT_EQ(path["offset"], 0);
}

TEST(CsvReport, fields_are_quoted_by_rfc_4180) {
  Sample sample;
  sample.tree.nodes[1].name = "a \"b\", c";
  const std::string csv = sample.csv();
  EXPECT_TRUE(csv.starts_with(
      "path,kind,exclusive_s,inclusive_s,visits,messages_sent,bytes_sent,"
      "messages_received,bytes_received,messages_completed,bytes_completed,bytes_read,bytes_written,samples,"
      "inclusive_min_s,inclusive_mean_s,inclusive_max_s,inclusive_standard_error_s,precision\r\n"));
  EXPECT_NE(csv.find("\r\n\"a \"\"b\"\", c\",user,2,98.4"), csv.npos) << csv;
  EXPECT_NE(csv.find("\r\n(not on CPU),other,1.4,1.4,0,0,0,0,0,0,0,0,0,0,"), csv.npos) << csv;
}

TEST(Render, ranks_that_are_not_there_are_a_usage_error) {
  Sample sample;
  analysis::Symbolizer symbolizer;
  Request request;
  request.ranks = {1};
  const auto held = experiment::Experiment::of(sample.experiment);
  const Sink nowhere = [](std::string_view) {};
  EXPECT_NO_THROW(render({held, symbolizer}, request, {}, nowhere));
  request.ranks = {7};
  EXPECT_THROW(render({held, symbolizer}, request, {}, nowhere), UsageError);
}

TEST(Render, an_empty_experiment_gives_a_report_in_every_format) {
  experiment::WholeExperiment empty;
  analysis::Symbolizer symbolizer;
  for (const Format format : {Format::Text, Format::Json, Format::Csv})
    for (const bool flat : {false, true}) {
      Request request;
      request.format = format;
      if (flat) request.views = {Show::Functions};
      std::string out;
      render({experiment::Experiment::of(empty), symbolizer}, request, {}, [&](std::string_view text) { out += text; });
      EXPECT_FALSE(out.empty());
    }
}

TEST(Efficiency, of_a_run_without_waits_has_nulls_and_the_reason) {
  Request request;
  request.views = {Show::Efficiency};
  const Json document = Json::parse(Sample().json(request));
  const Json& of = document.at("efficiency");
  EXPECT_NEAR(of.at("parallel").get<double>(), 34.9 / 49.9, 1e-9);
  EXPECT_NEAR(of.at("load_balance").get<double>(), 1, 1e-9);
  EXPECT_TRUE(of.at("serialisation").is_null());
  EXPECT_TRUE(of.at("processor_availability").is_null()) << "it was not counted";
  EXPECT_NE(of.at("why").get<std::string>().find("REFRAIN_WAIT_STATES"), std::string::npos);
  ASSERT_EQ(document.at("efficiencies").size(), 1U);
  EXPECT_EQ(document.at("efficiencies")[0].at("kind"), "run");
}

TEST(Efficiency, is_a_tree_of_factors_for_people) {
  Request request;
  request.views = {Show::Efficiency};
  const std::string text = Sample().text({200, true, false}, request);
  for (const char* line : {"The run: 2 ranks, 49.9 s\n", "69.9  parallel efficiency\n", "100.0    load balance\n",
                           "69.9    communication\n", "n/a      serialisation (the experiment has neither events nor",
                           "Below 80 %, which POP calls acceptable: communication.\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST(Efficiency, a_region_that_is_not_there_is_refused) {
  Request request;
  request.views = {Show::Efficiency};
  request.region = "nowhere";
  EXPECT_THROW(Sample().json(request), UsageError);
}

}  // namespace
}  // namespace refrain::report
