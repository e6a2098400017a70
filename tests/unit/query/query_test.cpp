// What SQL says of made-up runs (planted_run.hpp), against sums by hand.
#include "offline/query/query.hpp"

#include <gtest/gtest.h>

#include "offline/experiment/damage.hpp"
#include "tests/unit/query/planted_run.hpp"

namespace refrain::query {
namespace {

using database::Value;
using Rows = std::vector<std::vector<Value>>;

Value text(const char* value) { return std::string(value); }
Value whole(std::int64_t value) { return value; }
const Value null;

/// Of so many runs, all of them planted ones.
class Asked {
 public:
  explicit Asked(int runs = 1) {
    std::vector<Run> all;
    for (int i = 0; i < runs; ++i) {
      sources.push_back(std::make_shared<PlantedRun>("run " + std::to_string(i)));
      // Waiting of 25 % on rank 1; a second one is a part of it.
      findings::Finding whole{.rule = "late_sender", .share = 0.25, .error = -1, .paths = {{"main", "MPI_Recv"}}};
      findings::Finding part{.rule = "late_sender", .share = 0.125, .error = 0.0625, .paths = {{"main", "MPI_Recv"}}};
      part.ranks = findings::Ranks({1});
      part.part_of = 0;
      all.push_back({sources.back(), {whole, part}});
    }
    query = std::make_unique<Query>(std::move(all));
  }
  Rows operator()(const std::string& sql) {
    Rows rows;
    query->ask(sql).for_each_row([&](std::span<const Value> row) { rows.emplace_back(row.begin(), row.end()); });
    return rows;
  }
  std::string mistake(const std::string& sql) {
    try {
      (*this)(sql);
    } catch (const SqlError& error) {
      return error.what();
    }
    return "none";
  }

