// Efficiencies in the terms of POP: of the run, of each marked loop, and of a region.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <memory>

#include "offline/report/columns.hpp"
#include "offline/report/loop_efficiency.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

using analysis::Efficiency;
using analysis::EfficiencyOfRange;

/// The run, a loop or a region.
struct EfficiencyPart {
  const char* kind = "run";
  std::string name;
  Efficiency of;
  std::string why_no_waits;
  bool is_sampled = false;
  std::vector<EfficiencyOfRange> ranges = {};
  std::vector<EfficiencyOfClass> classes = {};
};

EfficiencyInput input_of(const Document& d, const std::vector<NodeWait>& waits) {
  return {*d.experiment, d.tree, waits, d.minimum_waits};
}

void add_loops(const Document& d, const std::vector<NodeWait>& waits, std::vector<EfficiencyPart>& to) {
  for (LoopTimes& loop : times_of_loops(d.experiment, input_of(d, waits)))
    if (const auto of = analysis::efficiency_of(loop.times.ranks))
      to.push_back({"loop", loop.name, *of, loop.times.why_no_waits, loop.times.is_sampled, std::move(loop.ranges),
                    std::move(loop.classes)});
}

std::vector<EfficiencyPart> parts_of(const Document& d) {
  const std::vector<NodeWait> waits = waits_of(d);
  std::vector<EfficiencyPart> parts;
  const auto add = [&](const char* kind, const std::string& name, const PartTimes& times) {
    if (const auto of = analysis::efficiency_of(times.ranks))
      parts.push_back({kind, name, *of, times.why_no_waits, times.is_sampled});
  };
  add("run", root_name(*d.experiment), times_of_run(input_of(d, waits)));
  if (d.request.region.empty()) add_loops(d, waits, parts);
  else add("region", d.request.region, times_of_region(input_of(d, waits), d.request.region));
  return parts;
}

/// A factor that is not known is null in JSON and empty in other formats.
Cell cell_of(const std::optional<double>& value, Format format) {
  if (value) return *value;
  return format == Format::Json ? Cell(std::numeric_limits<double>::quiet_NaN()) : Cell();
}

std::vector<Column> columns_of_factors() {
  std::vector<Column> all = columns("processes, machines, elapsed_s: elapsed");
  for (const analysis::EfficiencyFactor& factor : analysis::efficiency_factors()) {
    all.push_back({.name = factor.name, .kind = Kind::Share, .head = std::string(factor.words) + " %"});
    all.push_back({.name = std::string(factor.name) + "_error", .kind = Kind::Share, .in = ForPrograms});
  }
  const auto add_group = [&](const char* group, std::initializer_list<const char*> names) {
    for (const char* name : names) all.push_back({.name = name, .kind = Kind::Share, .in = InJson, .group = {group}});
  };
  add_group("additive", {"load_balance", "communication", "serialisation", "transfer"});
  all.push_back({.name = "threads", .kind = Kind::Count, .in = InJson, .group = {"hybrid"}});
  add_group("hybrid", {"parallel", "threads_multiplicative", "threads_additive"});
  return all + columns("ideal_by, why", InJson);
}

std::vector<Cell> cells_of(const EfficiencyPart& part, Format format) {
  const Efficiency& of = part.of;
  std::vector<Cell> cells{static_cast<std::int64_t>(of.processes), static_cast<std::int64_t>(of.machines),
                          of.elapsed_s};
  for (const analysis::EfficiencyFactor& factor : analysis::efficiency_factors()) {
    const auto value = factor.of(of);
    cells.push_back(cell_of(value ? std::optional(value->value) : std::nullopt, format));
    cells.push_back(value && value->error > 0 ? Cell(value->error) : Cell());
  }
  cells.insert(cells.end(), {of.additive.load_balance, of.additive.communication,
                             cell_of(of.additive.serialisation, format), cell_of(of.additive.transfer, format)});
  if (of.hybrid)
    cells.insert(cells.end(), {static_cast<std::int64_t>(of.hybrid->threads), of.hybrid->parallel,
                               of.hybrid->threads_multiplicative, of.hybrid->threads_additive});
  else cells.resize(cells.size() + 4);
  const char* const ideals[] = {"exact", "halves", "shrinking"};
  cells.push_back(of.serialisation ? Cell(ideals[static_cast<std::size_t>(of.ideal_by)]) : Cell());
  cells.push_back(part.why_no_waits.empty() ? Cell() : Cell(part.why_no_waits));
  return cells;
}

