#include "offline/report/views.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/report/arrangement.hpp"
#include "offline/report/foreign_run.hpp"
#include "offline/report/idle_helpers.hpp"
#include "offline/report/json_tables.hpp"

namespace refrain::report {
namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& why) {
  throw UsageError(fmt::format("{}: {}", option, why));
}

/// "--iterations, --mpi or --locations".
std::string options_of_views_that_know(Ask ask) {
  std::vector<std::string> names;
  for (const View& view : views())
    if (view.show != Show::CallTree && view.knows_of(ask)) names.emplace_back(view.option);
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

bool is_listed(const View& view, std::string_view option) {
  return std::ranges::find(view.beside, option) != view.beside.end();
}

const View* view_of(std::string_view option) {
  const auto all = views();
  const auto at = std::ranges::find(all, option, [](const View& view) { return std::string_view(view.option); });
  return at == all.end() ? nullptr : &*at;
}

bool is_of_paths(const View& view) { return view.show == Show::CallTree || view.show == Show::Functions; }

/// A JSON document has the tables of all requested views, and the call paths; other formats show the first view (text
/// shows both views of loops).
void check_option(const RequestOption& option, const Request& request, const std::vector<const View*>& wanted) {
  const View& first = *wanted[0];
  const bool is_document = request.format == Format::Json;
  const bool only_paths = is_of_paths(first);
  if (option.ask == Ask::Loop && !request.is_of_part() && !request.needs(Loops))
    refuse(option.name, "goes with --iterations, --clusters, --iteration or --cluster");
  const std::size_t views = is_document ? wanted.size() : only_paths ? 1 : wanted.size() - 1;
  if (std::any_of(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(views),
                  [&](const View* view) { return view->knows_of(option.ask); }))
    return;
  const bool is_one_table = row_of(request.format).write != nullptr;
  if (is_one_table && option.is_of_tables() && !(first.needs & Loops)) return;
  if (option.ask == Ask::Callsites && first.show == Show::Functions)
    refuse(option.name, "--flat does not keep call sites apart");
  if (only_paths) refuse(option.name, "goes with " + options_of_views_that_know(option.ask));
  if (option.is_of_tables())
    refuse(option.name,
           fmt::format("{} does not take it; it goes with {}", first.option, options_of_views_that_know(option.ask)));
  refuse(option.name, fmt::format("{}, which {} does not show", option.about, first.option));
}

/// `is_first`: the request's arrangement applies to these tables.
std::vector<Table> tables_of(const View& view, const Document& document, bool is_first = true) {
  std::vector<Table> tables = view.tables(document);
  if (document.foreign)
    for (Table& table : tables) table = known_part(std::move(table), *document.foreign);
  for (Table& table : tables)
    if (is_first && table.shape != Table::Object) table = arranged(std::move(table), document.request);
  return tables;
}

/// The tables of the run as a whole come before and after those of the views.
std::vector<Table> document_tables(const Document& d, const Document& without_helpers) {
  std::vector<Table> tables{totals_table(d), threads_table(d), call_paths_table(d)}, last;
  if (d.foreign) {
    for (Table& table : tables) table = known_part(std::move(table), *d.foreign);
    tables.insert(tables.begin(), foreign_table(*d.foreign));
  } else {
    tables.insert(tables.begin(), experiment_table(d));
    last.push_back(communicators_table(d));
    for (Table& table : windows_tables(d)) last.push_back(std::move(table));
    last.push_back(damage_table(d));
    if (d.request.shows_call_tree()) last.push_back(findings_table(d));
  }
  const auto is_there = [&](const std::string& name) {
    return std::ranges::find(tables, name, &Table::name) != tables.end() ||
           std::ranges::find(last, name, &Table::name) != last.end();
  };
  const auto wanted = wanted_views(d.request);
  for (const View* view : wanted) {
    if (view->show == Show::CallTree) continue;  // already there
    const Document& shown = view->leaves_out_idle_helpers ? without_helpers : d;
    for (Table& table : tables_of(*view, shown, view == wanted[0]))
      if (!is_there(table.name)) tables.push_back(std::move(table));
  }
  std::ranges::move(last, std::back_inserter(tables));
  return tables;
}

}  // namespace

bool View::knows_of(Ask ask) const { return std::ranges::find(knows, ask) != knows.end(); }

std::vector<const View*> wanted_views(const Request& request) {
  std::vector<const View*> wanted;
  for (const View& view : views())
    if (view.show == Show::CallTree || request.asks(view.show)) wanted.push_back(&view);
  return wanted;
}

bool go_together(std::string_view option, std::string_view other) {
  const View *one = view_of(option), *two = view_of(other);
  return (one && is_listed(*one, other)) || (two && is_listed(*two, option));
}

void check_options(const Request& request) {
  const auto wanted = wanted_views(request);
  const View& first = *wanted[0];
  const FormatRow& format = row_of(request.format);
  const bool is_document = request.format == Format::Json;
  const bool only_paths = is_of_paths(first);
  if (format.write && request.asks(Show::Iterations) && request.asks(Show::Clusters))
    refuse(fmt::format("--format {}", format.name), "one table at a time, --iterations or --clusters");
  if (request.asks(Show::Functions) && !only_paths && !is_document)
    refuse("--flat", fmt::format("of call paths, which {} does not show", first.option));
  for (const RequestOption& option : request_options())
    if (option.is_given(request)) check_option(option, request, wanted);
  if (request.min_share && request.format != Format::Text)
    refuse("--min-share", "only text folds call paths; here all of them are shown");
  if (request.callpath_depth && request.callpath.empty() && !only_paths && first.show != Show::Waits && !is_document)
    refuse("--callpath-depth", fmt::format("of call paths, which {} does not show", first.option));
}

std::string first_view_option(const Request& request) {
  if (request.iteration) return "--iteration";
  if (request.cluster) return "--cluster";
  if (request.asks(Show::Functions)) return row_of(Show::Functions).option;
  return wanted_views(request)[0]->option;
}

void print_document(const Document& document, const Terminal& terminal, const Sink& out) {
  const View& view = *wanted_views(document.request)[0];
  const auto tree = without_idle_helpers(document.tree);
  const Document without_helpers{document.experiment,    document.request, tree ? *tree : document.tree,
                                 document.overview,      document.part,    document.loops,
                                 document.minimum_waits, document.found,   document.foreign};
  switch (const FormatRow& format = row_of(document.request.format); format.format) {
    case Format::Json: return write_json(document_tables(document, without_helpers), out);
    case Format::Text:
      if (view.page) return out(view.page(without_helpers, terminal));
      return out(page_of(without_helpers, terminal, view.frame, tables_of(view, without_helpers)));
    default: format.write(tables_of(view, view.leaves_out_idle_helpers ? without_helpers : document).at(0), out);
  }
}

}  // namespace refrain::report
