/// The properties of Gerndt and Esser on a database whose numbers are computed by hand.

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "offline/database/evaluation.hpp"
#include "offline/properties/builtin.hpp"

namespace refrain::database {
namespace {

using namespace std::string_literals;

/// Two runs of one program, with 2 and 8 processes. Times of regions are sums over processes:
///
///            2 processes                       8 processes
///            excl  incl  overhead  barrier     excl  incl  overhead  barrier
///     main    10    100     20        5          12   160     60       30
///     solve   70     90     18        4         100   148     40       24
///
/// The barrier in solve, over the processes: 8: mean 3, deviation 0.5; 2: mean 2, deviation 0.1.
class Paper : public testing::Test {
 protected:
  Paper() {
    const auto& model = *program_.model;
    Writing writing(*connection_, [] {});
    Store(*connection_, model).prepare();
    ObjectTables tables(*connection_, model);
    const auto enumerator = [&](const std::string& name) {
      const auto& values = model.enumerations[static_cast<std::size_t>(model.enumeration_named("TimingType"))].values;
      return static_cast<std::int64_t>(std::ranges::find(values, name) - values.begin());
    };
    const std::int64_t program = tables.of("Program", {"Name"}).add({"code"s});
    const std::int64_t version = tables.of("ProgVersion", {"Program_Versions", "Name"}).add({program, "1"s});
    auto& functions = tables.of("Function", {"ProgVersion_Functions", "Name", "IsMpi", "Type"});
    auto& regions = tables.of("Region", {"Function_Regions", "Name", "Body"});
    std::int64_t function_of[2], region_of[2];
    for (int i = 0; i < 2; ++i) {
      const std::string name = i == 0 ? "main" : "solve";
      function_of[i] = functions.add({version, name, std::int64_t{0}, Value()});
      region_of[i] = regions.add({function_of[i], name, function_of[i]});
    }
    const std::int64_t barrier = functions.add({version, "MPI_Barrier"s, std::int64_t{1}, enumerator("Barrier")});
    const std::int64_t call = tables.of("FunctionCall", {"Function_Calls", "Caller", "CallingReg", "Callee"})
                                  .add({barrier, function_of[1], region_of[1], barrier});
    const std::int64_t other = tables.of("FunctionCall", {"Function_Calls", "Caller", "CallingReg", "Callee"})
                                   .add({function_of[1], function_of[0], region_of[0], function_of[1]});
    auto& runs = tables.of("TestRun", {"ProgVersion_Runs", "NoPe", "Experiment", "Elapsed", "Source"});
    auto& totals = tables.of("TotalTiming", {"Region_TotTimes", "Run", "Excl", "Incl", "Ovhd", "Error"});
    auto& typed = tables.of("TypedTiming", {"Region_TypTimes", "Run", "Type", "Time"});
    auto& calls = tables.of("CallTiming", {"FunctionCall_Sums", "Run", "MeanTime", "StdevTime"});
    const double numbers[2][2][4] = {{{10, 100, 20, 5}, {70, 90, 18, 4}}, {{12, 160, 60, 30}, {100, 148, 40, 24}}};
    for (int r = 0; r < 2; ++r) {
      const std::int64_t processes = r == 0 ? 2 : 8;
      const std::int64_t run = runs.add({version, processes, "run of " + std::to_string(processes), 20.0, "test"s});
      for (int i = 0; i < 2; ++i) {
        const auto& of = numbers[r][i];
        totals.add({region_of[i], run, of[0], of[1], of[2], 0.0});
        typed.add({region_of[i], run, enumerator("Barrier"), of[3]});
        typed.add({region_of[i], run, enumerator("Send"), of[2] - of[3]});
      }
      calls.add({call, run, r == 0 ? 2.0 : 3.0, r == 0 ? 0.1 : 0.5});
      calls.add({other, run, 5.0, 4.0});
      runs_.push_back(run);
    }
    tables.finish(runs_[0], {});
    for (const std::int64_t run : runs_)
      connection_->execute("INSERT INTO refrain_runs VALUES (" + std::to_string(run) + ", 'd" + std::to_string(run) +
                           "', '')");
    writing.commit();
  }

  /// Severities by region or call, of the run with 2 (0) or 8 (1) processes.
  std::map<std::string, double> severities(const std::string& property, std::size_t run) {
    EvaluationRequest request;
    request.run = Store(*connection_, *program_.model).runs({{}, {}, runs_[run]}).at(0);
    request.only = {property};
    std::map<std::string, double> found;
    for (const Found& of : evaluate(*connection_, program_, request).found) {
      EXPECT_EQ(1, of.confidence);
      found[of.context[0].second] = of.severity;
    }
    return found;
  }