Table ranges_table(const EfficiencyPart& part) {
  std::vector<Column> all = columns("first, last");
  for (const char* name : {"parallel", "load_balance", "communication"})
    all.push_back({.name = name, .kind = Kind::Share});
  return {"ranges", std::move(all), rows_of(part.ranges, [](const EfficiencyOfRange& of) -> Row {
            return {{of.first, of.last, of.parallel, of.load_balance, of.communication}};
          })};
}

Table classes_table(const EfficiencyPart& part) {
  std::vector<Column> all = columns("class, iterations, first, last, share: time %");
  all.push_back({.name = "parallel", .kind = Kind::Share, .head = "parallel %"});
  all.push_back({.name = "load_balance", .kind = Kind::Share, .head = "load balance %"});
  all.push_back({.name = "communication", .kind = Kind::Share, .head = "communication %"});
  const auto row_of_class = [](const EfficiencyOfClass& of) -> Row {
    return {{of.number, of.iterations, of.first, of.last, of.share, of.parallel, of.load_balance, of.communication}};
  };
  return {"classes", std::move(all), rows_of(part.classes, row_of_class)};
}

const char* factor_of(const analysis::EfficiencyStep& step) {
  return step.is_load_balance ? "load balance" : "communication";
}

Table step_table(const analysis::EfficiencyStep& of) {
  std::vector<Column> all = columns("from, factor");
  for (const char* name : {"before", "after", "factor_before", "factor_after"})
    all.push_back({.name = name, .kind = Kind::Share});
  return object_of("step", std::move(all),
                   {{of.from, factor_of(of), of.before, of.after, of.factor_before, of.factor_after}});
}

using Parts = std::shared_ptr<const std::vector<EfficiencyPart>>;

/// One table of all parts; in JSON also the run by itself.
Tables tables_for_programs(const Parts& parts, Format format) {
  Table all{"efficiencies", columns("kind, name") + columns_of_factors(), [parts, format](const TakeRow& take) {
              for (const EfficiencyPart& part : *parts) {
                Row row{cells_of(part, format)};
                row.cells.insert(row.cells.begin(), {part.kind, part.name});
                if (format == Format::Json && !part.ranges.empty()) row.tables.push_back(ranges_table(part));
                if (const auto step = analysis::step_of(part.ranges); step && format == Format::Json)
                  row.tables.push_back(step_table(*step));
                if (format == Format::Json && !part.classes.empty()) row.tables.push_back(classes_table(part));
                take(row);
              }
            }};
  Tables tables;
  tables.push_back(std::move(all));
  if (!parts->empty() && format == Format::Json)
    tables.push_back(object_of("efficiency", columns_of_factors(), {cells_of(parts->front(), format)}));
  return tables;
}

std::string percent_of(double value) { return fmt::format("{:.1f}", 100 * value); }

std::string step_text(const analysis::EfficiencyStep& step) {
  return fmt::format(
      "From iteration {} on the parallel efficiency is {} % instead of {} %, because of {}: {} % instead of "
      "{} %.",
      step.from, percent_of(step.after), percent_of(step.before), factor_of(step), percent_of(step.factor_after),
      percent_of(step.factor_before));
}

/// On one machine the factors across and within machines say no more than the load balance.
bool is_hidden(const analysis::EfficiencyFactor& factor, const Efficiency& of) {
  return of.machines < 2 && std::string_view(factor.name).starts_with("load_balance_");
}

/// Sentences below the tree of a part.
std::vector<Note> notes_of(const EfficiencyPart& part) {
  std::vector<Note> notes;
  std::vector<std::string> low;
  for (const analysis::EfficiencyFactor& factor : analysis::efficiency_factors())
    if (const auto value = factor.of(part.of); factor.depth > 0 && value && !is_hidden(factor, part.of) &&
                                               factor.words != std::string("blocked") &&
                                               factor.words != std::string("waited for a core") &&
                                               value->value + 2 * value->error < analysis::acceptable_efficiency)
      low.emplace_back(factor.words);
  if (!low.empty())
    notes.push_back({fmt::format("Below {:.0f} %, which POP calls acceptable: {}.",
                                 100 * analysis::acceptable_efficiency, fmt::join(low, ", "))});
  if (const auto& hybrid = part.of.hybrid)
    notes.push_back(
        {fmt::format("With threads ({} in all): parallel efficiency {} %; efficiency of threads {} % "
                     "(multiplicative form) or {} % (additive form).",
                     hybrid->threads, percent_of(hybrid->parallel), percent_of(hybrid->threads_multiplicative),
                     percent_of(hybrid->threads_additive))});
  if (const auto step = analysis::step_of(part.ranges)) notes.push_back({step_text(*step)});
  if (part.is_sampled)
    notes.push_back({"Useful time comes from samples here: it is time on a CPU, and has errors.", Note::Faint});
  return notes;
}

