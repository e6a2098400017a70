#include "offline/query/model_tables.hpp"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

#include "offline/experiment/clean_text.hpp"
#include "offline/findings/sentence.hpp"

namespace refrain::query {
namespace {

using database::Value;
using database::value_of;
using experiment::clean_text;

Value id_or_null(std::int64_t id) { return id < 0 ? Value() : Value(id); }
Value text_or_null(const std::string& text) { return text.empty() ? Value() : Value(clean_text(text)); }
Value integer(auto number) { return static_cast<std::int64_t>(number); }

/// Adds a row from its cells.
void put(const AddRow& add, std::initializer_list<Value> row) { add(std::span(row.begin(), row.size())); }

void add_runs(Runs& runs, const AddRow& add) {
  for (std::size_t i = 0; i < runs.runs().size(); ++i) {
    const database::RunFacts& facts = runs.source(i).facts();
    put(add, {integer(i), text_or_null(facts.experiment), text_or_null(facts.program), facts.processes,
              integer(facts.complete)});
  }
}

void add_locations(Runs& runs, const AddRow& add) {
  for (std::size_t i = 0; i < runs.locations().size(); ++i) {
    const auto [run, place] = runs.locations()[i];
    const database::RunLocation& of = runs.source(run).locations()[place];
    put(add, {integer(i), integer(run), of.rank, of.thread, text_or_null(of.name)});
  }
}

void add_metrics(Runs& runs, const AddRow& add) {
  for (std::size_t i = 0; i < runs.metrics().size(); ++i) {
    const run::Metric& of = runs.metrics()[i];
    put(add, {integer(i), of.name, of.unit, id_or_null(of.parent), text_or_null(of.help)});
  }
}

void add_functions(Runs& runs, const AddRow& add) {
  for (std::size_t i = 0; i < runs.functions().size(); ++i)
    put(add, {integer(i), runs.functions()[i].name, integer(runs.functions()[i].is_mpi)});
}

void add_paths(Runs& runs, const AddRow& add) {
  for (std::size_t i = 0; i < runs.paths().size(); ++i) {
    const Path& of = runs.paths()[i];
    put(add, {integer(i), id_or_null(of.parent), of.last, of.depth, of.name, std::string(name_of(of.kind)),
              integer(of.is_marked), id_or_null(of.function)});
  }
}

void add_estimates(Runs& runs, const AddRow& add) {
  for (std::size_t run = 0; run < runs.runs().size(); ++run) {
    const auto& nodes = runs.source(run).nodes();
    std::vector<bool> has(runs.paths().size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const database::RunNode& of = nodes[i];
      const std::int64_t path = runs.path_of(run, i);
      // If two nodes have the same names and so one call path, the first one counts.
      if (has[static_cast<std::size_t>(path)]) continue;
      has[static_cast<std::size_t>(path)] = true;
      put(add, {integer(run), path, value_of(of.exclusive_error_s), value_of(of.error_s),
                of.wait ? value_of(of.wait->seconds) : Value(), of.wait ? value_of(of.wait->error_s()) : Value(),
                value_of(of.wait_confidence), text_or_null(of.wait_kind)});
    }
  }
}

void add_units(Runs& runs, const AddRow& add) {
  for (const Unit& of : runs.units()) put(add, {of.id, of.location, id_or_null(of.loop), id_or_null(of.cluster)});
}

void add_loops(Runs& runs, const AddRow& add) {
  for (std::size_t i = 0; i < runs.loops().size(); ++i) {
    const Loop& of = runs.loops()[i];
    put(add, {integer(i), integer(of.run), of.name, of.iterations});
  }
}

void add_findings(Runs& runs, const AddRow& add) {
  std::int64_t id = 0;
  for (std::size_t run = 0; run < runs.runs().size(); ++run) {
    const std::int64_t first = id;
    for (const findings::Finding& of : runs.runs()[run].findings)
      put(add,
          {id++, integer(run), of.rule, value_of(of.share), of.error < 0 ? Value() : value_of(of.error),
           of.part_of ? Value(first + static_cast<std::int64_t>(*of.part_of)) : Value(), text_or_null(of.ranks.text()),
           text_or_null(sentence_of(of)), text_or_null(fmt::format("{}", fmt::join(options_of(of), " ")))});
  }
}

constexpr struct {
  const char* table;
  void (*add)(Runs& runs, const AddRow& add);
} fillers[] = {{"run", add_runs},           {"location", add_locations}, {"metric", add_metrics},
               {"function", add_functions}, {"callpath", add_paths},     {"estimate", add_estimates},
               {"unit", add_units},         {"loop", add_loops},         {"finding", add_findings}};

}  // namespace

void rows_of(const std::string& table, Runs& runs, const AddRow& add) {
  for (const auto& filler : fillers)
    if (table == filler.table) return filler.add(runs, add);
  throw std::logic_error("no rows for the table " + table);
}

}  // namespace refrain::query
