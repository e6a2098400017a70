/// Measures how long the evaluation of properties takes: in one statement for all contexts, in a query for each
/// context, and outside the database after fetching the rows. Also measures how long loading an experiment takes,
/// compared with a bare insert of the same rows.
///
///     bench_properties [postgresql://...]     uses SQLite in a temporary file, and that server if one is given

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <unistd.h>

#include "offline/database/add_run.hpp"
#include "offline/database/evaluation.hpp"
#include "offline/properties/builtin.hpp"

namespace {

using namespace refrain;
using database::Connection;
using database::integer_of;
using database::real_of;
using database::Value;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

template <class Work>
double seconds_of(const Work& work) {
  const auto begin = Clock::now();
  work();
  return seconds_since(begin);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

const properties::Program& program() {
  static const properties::Program of = properties::compile_with_builtin({});
  return of;
}

/// A synthetic experiment with `ranks` locations, a call tree of `paths` nodes and a loop of `iterations`.
class Synthetic : public database::RunSource {
 public:
  Synthetic(int number, std::size_t ranks, std::size_t paths, std::int64_t iterations) : iterations_(iterations) {
    loops_ = {"step"};
    facts_.program = "synthetic";
    facts_.version = "1";
    facts_.experiment = fmt::format("run {}", number);
    facts_.source = "bench";
    facts_.start_us = number * std::int64_t{1'000'000};
    facts_.processes = static_cast<std::int64_t>(ranks);
    nodes_.push_back({run::PathKind::User, -1, "main"});
    const char* const functions[] = {"MPI_Allreduce", "MPI_Barrier", "MPI_Recv", "MPI_Send", "MPI_Waitall"};
    for (std::size_t i = 1; i < paths; ++i) {
      database::RunNode node;
      const bool is_mpi = i % 5 == 0;
      node.kind = is_mpi ? run::PathKind::Mpi : run::PathKind::User;
      node.parent = static_cast<std::int32_t>((i - 1) / 4);
      while (nodes_[static_cast<std::size_t>(node.parent)].kind == run::PathKind::Mpi) --node.parent;
      node.name = is_mpi ? functions[i / 5 % 5] : fmt::format("function_{}", i % 200);
      node.error_s = 0.01;
      if (is_mpi) {
        node.wait = run::Estimate{.seconds = 0.5};
        node.wait->replicates.add(run::signs_of(0, 0), 5e7);
        node.wait_confidence = 0.9;
        node.wait_kind = "late_sender";
      }
      nodes_.push_back(std::move(node));
    }
    for (std::size_t i = 0; i < ranks; ++i) locations_.push_back({static_cast<std::int64_t>(i), 0, "thread"});
    for (const char* name : {"wall", "mpi", "user", "not_on_cpu", "visits", "messages_sent", "bytes_sent"})
      metrics_.push_back({name, "s"});
  }
  std::string digest() const override { return "digest of " + facts_.experiment; }
  void for_each_node(std::size_t location, const TakeNode& take) override {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const double time = 1 + static_cast<double>((i * 7 + location * 3) % 11) / 8;
      const bool is_mpi = nodes_[i].kind == run::PathKind::Mpi;
      const double values[] = {
          time, is_mpi ? time : 0, is_mpi ? 0 : time, 0, is_mpi ? 100.0 : 0, is_mpi ? 50.0 : 0, is_mpi ? 5e4 : 0};
      take(static_cast<std::uint32_t>(i), values);
    }
  }
  std::int64_t iterations(std::size_t) override { return iterations_; }
  void for_each_iteration(std::size_t location, const std::function<void(const database::RunCluster&)>& take_cluster,
                          const std::function<void(const database::RunIteration&)>& take) override {
    take_cluster({0, 0, iterations_, 0, iterations_ - 1, 1e-3});
    for (std::int64_t i = 0; i < iterations_; ++i)
      take({0, i, 0, 1e-3 + static_cast<double>((i + static_cast<std::int64_t>(location)) % 13) * 1e-5, 2e-4, 8e-4});
  }

 private:
  std::int64_t iterations_;
};

void load(Connection& connection, int number, std::size_t ranks, std::size_t paths, std::int64_t iterations) {
  Synthetic source(number, ranks, paths, iterations);
  database::Writing writing(connection, [] {});
  database::Store(connection, *program().model).prepare();
  add_run(connection, *program().model, source, {});
  writing.commit();
}

/// Inserts the rows of all tables of one database into an empty one, and does nothing else. Returns the seconds that
/// this takes.
double bare_insert(Connection& from, Connection& to) {
  const auto& model = *program().model;
  struct Content {
    std::string table;
    std::vector<std::string> columns;
    std::vector<std::vector<Value>> rows;
  };
  std::vector<Content> all;
  for (const properties::Table& table : model.tables()) {
    Content content{table.name, {"id"}, {}};
    std::string names = "\"id\"";
    for (const auto& column : table.columns) {
      content.columns.push_back(column.name);
      names += ", " + properties::quoted_name(column.name);
    }
    from.query(fmt::format("SELECT {} FROM {}", names, properties::quoted_name(table.name)),
               [&](std::span<const Value> row) { content.rows.emplace_back(row.begin(), row.end()); });
    all.push_back(std::move(content));
  }
  return seconds_of([&] {
    database::Writing writing(to, [] {});
    database::Store(to, model).prepare();
    for (const Content& content : all) {
      const auto appender = to.append(content.table, content.columns);
      for (const auto& row : content.rows) appender->row(row);
      appender->finish();
    }
    writing.commit();
  });
}

/// Regions of many runs with 25 timings each, as in the paper: 2,000 regions give 10^6 timings.
struct Timings {
  int regions, runs = 20, types = 25;
  std::vector<std::int64_t> run_ids;
};

Timings fill_timings(Connection& connection, int regions) {
  Timings of{.regions = regions};
  const auto& model = *program().model;
  database::Writing writing(connection, [] {});
  database::Store(connection, model).prepare();
  database::ObjectTables tables(connection, model);
  const std::int64_t parent = tables.of("Program", {"Name"}).add({std::string("code")});
  const std::int64_t version = tables.of("ProgVersion", {"Program_Versions", "Name"}).add({parent, std::string("1")});
  for (int t = 0; t < of.runs; ++t)
    of.run_ids.push_back(tables.of("TestRun", {"ProgVersion_Runs", "NoPe", "Experiment"})
                             .add({version, std::int64_t{t + 1}, fmt::format("run {}", t)}));
  for (int r = 0; r < of.regions; ++r) {
    const std::int64_t function = tables.of("Function", {"ProgVersion_Functions", "Name"})
                                      .add({version, r == 0 ? std::string("main") : fmt::format("f{}", r)});
    const std::int64_t region = tables.of("Region", {"Function_Regions", "Name"})
                                    .add({function, r == 0 ? std::string("main") : fmt::format("f{}", r)});
    for (int t = 0; t < of.runs; ++t) {
      tables.of("TotalTiming", {"Region_TotTimes", "Run", "Excl", "Incl", "Ovhd"})
          .add({region, of.run_ids[static_cast<std::size_t>(t)], 1.0, 100.0 + r % 7, 5.0});
      for (int type = 0; type < of.types; ++type)
        tables.of("TypedTiming", {"Region_TypTimes", "Run", "Type", "Time"})
            .add({region, of.run_ids[static_cast<std::size_t>(t)], std::int64_t{type}, (r + type) % 5 / 4.0});
    }
  }
  tables.finish(of.run_ids[0], {});
  writing.commit();
  connection.analyze();
  return of;
}

/// Compares the ways to evaluate a property. The queries for single contexts cover at most 2,000 regions; their time is
/// scaled to all regions.
void compare_ways(Connection& connection, const char* name, int all_regions) {
  constexpr std::size_t max_queried = 2000;
  const Timings of = fill_timings(connection, all_regions);
  const auto& model = *program().model;
  const properties::Property& property = *program().property("SyncCost");
  const std::int64_t basis = integer_of(connection.one("SELECT \"id\" FROM \"Region\" WHERE \"Name\" = 'main'"));
  const std::string basis_condition = fmt::format("{{}} = {}", basis);
  std::vector<double> one, each, fetched;
  double sum_one = 0, sum_each = 0, sum_fetched = 0;
  double scale = 1;
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    sum_one = sum_each = sum_fetched = 0;
    one.push_back(seconds_of([&] {
      connection.query(property_statement(property, model, connection.dialect(), {{"Basis", basis_condition}}),
                       [&](std::span<const Value> row) { sum_one += real_of(row[5]); });
    }));
    each.push_back(seconds_of([&] {
      std::vector<std::int64_t> regions;
      connection.query("SELECT \"id\" FROM \"Region\"",
                       [&](std::span<const Value> row) { regions.push_back(integer_of(row[0])); });
      if (regions.size() > max_queried) {
        scale = static_cast<double>(regions.size()) / max_queried;
        regions.resize(max_queried);
      }
      for (const std::int64_t region : regions)
        for (const std::int64_t run : of.run_ids)
          connection.query(property_statement(property, model, connection.dialect(),
                                              {{"Basis", basis_condition},
                                               {"r", fmt::format("{{}} = {}", region)},
                                               {"t", fmt::format("{{}} = {}", run)}}),
                           [&](std::span<const Value> row) { sum_each += real_of(row[5]); });
    }));
    fetched.push_back(seconds_of([&] {
      std::map<std::pair<std::int64_t, std::int64_t>, double> barrier, duration;
      connection.query("SELECT \"Region_TypTimes\", \"Run\", \"Type\", \"Time\" FROM \"TypedTiming\"",
                       [&](std::span<const Value> row) {
                         if (integer_of(row[2]) == 8)
                           barrier[{integer_of(row[0]), integer_of(row[1])}] += real_of(row[3]);
                       });
      connection.query("SELECT \"Region_TotTimes\", \"Run\", \"Incl\" FROM \"TotalTiming\"",
                       [&](std::span<const Value> row) {
                         duration[{integer_of(row[0]), integer_of(row[1])}] = real_of(row[2]);
                       });
      for (const auto& [context, time] : barrier)
        if (time > 0) sum_fetched += time / duration[{basis, context.second}];
    }));
  }
  for (double& time : each) time *= scale;
  const double contexts = of.regions * of.runs, records = contexts * (of.types + 1);
  fmt::print(
      "{:<12} all contexts of SyncCost ({:.0f}, of {:.0f} rows): one statement {:.2f} s; a query each {:.2f} s ({:.1f} "
      "x); fetched {:.2f} s ({:.1f} x); sums {:.6g} {:.6g} {:.6g}\n",
      name, contexts, records, median(one), median(each), median(each) / median(one), median(fetched),
      median(fetched) / median(one), sum_one, sum_each * scale, sum_fetched);
  fmt::print("{:<12} at the paper's 1 ms a record fetching would take {:.0f} s ({:.0f} x), by arithmetic\n", name,
             records * 1e-3, records * 1e-3 / median(one));
}