/// The tree of factors.
Table text_table(const Parts& parts, const EfficiencyPart& part) {
  Table table{"efficiency",
              {{.name = "value", .head = "%", .align = Align::Right},
               {.name = "error", .head = "+- %", .is_optional = true, .align = Align::Right},
               {.name = "factor", .kind = Kind::Words, .align = Align::Left}},
              [parts, &part](const TakeRow& take) {
                for (const analysis::EfficiencyFactor& factor : analysis::efficiency_factors()) {
                  if (is_hidden(factor, part.of)) continue;
                  const auto value = factor.of(part.of);
                  std::string words = std::string(static_cast<std::size_t>(2 * factor.depth), ' ') + factor.words;
                  const bool is_of_waits = factor.of == analysis::efficiency_factors()[5].of;
                  if (!value && is_of_waits && !part.why_no_waits.empty()) words += " (" + part.why_no_waits + ")";
                  take({{value ? percent_of(value->value) : "n/a",
                         value && value->error > 0 ? Cell(percent_of(value->error)) : Cell(), words}});
                }
              }};
  const std::string what = part.kind == std::string("run") ? "The run" : fmt::format("{} {}", part.kind, part.name);
  table.before = {
      {fmt::format("{}: {}, {}", what, plural(static_cast<std::int64_t>(part.of.processes), "rank", "ranks"),
                   human_time(part.of.elapsed_s)),
       Note::Strong}};
  table.after = notes_of(part);
  table.after.push_back({});
  return table;
}

}  // namespace

Tables efficiency_tables(const Document& d) {
  const auto parts = std::make_shared<const std::vector<EfficiencyPart>>(parts_of(d));
  if (d.request.format != Format::Text) return tables_for_programs(parts, d.request.format);
  Tables tables;
  for (const EfficiencyPart& part : *parts) {
    tables.push_back(text_table(parts, part));
    if (part.classes.size() < 2) continue;
    Table classes = classes_table(part);
    classes.before = {{fmt::format("Classes of iterations of loop {}, by what the job as a whole did:", part.name)}};
    classes.after = {{}};
    classes.rows = [parts, rows = classes.rows](const TakeRow& take) { rows(take); };  // keeps `parts` alive
    tables.push_back(std::move(classes));
  }
  if (tables.empty()) {
    Table nothing{"efficiency", {}};
    nothing.before = {{"No time was measured outside of MPI."}};
    return {std::move(nothing)};
  }
  tables.back().footnotes = {
      {"Useful time is wall time outside of MPI; processor availability is the part of it on a CPU. Parallel "
       "efficiency = "
       "load balance x communication, communication = serialisation x transfer (docs/efficiency.md). Factors of loops "
       "do not multiply to those of the run, nor those of ranges of iterations to those of the loop.",
       Note::Faint}};
  return tables;
}

std::string efficiency_line(const Document& d, const std::vector<NodeWait>& waits) {
  constexpr std::size_t most_ranks = 256;  // of more, the page does not read all for waiting
  std::optional<Efficiency> of;
  if (d.experiment->ranks().size() > most_ranks) of = analysis::efficiency_of(times_of_first_threads(d.tree));
  else of = analysis::efficiency_of(times_of_run(input_of(d, waits)).ranks);
  if (!of || of->processes < 2) return {};
  const auto whole = [](const analysis::Measured& value) { return fmt::format("{:.0f} %", 100 * value.value); };
  std::string line = fmt::format("Parallel efficiency {} = load balance {} x communication {}", whole(of->parallel),
                                 whole(of->load_balance), whole(of->communication));
  if (of->serialisation)
    line += fmt::format(" (serialisation {} x transfer {})", whole(*of->serialisation), whole(*of->transfer));
  return line;
}

}  // namespace refrain::report
