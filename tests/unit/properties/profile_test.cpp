/// Profiles of Caliper and TAU as runs: their times are what the files say, each counted once, and what they do not say
/// is not there.

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>
#include <unistd.h>

#include "offline/database/profile_run.hpp"
#include "offline/experiment/damage.hpp"

namespace refrain::database {
namespace {

namespace fs = std::filesystem;

class Profiles : public testing::Test {
 protected:
  Profiles() {
    std::string pattern = (fs::temp_directory_path() / "refrain-profile-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~Profiles() override { fs::remove_all(directory_); }

  std::string file(const std::string& name, const std::string& text) const {
    const fs::path path = directory_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  /// Exclusive values of a metric by "rank path".
  static std::map<std::string, double> values(RunSource& run, const std::string& metric) {
    std::size_t wanted = 0;
    while (run.metrics().at(wanted).name != metric) ++wanted;
    std::map<std::string, double> found;
    for (std::size_t location = 0; location < run.locations().size(); ++location)
      run.for_each_node(location, [&](std::uint32_t node, std::span<const double> by_metric) {
        std::string path;
        for (auto at = static_cast<std::int32_t>(node); at >= 0; at = run.nodes()[static_cast<std::size_t>(at)].parent)
          path = "/" + run.nodes()[static_cast<std::size_t>(at)].name + path;
        if (by_metric[wanted] != 0)
          found[std::to_string(run.locations()[location].rank) + " " + path] += by_metric[wanted];
      });
    return found;
  }

  fs::path directory_;
};

using Values = std::map<std::string, double>;

std::string caliper(const std::string& columns, const std::string& metadata, const std::string& data) {
  return R"({"data": [)" + data + R"(], "columns": [)" + columns + R"(], "column_metadata": [)" + metadata +
         R"(], "nodes": [{"label": "main", "column": "path"}, {"label": "solve", "column": "path", "parent": 0},
             {"label": "MPI_Wait", "column": "mpi.function"}], "cali.caliper.version": "2.9.0"})";
}

TEST_F(Profiles, of_caliper_have_regions_and_functions_of_mpi_below_them) {
  const std::string path = file(
      "profile.json",
      caliper(R"("path", "mpi.function", "mpi.rank", "sum#time.duration", "sum#region.count", "min#time.duration")",
              R"({"is_value": false}, {"is_value": false}, {"is_value": true}, {"is_value": true, "unit": "usec"},
         {"is_value": true}, {"is_value": true})",
              "[0, null, 0, 1e6, 1, 9], [1, null, 0, 2e6, 5, 9], [1, 2, 0, 5e5, 7, 9], [1, null, 1, 4e6, 5, 9], [null, "
              "null, 1, 1e6, "
              "null, 9]"));
  EXPECT_TRUE(is_caliper(path));
  EXPECT_TRUE(is_profile(path));
  const auto run = profile_run(path);
  EXPECT_EQ(run->facts().source, "caliper");
  EXPECT_EQ(run->facts().processes, 2);
  EXPECT_EQ(values(*run, "wall"), (Values{{"0 /main", 1},
                                          {"0 /main/solve", 2},
                                          {"0 /main/solve/MPI_Wait", .5},
                                          {"1 /main/solve", 4},
                                          {"1 /(outside of regions)", 1}}));
  EXPECT_EQ(values(*run, "mpi"), (Values{{"0 /main/solve/MPI_Wait", .5}}));
  EXPECT_EQ(values(*run, "visits")["0 /main/solve/MPI_Wait"], 7);
  ASSERT_EQ(run->metrics().size(), 4U);
  EXPECT_EQ(run->metrics()[0].parent, -1);
  EXPECT_EQ(run->metrics()[1].parent, 0) << "time in MPI is a part of wall time";
  EXPECT_EQ(run->metrics()[2].parent, 0);
}

TEST_F(Profiles, of_caliper_with_inclusive_times_alone_become_exclusive) {
  const std::string path =
      file("profile.json", caliper(R"("path", "inclusive#sum#time.duration.ns")",
                                   R"({"is_value": false}, {"is_value": true})", "[0, 3e9], [1, 2e9]"));
  EXPECT_EQ(values(*profile_run(path), "wall"), (Values{{"0 /main", 1}, {"0 /main/solve", 2}}));
}

TEST_F(Profiles, of_caliper_that_contradict_themselves_are_refused) {
  const char* const metadata = R"({"is_value": false}, {"is_value": true})";
  for (const std::string& text :
       {caliper(R"("path", "time")", metadata, "[7, 1]"), caliper(R"("path", "time")", metadata, "[0]"),
        caliper(R"("path")", metadata, ""), caliper(R"("other", "time")", metadata, ""),
        caliper(R"("path", "count")", metadata, ""), std::string("{}"), std::string("{")})
    EXPECT_THROW((void)profile_run(file("profile.json", text)), experiment::ReadError) << text;
}

std::string tau(const std::string& lines, int count) {
  return std::to_string(count) +
         " templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls # "
         "<metadata></metadata>\n" +
         lines + "0 aggregates\n";
}

TEST_F(Profiles, of_tau_count_each_time_once) {
  (void)file("profile.0.0.0", tau(R"(".TAU application" 1 1 1000000 10000000 0 GROUP="TAU_DEFAULT"
".TAU application  => main C [{a.c} {3,0}]" 1 7 2000000 9000000 0 GROUP="TAU_CALLPATH"
"main C [{a.c} {3,0}]" 1 7 2000000 9000000 0 GROUP="TAU_USER"
"main C [{a.c} {3,0}] => MPI_Send()  " 6 0 3000000 3000000 0 GROUP="TAU_CALLPATH"
"MPI_Send()  " 8 0 7000000 7000000 0 GROUP="MPI"
"main C [{a.c} {3,0}] => [CONTEXT] main" 5 0 900 900 0 GROUP="TAU_SAMPLE"
)",
                                  6));
  (void)file("profile.1.0.0", tau("\"operator\"\" _x\" 1 0 500000 500000 0 GROUP=\"U\"\n", 1));
  const auto run = profile_run(directory_.string());
  EXPECT_EQ(run->facts().source, "tau");
  EXPECT_EQ(values(*run, "wall"), (Values{{"0 /.TAU application", 1},
                                          {"0 /.TAU application/main", 2},
                                          {"0 /main/MPI_Send", 3},
                                          {"0 /MPI_Send", 4},
                                          {"1 /operator\"\" _x", .5}}));
  EXPECT_EQ(values(*run, "mpi"), (Values{{"0 /main/MPI_Send", 3}, {"0 /MPI_Send", 4}}));
  EXPECT_EQ(values(*run, "visits")["0 /MPI_Send"], 2);
}