void compare_loading(const std::function<std::unique_ptr<Connection>()>& fresh, const char* name) {
  constexpr int rounds = 3, many_runs = 20;
  std::vector<double> loads, bares;
  std::unique_ptr<Connection> loaded;
  for (int round = 0; round < rounds; ++round) {
    loaded = fresh();
    loads.push_back(seconds_of([&] { load(*loaded, 1, 64, 500, 10'000); }));
    const auto bare = fresh();
    bares.push_back(bare_insert(*loaded, *bare));
  }
  std::int64_t rows = 0;
  for (const auto& table : program().model->tables())
    rows += integer_of(loaded->one(fmt::format("SELECT COUNT(*) FROM {}", properties::quoted_name(table.name))));
  fmt::print(
      "{:<12} loading 64 ranks, 500 call paths, 10^4 iterations ({} rows): {:.2f} s, a bare insert {:.2f} s ({:.2f} "
      "x)\n",
      name, rows, median(loads), median(bares), median(loads) / median(bares));
  for (int run = 2; run <= many_runs; ++run) load(*loaded, run, 64, 500, 10'000);
  loaded->analyze();
  database::EvaluationRequest request;
  request.run = database::Store(*loaded, *program().model).runs().back();
  std::size_t found = 0;
  std::map<std::string, double> times;
  auto last = Clock::now();
  std::vector<std::string> order;
  for (const auto& property : program().properties) order.push_back(property.name);
  request.progress = [&](std::size_t done, std::size_t) {
    times[order[done - 1]] = seconds_since(last);
    last = Clock::now();
  };
  const double all = seconds_of([&] { found = evaluate(*loaded, program(), request).found.size(); });
  const auto slowest = std::ranges::max_element(times, {}, [](const auto& of) { return of.second; });
  fmt::print("{:<12} all {} properties of one of {} runs of it: {:.2f} s, {} found; longest {} {:.2f} s\n", name,
             program().properties.size(), many_runs, all, found, slowest->first, slowest->second);
  request.progress = [](std::size_t, std::size_t) {};
  const double of_all = seconds_of([&] {
    for (const auto& run : database::Store(*loaded, *program().model).runs()) {
      request.run = run;
      evaluate(*loaded, program(), request);
    }
  });
  fmt::print("{:<12} the same of each of the {} runs: {:.2f} s\n", name, many_runs, of_all);
}

}  // namespace

int main(int argc, char** argv) {
  const properties::Source model = properties::builtin_model(), library = properties::builtin_library();
  std::vector<double> compiles, alone;
  for (int i = 0; i < 21; ++i) {
    compiles.push_back(seconds_of([&] { properties::compile({model, library}); }));
    alone.push_back(seconds_of([&] {
      const auto of = properties::compile(
          {model,
           {"one.asl", "PROPERTY P(Region r) { CONDITION: COUNT(r.TotTimes) > 0; CONFIDENCE: 1; SEVERITY: 1; }"}});
      property_statement(of.properties[0], *of.model, properties::Dialect::Sqlite, {});
    }));
  }
  fmt::print("compiling model and {} properties {:.2f} ms; model and one property, to SQL {:.2f} ms\n",
             program().properties.size(), 1e3 * median(compiles), 1e3 * median(alone));
  char folder[] = "/tmp/refrain-bench-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  int files = 0;
  const auto sqlite = [&] { return Connection::open(fmt::format("{}/{}.sqlite", folder, ++files), true); };
  for (const int regions : {2000, 20'000}) compare_ways(*sqlite(), "SQLite", regions);
  compare_loading(sqlite, "SQLite");
  for (int i = 1; i <= files; ++i) unlink(fmt::format("{}/{}.sqlite", folder, i).c_str());
  rmdir(folder);
  if (argc > 1) {
    int schemas = 0;
    const auto postgresql = [&] {
      auto connection = Connection::open(argv[1], true);
      const std::string schema = fmt::format("bench{}", ++schemas);
      connection->execute(fmt::format("DROP SCHEMA IF EXISTS {} CASCADE", schema));
      connection->execute(fmt::format("CREATE SCHEMA {}", schema));
      connection->execute(fmt::format("SET search_path TO {}", schema));
      return connection;
    };
    for (const int regions : {2000, 20'000}) compare_ways(*postgresql(), "PostgreSQL", regions);
    compare_loading(postgresql, "PostgreSQL");
    const auto connection = Connection::open(argv[1], true);
    for (int i = 1; i <= schemas; ++i) connection->execute(fmt::format("DROP SCHEMA bench{} CASCADE", i));
  }
  return 0;
}
