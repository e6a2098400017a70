/// `refrain query EXPERIMENT... "SELECT ..."`: SQL over experiments.

#include "offline/query/query.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <ranges>

#include "offline/experiment/clean_text.hpp"
#include "offline/query/schema.hpp"
#include "offline/report/print_tables.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/read_run.hpp"
#include "tools/subcommands.hpp"

namespace refrain::tools {
namespace {

constexpr const char* query_name = "query";

struct QueryRequest {
  std::vector<std::string> words;  ///< experiments, then the statement
  std::string format = "text";
  bool schema = false;
};

/// Numbers as SQL returns them. Their units are unknown, so text output does not scale them.
struct CellOf {
  bool is_for_people;
  report::Cell operator()(std::monostate) const { return {}; }
  report::Cell operator()(std::int64_t value) const {
    return is_for_people ? report::Cell(std::to_string(value)) : report::Cell(value);
  }
  report::Cell operator()(double value) const {
    return is_for_people ? report::Cell(fmt::format("{:.6g}", value)) : report::Cell(value);
  }
  report::Cell operator()(const std::string& text) const { return experiment::clean_text(text); }
};

report::Table table_of(const query::Answer& answer, bool is_for_people) {
  report::Table table{.name = "rows", .empty = "There are no rows."};
  const auto& first = answer.first;
  for (std::size_t i = 0; i < answer.columns.size(); ++i) {
    const bool is_number = i < first.size() &&
                           (std::holds_alternative<std::int64_t>(first[i]) || std::holds_alternative<double>(first[i]));
    table.columns.push_back({.name = experiment::clean_text(answer.columns[i]),
                             .kind = is_number ? report::Kind::Number : report::Kind::Text,
                             .align = is_number ? report::Align::Right : report::Align::Left});
  }
  table.rows = [&answer, is_for_people](const report::TakeRow& take) {
    answer.for_each_row([&](std::span<const database::Value> values) {
      report::Row row;
      for (const database::Value& value : values) row.cells.push_back(std::visit(CellOf{is_for_people}, value));
      take(row);
    });
  };
  return table;
}

int run(const QueryRequest& request) {
  if (request.schema) {
    show("{}", query::schema_text());
    return exit_ok;
  }
  if (request.words.size() < 2)
    return complain(query_name, exit_usage,
                    "needs experiments and a statement: refrain query EXPERIMENT... \"SELECT ...\"; --schema lists the "
                    "tables");
  int code = exit_ok;
  std::vector<std::shared_ptr<ReadRun>> read;
  std::vector<query::Run> runs;
  for (const std::string& experiment : request.words | std::views::take(request.words.size() - 1)) {
    const auto& of = read.emplace_back(read_run(experiment, RunNames::Usual));
    runs.push_back({std::shared_ptr<database::RunSource>(of, of->source.get()), of->findings});
    if (!of->not_searched.empty())
      complain(query_name, exit_ok,
               fmt::format("{}: events were not searched for waiting: {}", experiment, of->not_searched));
  }
  query::Query query(std::move(runs));
  const auto answer = query.ask(request.words.back());
  const report::Format format = report::format_of(request.format);
  const bool is_for_people = format == report::Format::Text || format == report::Format::Markdown;
  report::Terminal terminal = report::detect_terminal(stdout);
  terminal.width = 0;  // no column is dropped: the user asked for each
  print_tables({table_of(answer, is_for_people)}, format, terminal, write_to_stdout);
  std::fflush(stdout);
  for (const auto& of : read)
    if (of->experiment) code = std::max(code, tell_damage(query_name, *of->experiment->damage_log()));
  return code;
}

}  // namespace

void add_query(Command root, Invocation& invocation) {
  auto request = std::make_shared<QueryRequest>();
  Command command = root.add("query", "Ask SQL about experiments");
  command
      .option("experiment", request->words,
              "Experiment directories, profiles of CUBE (.cubex), Caliper or TAU, or OTF2 archives, and a statement of "
              "SQL as the last word")
      .type("EXPERIMENT");
  command.option("--format", request->format, "How to print").one_of(report::format_names()).shows_default();
  command.flag("--schema", request->schema, "List the tables and their columns instead");
  command.footer(
      "Exit status: 0 done, 1 wrong usage or a mistake in the statement, 2 an experiment cannot be read, 4 done, but a "
      "part of an experiment is damaged.\n"
      "\n"
      "  refrain query EXPERIMENT \"SELECT path(v.node), SUM(v.value) AS s FROM value v JOIN metric m ON v.metric = "
      "m.id\n"
      "    WHERE m.name = 'wait' GROUP BY v.node ORDER BY s DESC LIMIT 10\"");
  command.when_chosen(
      [request, &invocation] { invocation.exit_code = guarded(query_name, [&] { return run(*request); }); });
}

}  // namespace refrain::tools
