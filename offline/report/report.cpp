#include "offline/report/report.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "offline/report/json_tables.hpp"
#include "offline/report/loop_view.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

/// An option that was given: a view that does not know it would not change.
struct Given {
  const char* option;
  const char* about;  ///< what it is of
  bool given;
};

std::vector<Given> given_options(const Options& o) {
  return {{"--callsites", "of call paths", o.callsites},
          {"--callpath-depth", "of call paths", o.callpath_depth > 0},
          {"--min-share", "of call paths", o.min_share.has_value()},
          {"--iteration", "of call paths", o.iteration.has_value()},
          {"--cluster", "of call paths", o.cluster.has_value()},
          {"--metric", "of iterations and locations", !o.metric.empty()},
          {"--callpath", "of iterations and locations", !o.callpath.empty()},
          {"--loop", "of marked loops", !o.loop.empty()},
          {"--thread", "of marked loops", o.thread.has_value()}};
}

/// In this order; the first one is what formats of one table print.
std::vector<const View*> wanted_views(const Options& options) {
  std::vector<const View*> wanted;
  for (const View* view : views())
    if (view->wanted(options)) wanted.push_back(view);
  return wanted;
}

[[noreturn]] void refuse(const std::string& option, const std::string& why) {
  throw UsageError(fmt::format("{}: {}", option, why));
}

/// Formats of one table and the text show one view (the text also both of loops); documents have all, and call paths.
void check_options(const Options& options, const std::vector<const View*>& wanted) {
  const View& first = *wanted[0];
  const bool document = options.format == Format::Json, part = options.iteration || options.cluster;
  const bool only_paths = &first == &call_tree_view || &first == &functions_view;
  if (options.format == Format::Tables && options.iterations && options.clusters)
    refuse(fmt::format("--format {}", options.table_format->name), "one table at a time, --iterations or --clusters");
  if (options.flat && !only_paths && !document)
    refuse("--flat", fmt::format("of call paths, which {} does not show", first.option));
  for (const auto& [option, about, given] : given_options(options)) {
    if (!given) continue;
    const auto knows = [option = std::string_view(option)](const View* view) {
      return std::ranges::any_of(view->knows, [&](std::string_view known) { return known == option; });
    };
    const bool of_loops = std::string_view(about) == "of marked loops";
    if (of_loops && !part && !options.iterations && !options.clusters && !(options.locations && options.thread))
      refuse(option, "goes with --iterations, --clusters, --iteration or --cluster");
    const std::size_t views = document ? wanted.size() : only_paths ? 1 : wanted.size() - 1;
    if (std::any_of(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(views), knows)) continue;
    if (std::string_view(option) == "--callsites" && &first == &functions_view)
      refuse(option, "--flat does not keep call sites apart");
    if (only_paths) refuse(option, "goes with --iterations or --locations");
    refuse(option, fmt::format("{}, which {} does not show", about, first.option));
  }
  if (options.min_share && options.format != Format::Text)
    refuse("--min-share", "only text folds call paths; here all of them are shown");
  if (options.callpath_depth > 0 && options.callpath.empty() && !only_paths && &first != &waits_view && !document)
    refuse("--callpath-depth", fmt::format("of call paths, which {} does not show", first.option));
}

std::vector<Table> document_tables(const Document& d, const std::vector<const View*>& wanted) {
  std::vector<Table> tables{experiment_table(d), totals_table(d), threads_table(d), call_paths_table(d)};
  for (const View* view : wanted) {
    if (!view->tables) continue;
    for (Table& table : view->tables(d))
      if (std::ranges::find(tables, table.name, &Table::name) == tables.end()) tables.push_back(std::move(table));
  }
  tables.push_back(communicators_table(d));
  for (Table& table : windows_tables(d)) tables.push_back(std::move(table));
  tables.push_back(damage_table(d));
  return tables;
}

}  // namespace

void print_document(const Document& document, const Terminal& terminal, const Sink& out) {
  const auto wanted = wanted_views(document.options);
  const View& view = *wanted[0];
  switch (document.options.format) {
    case Format::Json: return write_json(document_tables(document, wanted), out);
    case Format::Tables: return document.options.table_format->write(view.table(document), out);
    case Format::Text: return out(view.page(document, terminal));
  }
}

std::span<const View* const> views() {
  static const View* const all[] = {&iterations_view, &clusters_view,  &windows_view,   &events_view,
                                    &waits_view,      &locations_view, &functions_view, &call_tree_view};
  return all;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names{"text", "json"};
  for (const TableFormat& format : table_formats) names.push_back(format.name);
  return names;
}