  std::vector<std::shared_ptr<PlantedRun>> sources;
  std::unique_ptr<Query> query;
};

std::string sum_of(const std::string& metric, const std::string& more = "") {
  return "SELECT SUM(v.value) FROM value v JOIN metric m ON v.metric = m.id WHERE m.name = '" + metric + "'" + more;
}

TEST(Query, units_add_up_to_the_run) {
  Asked ask;
  EXPECT_EQ(ask(sum_of("wall")), (Rows{{1.0 + 2 + 8 + 64 + 4 + 16 + 32}}));
  EXPECT_EQ(ask(sum_of("mpi")), (Rows{{8.0 + 16 + 32}}));
  EXPECT_EQ(ask(sum_of("visits")), (Rows{{3.0 + 5 + 7}}));
}

TEST(Query, what_is_known_of_the_run_only_is_there_once) {
  Asked ask;
  EXPECT_EQ(ask(sum_of("late_sender")), (Rows{{0.5}}));
  EXPECT_EQ(ask(sum_of("late_sender", " AND v.unit IS NOT NULL")), (Rows{{null}}));
}

TEST(Query, waits_add_up_whether_ranks_are_known_or_not) {
  Asked ask;
  EXPECT_EQ(ask(sum_of("wait")), (Rows{{16.0}}));
  EXPECT_EQ(ask("SELECT l.rank, v.value FROM value v JOIN metric m ON v.metric = m.id LEFT JOIN location l ON "
                "v.location = l.id WHERE m.name = 'wait' ORDER BY l.rank, v.value"),
            (Rows{{null, 1.0}, {null, 10.0}, {whole(0), 2.0}, {whole(1), 3.0}}));
}

TEST(Query, waits_alone_read_no_location) {
  Asked ask;
  ask(sum_of("wait"));
  EXPECT_EQ(ask.sources[0]->passes, 0);
}

TEST(Query, a_location_alone_is_read_where_one_is_asked_for) {
  Asked ask;
  EXPECT_EQ(ask("SELECT SUM(value) FROM value WHERE location = 1 AND metric = 0"), (Rows{{52.0}}));
  EXPECT_EQ(ask.sources[0]->passes, 1);
}

TEST(Query, bounds_say_what_comparisons_say) {
  Asked ask;
  for (const auto& [where, sum] : std::vector<std::pair<const char*, double>>{{"location = 0", 75},
                                                                              {"location < 1", 75},
                                                                              {"location <= 0.5", 75},
                                                                              {"location > 0", 52},
                                                                              {"location >= 1", 52},
                                                                              {"location = '1'", 52},
                                                                              {"location IN (1, 0)", 127},
                                                                              {"location BETWEEN 0 AND 7", 127},
                                                                              {"node = 1", 24},
                                                                              {"node > 1 AND node < 4", 32},
                                                                              {"unit = 0", 65},
                                                                              {"unit > 0", 10},
                                                                              {"unit IS NULL", 52},
                                                                              {"unit IS NOT NULL", 75},
                                                                              {"run = 0", 127}})
    EXPECT_EQ(ask(std::string("SELECT SUM(value) FROM value WHERE metric = 0 AND ") + where), (Rows{{sum}})) << where;
  EXPECT_EQ(ask("SELECT COUNT(*) FROM value WHERE location = NULL OR run = 1"), (Rows{{whole(0)}}));
}

TEST(Query, call_paths_are_in_preorder) {
  Asked ask;
  EXPECT_EQ(ask("SELECT id, parent, last, depth, kind, path(id) FROM callpath ORDER BY id"),
            (Rows{{whole(0), null, whole(3), whole(1), text("user"), text("main")},
                  {whole(1), whole(0), whole(1), whole(2), text("mpi"), text("main > MPI_Recv")},
                  {whole(2), whole(0), whole(3), whole(2), text("user"), text("main > solve")},
                  {whole(3), whole(2), whole(3), whole(3), text("mpi"), text("main > solve > MPI_Recv")},
                  {whole(4), null, whole(4), whole(1), text("other"), text("(blocked)")}}));
  EXPECT_EQ(ask("SELECT path(5), path(-1), path(NULL), path('main')"), (Rows{{null, null, null, null}}));
}

TEST(Query, inclusive_values_are_sums_over_a_range) {
  Asked ask;
  EXPECT_EQ(ask("WITH own AS MATERIALIZED (SELECT node, SUM(value) AS s FROM value WHERE metric = 0 GROUP BY node) "
                "SELECT c.id, SUM(own.s) FROM callpath c JOIN own ON own.node BETWEEN c.id AND c.last GROUP BY c.id"),
            (Rows{{whole(0), 63.0}, {whole(1), 24.0}, {whole(2), 32.0}, {whole(3), 32.0}, {whole(4), 64.0}}));
}

TEST(Query, functions_are_known_by_their_names) {
  Asked ask;
  EXPECT_EQ(ask("SELECT f.name, f.is_mpi, COUNT(*) FROM callpath c JOIN function f ON c.function = f.id GROUP BY f.id "
                "ORDER BY f.name"),
            (Rows{{text("MPI_Recv"), whole(1), whole(2)},
                  {text("main"), whole(0), whole(1)},
                  {text("solve"), whole(0), whole(1)}}));
}

TEST(Query, order_and_groups_are_right_without_sorting) {
  Asked ask(2);
  const Rows ordered =
      ask("SELECT run, location, unit, node, metric, value FROM value ORDER BY run, location, unit, node, metric");
  // The unary plus hides a column from the table, so that SQLite sorts.
  EXPECT_EQ(ordered, ask("SELECT run, location, unit, node, metric, value FROM value ORDER BY +run, +location, +unit, "
                         "+node, +metric"));
  EXPECT_EQ(ask("SELECT location, SUM(value) FROM value WHERE metric = 0 GROUP BY location"),
            (Rows{{whole(0), 75.0}, {whole(1), 52.0}, {whole(2), 75.0}, {whole(3), 52.0}}));
}

TEST(Query, alternatives_count_each_row_once) {
  Asked ask(2);
  for (const auto& [bounded, unbounded] : std::vector<std::pair<const char*, const char*>>{
           {"location = 0 OR metric = 1", "+location = 0 OR +metric = 1"},
           {"node = 1 OR unit = 1 OR location = 3", "+node = 1 OR +unit = 1 OR +location = 3"},
           {"run = 1 OR metric = 4", "+run = 1 OR +metric = 4"}}) {
    const std::string from = "SELECT COUNT(*), SUM(value) FROM value WHERE ";
    EXPECT_EQ(ask(from + bounded), ask(from + unbounded)) << bounded;
  }
  EXPECT_EQ(ask("SELECT COUNT(*) FROM iteration WHERE location = 0 OR loop = 1"), (Rows{{whole(6)}}));
}

TEST(Query, runs_meet_by_names) {
  Asked ask(2);
  EXPECT_EQ(ask("SELECT COUNT(*) FROM callpath"), (Rows{{whole(5)}}));
  EXPECT_EQ(
      ask("SELECT run, SUM(value) FROM value v JOIN metric m ON v.metric = m.id WHERE m.name = 'wait' GROUP BY run"),
      (Rows{{whole(0), 16.0}, {whole(1), 16.0}}));
  EXPECT_EQ(ask("SELECT id, run, rank FROM location ORDER BY id"), (Rows{{whole(0), whole(0), whole(0)},
                                                                         {whole(1), whole(0), whole(1)},
                                                                         {whole(2), whole(1), whole(0)},
                                                                         {whole(3), whole(1), whole(1)}}));
  EXPECT_EQ(ask("SELECT experiment FROM run ORDER BY id"), (Rows{{text("run 0")}, {text("run 1")}}));
}

TEST(Query, loops_units_and_iterations_meet) {
  Asked ask(2);
  EXPECT_EQ(ask("SELECT id, run, name, iterations FROM loop ORDER BY id"),
            (Rows{{whole(0), whole(0), text("steps"), whole(3)}, {whole(1), whole(1), text("steps"), whole(3)}}));
  EXPECT_EQ(ask("SELECT location, loop, cluster FROM unit WHERE location < 2 ORDER BY id"),
            (Rows{{whole(0), null, null}, {whole(0), whole(0), whole(0)}, {whole(0), whole(0), whole(1)}}));
  EXPECT_EQ(ask("SELECT i.number, u.cluster, i.wall_s, i.user_s FROM iteration i JOIN unit u ON i.unit = u.id WHERE "
                "i.loop = 0 "
                "ORDER BY i.number"),
            (Rows{{whole(0), whole(0), 2.0, 2.0}, {whole(1), whole(1), 4.5, 0.0}, {whole(2), whole(1), 3.5, null}}));
  EXPECT_EQ(ask("SELECT SUM(v.value) FROM value v JOIN unit u ON v.unit = u.id WHERE u.loop = 1 AND v.metric = 0"),
            (Rows{{10.0}}));
}

TEST(Query, unknown_is_null) {
  Asked ask;
  EXPECT_EQ(ask("SELECT node, inclusive_error_s, wait_s, wait_error_s, wait_kind FROM estimate ORDER BY node"),
            (Rows{{whole(0), null, null, null, null},
                  {whole(1), null, 6.0, null, text("late_sender")},
                  {whole(2), 0.25, null, null, null},
                  {whole(3), null, 10.0, null, null},
                  {whole(4), null, null, null, null}}));
}

TEST(Query, findings_are_records) {
  Asked ask(2);
  EXPECT_EQ(ask("SELECT id, run, rule, share, error, part_of, ranks FROM finding ORDER BY id"),
            (Rows{{whole(0), whole(0), text("late_sender"), 0.25, null, null, null},
                  {whole(1), whole(0), text("late_sender"), 0.125, 0.0625, whole(0), text("1")},
                  {whole(2), whole(1), text("late_sender"), 0.25, null, null, null},
                  {whole(3), whole(1), text("late_sender"), 0.125, 0.0625, whole(2), text("1")}}));
  EXPECT_EQ(ask("SELECT COUNT(*) FROM finding WHERE text IS NOT NULL"), (Rows{{whole(4)}}));
}

TEST(Query, nothing_can_be_written) {
  Asked ask;
  for (const char* sql : {"DROP TABLE loop", "DELETE FROM metric", "INSERT INTO run VALUES (7, '', '', 1, 1)",
                          "UPDATE location SET rank = 5", "CREATE TABLE more (a)", "CREATE TEMP TABLE more (a)",
                          "ATTACH '/tmp/refrain-query-attached' AS other", "VACUUM INTO '/tmp/refrain-query-vacuum'",
                          "VACUUM", "PRAGMA journal_mode = delete", "BEGIN", "REINDEX"})
    EXPECT_NE(ask.mistake(sql).find("only a SELECT is taken"), std::string::npos) << sql << ": " << ask.mistake(sql);
  EXPECT_NE(ask.mistake("SELECT load_extension('x')"), "none");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM metric"), (Rows{{whole(5)}}));
}

TEST(Query, mistakes_have_their_place) {
  Asked ask;
  EXPECT_EQ(ask.mistake("SELECT\n  x FROM value"), "line 2, column 3: no such column: x");
  EXPECT_EQ(ask.mistake("SELECT 1 FORM value"), "line 1, column 15: near \"value\": syntax error");
  EXPECT_EQ(ask.mistake("SELECT 1; SELECT 2"), "line 1, column 10: only one statement is taken at a time");
  EXPECT_EQ(ask.mistake(" -- nothing"), "there is no statement in it");
  EXPECT_EQ(ask("SELECT 1; -- the end"), (Rows{{whole(1)}}));
  EXPECT_EQ(ask.mistake("SELECT abs(-9223372036854775808)"), "integer overflow");
}

TEST(Query, names_of_columns_differ) {
  Asked ask;
  const auto answer = ask.query->ask("SELECT c.id, m.id, m.name, c.id FROM callpath c, metric m LIMIT 1");
  EXPECT_EQ(answer.columns, (std::vector<std::string>{"id", "id:1", "name", "id:2"}));
  EXPECT_EQ(ask("SELECT x'00ff', x''"), (Rows{{text("X'00FF'"), text("X''")}}));
}

TEST(Query, what_reading_throws_comes_through) {
  class Unreadable : public PlantedRun {
    std::vector<run::UnitRef> units(std::size_t) override { throw experiment::ReadError("rank 3 is damaged"); }
  };
  std::vector<query::Run> runs;
  runs.push_back({std::make_shared<Unreadable>()});
  Query query(std::move(runs));
  EXPECT_THROW(query.ask("SELECT SUM(value) FROM value").for_each_row([](auto) {}), experiment::ReadError);
  EXPECT_THROW(query.ask("SELECT COUNT(*) FROM unit").for_each_row([](auto) {}), experiment::ReadError);
  EXPECT_NO_THROW(query.ask("SELECT COUNT(*) FROM callpath").for_each_row([](auto) {}));
}

}  // namespace
}  // namespace refrain::query