  const properties::Program program_ = properties::compile_with_builtin({});
  std::unique_ptr<Connection> connection_ = Connection::open(":memory:", true);
  std::vector<std::int64_t> runs_;
};

using Severities = std::map<std::string, double>;

TEST_F(Paper, sublinear_speedup_is_the_cost_against_the_fewest_processes) {
  EXPECT_EQ((Severities{{"main", 60.0 / 160}, {"solve", 58.0 / 160}}), severities("SublinearSpeedup", 1));
  EXPECT_EQ(Severities(), severities("SublinearSpeedup", 0));
}

TEST_F(Paper, measured_and_unmeasured_cost) {
  EXPECT_EQ((Severities{{"main", 60.0 / 160}, {"solve", 40.0 / 160}}), severities("MeasuredCost", 1));
  EXPECT_EQ((Severities{{"main", 20.0 / 100}, {"solve", 18.0 / 100}}), severities("MeasuredCost", 0));
  // Of main 60 - 60: nothing.
  EXPECT_EQ((Severities{{"solve", 18.0 / 160}}), severities("UnmeasuredCost", 1));
}

TEST_F(Paper, cost_of_barriers) {
  EXPECT_EQ((Severities{{"main", 30.0 / 160}, {"solve", 24.0 / 160}}), severities("SyncCost", 1));
  EXPECT_EQ((Severities{{"main", 5.0 / 100}, {"solve", 4.0 / 100}}), severities("SyncCost", 0));
}

TEST_F(Paper, load_imbalance_is_of_barriers_alone) {
  // 0.5 > 0.1 * 3, of 8 processes; 0.1 is not above 0.1 * 2.
  EXPECT_EQ((Severities{{"MPI_Barrier in solve", 3.0 * 8 / 160}}), severities("LoadImbalance", 1));
  EXPECT_EQ(Severities(), severities("LoadImbalance", 0));
}

TEST_F(Paper, the_most_severe_property_is_first_and_others_say_why_they_are_not_evaluated) {
  EvaluationRequest request;
  request.run = Store(*connection_, *program_.model).runs({{}, {}, runs_[1]}).at(0);
  const Evaluation evaluation = evaluate(*connection_, program_, request);
  EXPECT_EQ("main", evaluation.basis);
  ASSERT_FALSE(evaluation.found.empty());
  for (std::size_t i = 1; i < evaluation.found.size(); ++i)
    EXPECT_GE(evaluation.found[i - 1].severity, evaluation.found[i].severity);
  const auto drift = std::ranges::find(evaluation.not_evaluated, "Drift", &NotEvaluated::name);
  ASSERT_NE(evaluation.not_evaluated.end(), drift);
  EXPECT_EQ("the run has no Loop", drift->why);
}

TEST_F(Paper, a_context_is_outer_when_those_inside_have_nearly_all_of_its_severity) {
  const auto is_outer = [&](const std::string& property, int run, const std::string& region) {
    EvaluationRequest request;
    request.run = Store(*connection_, *program_.model).runs({{}, {}, runs_[run]}).at(0);
    request.only = {property};
    for (const Found& of : evaluate(*connection_, program_, request).found)
      if (of.context[0].second == region) return of.is_outer;
    ADD_FAILURE() << property << " does not hold in " << region;
    return false;
  };
  EXPECT_TRUE(is_outer("MeasuredCost", 0, "main")) << "18 of 20 s are in solve";
  EXPECT_FALSE(is_outer("MeasuredCost", 0, "solve"));
  EXPECT_FALSE(is_outer("MeasuredCost", 1, "main")) << "40 of 60 s are in solve";
  {
    Writing writing(*connection_, [] {});
    connection_->execute(
        "INSERT INTO \"FunctionCall\" (\"id\", \"Function_Calls\", \"Caller\", \"CallingReg\", \"Callee\") SELECT 100, "
        "m.\"id\", s.\"id\", r.\"id\", m.\"id\" FROM \"Function\" m, \"Function\" s, \"Region\" r WHERE m.\"Name\" = "
        "'main' "
        "AND s.\"Name\" = 'solve' AND r.\"Name\" = 'solve'");
    writing.commit();
  }
  EXPECT_TRUE(is_outer("MeasuredCost", 0, "main"));
  EXPECT_FALSE(is_outer("MeasuredCost", 0, "solve")) << "though it calls main, too";
}

TEST_F(Paper, a_database_of_another_model_is_refused_with_what_differs) {
  properties::Source other = properties::builtin_model();
  other.text += "class Further { int Number; }\n";
  const properties::Program changed = properties::compile({other});
  try {
    Store(*connection_, *changed.model).check();
    FAIL();
  } catch (const DatabaseError& error) {
    EXPECT_STREQ(
        ":memory:: it was made for another data model: this version has \"class Further\"; this version has \"Further: "
        "int Number\"",
        error.what());
  }
}

}  // namespace
}  // namespace refrain::database