void Options::set_format(const std::string& name) {
  format = name == "text" ? Format::Text : name == "json" ? Format::Json : Format::Tables;
  for (const TableFormat& of : table_formats)
    if (name == of.name) table_format = &of;
}

namespace {

analysis::CallTreeOptions tree_options(const Options& options) {
  analysis::CallTreeOptions of_tree;
  of_tree.callsites = options.callsites;
  of_tree.depth = options.callpath_depth;
  of_tree.progress = options.progress;
  if (!options.ranks.empty()) of_tree.ranks = [&](int rank) { return options.chosen(rank); };
  return of_tree;
}

/// One iteration or one cluster. The tree of the run is not needed for it.
void render_part(const std::shared_ptr<const experiment::Experiment>& experiment, const Options& options,
                 const Terminal& terminal, analysis::Symbolizer& symbolizer, const Sink& out) {
  const LoopView view = view_loops(*experiment, options, {});
  require_loops(view);
  const PartTree of = part_of_run(*experiment, options, view, symbolizer, tree_options(options));
  Options of_part = options;
  if (of.rank) of_part.ranks = {*of.rank};
  OverviewBuilder overview;
  for (std::size_t place = 0; place < experiment->ranks().size(); ++place)
    if (of_part.chosen(experiment->ranks()[place]))
      if (const auto rank = experiment->rank(place, experiment::Depth::Run)) overview.add(*rank);
  const Overview about = overview.finish(*experiment, of_part, of.tree);
  print_document({experiment, of_part, of.tree, about, of.part}, terminal, out);
}

}  // namespace

bool Options::chosen(std::int32_t rank) const { return ranks.empty() || std::ranges::binary_search(ranks, rank); }

bool Options::is_first_page() const {
  return format == Format::Text && shows_call_tree() && !waits && loop.empty() && !thread && metric.empty() &&
         callpath.empty();
}

bool Options::shows_call_tree() const {
  const bool is_view = flat || iterations || windows || clusters || events || locations;
  return (format == Format::Json || !is_view) && !iteration && !cluster && ranks.empty();
}

void check_ranks(const experiment::Experiment& experiment, const std::vector<std::int32_t>& wanted) {
  for (const std::int32_t rank : wanted)
    if (!std::ranges::binary_search(experiment.ranks(), rank))
      throw UsageError(fmt::format("--rank {}: the experiment has no data of that rank (its job had {})", rank,
                                   plural(experiment.definitions().ranks_expected, "rank", "ranks")));
}

void check_request(const experiment::Experiment& experiment, const Options& options) {
  check_options(options, wanted_views(options));
  if (options.waits && !options.ranks.empty())
    throw UsageError("--rank does not go together with --waits: who has waited for whom takes all ranks");
  check_ranks(experiment, options.ranks);
}

void render(const std::shared_ptr<const experiment::Experiment>& experiment, const Options& options,
            const Terminal& terminal, analysis::Symbolizer& symbolizer, const Sink& out) {
  check_request(*experiment, options);
  if (options.iteration || options.cluster) return render_part(experiment, options, terminal, symbolizer, out);
  OverviewBuilder overview;
  analysis::CallTreeOptions of_tree = tree_options(options);
  std::optional<analysis::MinimumWaits> minima;
  // Some ranks alone do not tell what others take for an operation of all.
  if (options.shows_call_tree() || (options.clusters && options.ranks.empty()))
    minima.emplace(experiment->definitions());
  of_tree.also = [&](const experiment::Rank& rank) {
    overview.add(rank);
    if (minima) minima->add(rank);
  };
  const analysis::CallTree tree = build_call_tree(*experiment, symbolizer, of_tree);

  const bool loops = options.iterations || options.clusters;
  LoopView view;
  if (loops) view = view_loops(*experiment, options, tree);
  // Programs that read JSON know an empty list when they see one.
  if (loops && options.format != Format::Json) require_loops(view);
  const Overview about = overview.finish(*experiment, options, tree);
  // Who reads JSON knows an empty list.
  if (options.waits && options.format != Format::Json && !options.waits_in_events && !minima->any())
    throw UsageError(
        options.events_not_searched
            ? "--waits: the experiment has no durations of calls, and its events were not searched here; " +
                  *options.events_not_searched
            : "--waits: the experiment has neither events nor durations of calls, which tell this");
  print_document({experiment, options, tree, about, {}, loops ? &view : nullptr, minima ? &*minima : nullptr}, terminal,
                 out);
}

}  // namespace refrain::report