TEST_F(Profiles, of_tau_in_directories_of_metrics_are_those_of_time) {
  (void)file("MULTI__TIME/profile.0.0.3", tau("\"f\" 1 0 500000 500000 0 GROUP=\"U\"\n", 1));
  (void)file("MULTI__PAPI_TOT_INS/profile.0.0.3", tau("\"f\" 1 0 7 7 0 GROUP=\"U\"\n", 1));
  const auto run = profile_run(directory_.string());
  EXPECT_EQ(run->locations().at(0).thread, 3);
  EXPECT_EQ(values(*run, "wall"), (Values{{"0 /f", .5}}));
}

TEST_F(Profiles, of_tau_that_are_cut_or_none_are_refused) {
  EXPECT_FALSE(is_tau(directory_.string()));
  for (const char* text : {"", "hello\n", "1 templated_functions_MULTI_TIME\n#\nno function\n",
                           "2 templated_functions_MULTI_TIME\n#\n\"f\" 1 0 5 5 0 GROUP=\"U\"\n",
                           "1 templated_functions_MULTI_PAPI_TOT_INS\n#\n\"f\" 1 0 5 5 0 GROUP=\"U\"\n"}) {
    (void)file("profile.0.0.0", text);
    EXPECT_THROW((void)profile_run(directory_.string()), experiment::ReadError) << text;
  }
}

/// Reads or refuses each of many texts with some wrong bytes: nothing else may happen.
template <class Open>
void try_damaged(const std::string& text, const Open& open) {
  std::mt19937 random(48);
  for (int i = 0; i < 500; ++i) {
    std::string damaged = text;
    for (std::uint32_t n = 1 + random() % 4; n > 0; --n)
      damaged[random() % damaged.size()] =
          static_cast<char>(random() % 4 == 0 ? random() : "[]{},:\"0-9="[random() % 11]);
    if (random() % 8 == 0) damaged.resize(random() % damaged.size());
    try {
      open(damaged);
    } catch (const experiment::ReadError& error) {
      EXPECT_NE(std::string(error.what()), "");
    }
  }
}

TEST_F(Profiles, with_wrong_bytes_are_read_or_refused) {
  const std::string of_caliper =
      caliper(R"("path", "mpi.function", "mpi.rank", "sum#time.duration")",
              R"({"is_value": false}, {"is_value": false}, {"is_value": true}, {"is_value": true, "unit": "usec"})",
              "[0, null, 0, 1e6], [1, 2, 0, 2e6], [1, null, 1, 4e6]");
  try_damaged(of_caliper, [&](const std::string& text) {
    const auto run = caliper_run(file("profile.json", text));
    (void)values(*run, "wall");
  });
  const std::string of_tau = tau("\"a => b [{f.c} {1,2}]\" 1 0 5 5 0 GROUP=\"U\"\n\"b\" 2 0 7 7 0 GROUP=\"U\"\n", 2);
  try_damaged(of_tau, [&](const std::string& text) {
    (void)file("tau/profile.0.0.0", text);
    const auto run = tau_run((directory_ / "tau").string());
    (void)values(*run, "wall");
  });
}

}  // namespace
}  // namespace refrain::database
