#include "offline/report/report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/analysis/names.hpp"
#include "offline/report/idle_helpers.hpp"
#include "offline/report/json_tables.hpp"
#include "offline/report/loop_view.hpp"
#include "offline/report/table_page.hpp"
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
          {"--thread", "of threads", o.thread.has_value()},
          {"--sort", "of tables", !o.sort.empty()},
          {"--limit", "of tables", o.limit.has_value()},
          {"--columns", "of tables", !o.columns.empty()}};
}

}  // namespace

std::vector<std::string> options_given(const Options& options) {
  std::vector<std::string> names;
  for (const Given& of : given_options(options))
    if (of.given) names.emplace_back(of.option);
  return names;
}

namespace {

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

/// "--iterations, --mpi or --locations".
std::string options_of_views_that_know(std::string_view option) {
  std::vector<std::string> names;
  for (const View* view : views())
    if (view != &call_tree_view && std::ranges::any_of(view->knows, [&](std::string_view of) { return of == option; }))
      names.emplace_back(view->option);
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
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
    if (of_loops && !part && !options.iterations && !options.clusters)
      refuse(option, "goes with --iterations, --clusters, --iteration or --cluster");
    const std::size_t views = document ? wanted.size() : only_paths ? 1 : wanted.size() - 1;
    if (std::any_of(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(views), knows)) continue;
    const bool is_nested = &first == &iterations_view || &first == &clusters_view;
    if (options.format == Format::Tables && std::string_view(about) == "of tables" && !is_nested) continue;
    if (std::string_view(option) == "--callsites" && &first == &functions_view)
      refuse(option, "--flat does not keep call sites apart");
    if (only_paths) refuse(option, "goes with " + options_of_views_that_know(option));
    if (std::string_view(about) == "of tables")
      refuse(option,
             fmt::format("{} does not take it; it goes with {}", first.option, options_of_views_that_know(option)));
    refuse(option, fmt::format("{}, which {} does not show", about, first.option));
  }
  if (options.min_share && options.format != Format::Text)
    refuse("--min-share", "only text folds call paths; here all of them are shown");
  if (options.callpath_depth > 0 && options.callpath.empty() && !only_paths && &first != &waits_view && !document)
    refuse("--callpath-depth", fmt::format("of call paths, which {} does not show", first.option));
}

std::vector<Table> document_tables(const Document& d, const Document& without_helpers,
                                   const std::vector<const View*>& wanted) {
  std::vector<Table> tables{experiment_table(d), totals_table(d), threads_table(d), call_paths_table(d)};
  for (const View* view : wanted) {
    if (!view->tables) continue;
    for (Table& table : view->tables(view->leaves_out_idle_helpers ? without_helpers : d)) {
      if (view == wanted[0] && table.shape != Table::Object) table = arranged(std::move(table), d.options);
      if (std::ranges::find(tables, table.name, &Table::name) == tables.end()) tables.push_back(std::move(table));
    }
  }
  tables.push_back(communicators_table(d));
  for (Table& table : windows_tables(d)) tables.push_back(std::move(table));
  tables.push_back(damage_table(d));
  if (d.options.shows_call_tree()) tables.push_back(findings_table(d));
  return tables;
}

}  // namespace

void print_document(const Document& document, const Terminal& terminal, const Sink& out) {
  const auto wanted = wanted_views(document.options);
  const View& view = *wanted[0];
  const auto tree = without_idle_helpers(document.tree);
  const Document without_helpers{document.experiment, document.options, tree ? *tree : document.tree, document.overview,
                                 document.part,       document.loops,   document.minimum_waits};
  switch (document.options.format) {
    case Format::Json: return write_json(document_tables(document, without_helpers, wanted), out);
    case Format::Tables: {
      const Document& shown = view.leaves_out_idle_helpers ? without_helpers : document;
      return document.options.table_format->write(arranged(view.table(shown), document.options), out);
    }
    case Format::Text: return out(view.page(without_helpers, terminal));
  }
}

std::span<const View* const> views() {
  static const View* const all[] = {&findings_view, &iterations_view, &clusters_view,  &windows_view,
                                    &events_view,   &waits_view,      &mpi_view,       &modules_view,
                                    &callers_view,  &source_view,     &sizes_view,     &communicators_view,
                                    &nodes_view,    &locations_view,  &functions_view, &call_tree_view};
  return all;
}

std::string first_view_option(const Options& options) {
  if (options.iteration) return "--iteration";
  if (options.cluster) return "--cluster";
  if (options.flat) return "--flat";
  const View& first = *wanted_views(options)[0];
  return &first == &call_tree_view ? std::string() : first.option;
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

analysis::CallTreeOptions tree_options(const Options& options) {
  analysis::CallTreeOptions of_tree;
  of_tree.callsites = options.callsites || options.needs_callsites();
  of_tree.depth = options.callpath_depth;
  of_tree.fold = options.fold;
  of_tree.progress = options.progress;
  if (!options.ranks.empty()) of_tree.ranks = [&](int rank) { return options.chosen(rank); };
  if (options.some_threads()) of_tree.threads = [&](int rank, int thread) { return options.chosen(rank, thread); };
  return of_tree;
}

void refuse_threads(const experiment::Experiment& experiment, const Options& options) {
  std::int32_t most = 0;
  for (std::size_t place = 0; place < experiment.ranks().size(); ++place)
    if (const auto rank = experiment.rank(place, experiment::Depth::Run); rank && options.chosen(rank->rank))
      for (const experiment::Location& location : rank->locations) most = std::max(most, location.thread);
  refuse(options.thread
             ? fmt::format("--thread {}", *options.thread)
             : fmt::format("--rank {}.{}", options.threads_of_ranks[0].first, options.threads_of_ranks[0].second),
         fmt::format("no thread of this number is here; the last one is {}", most));
}

namespace {

/// One iteration or one cluster. The tree of the run is not needed for it.
void render_part(const std::shared_ptr<const experiment::Experiment>& experiment, const Options& options,
                 const Terminal& terminal, analysis::Symbolizer& symbolizer, const Sink& out) {
  const LoopView view = view_loops(*experiment, options, {});
  require_loops(view, *experiment, nullptr);
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

bool Options::chosen(std::int32_t rank, std::int32_t thread_number) const {
  if (!chosen(rank) || (thread && thread_number != *thread)) return false;
  const bool has_list =
      std::ranges::find(threads_of_ranks, rank, [](const auto& of) { return of.first; }) != threads_of_ranks.end();
  return !has_list || std::ranges::binary_search(threads_of_ranks, std::pair(rank, thread_number));
}

bool Options::is_first_page() const {
  return format == Format::Text && shows_call_tree() && !waits && !mpi && loop.empty() && !thread && metric.empty() &&
         callpath.empty();
}

bool Options::shows_call_tree() const {
  const bool is_view = flat || iterations || windows || clusters || events || locations || modules || sizes || nodes ||
                       communicators || all_findings || !callers.empty() || !source.empty();
  return (format == Format::Json || !is_view) && !iteration && !cluster && ranks.empty();
}

void check_ranks(const experiment::Experiment& experiment, const std::vector<std::int32_t>& wanted) {
  for (const std::int32_t rank : wanted)
    if (!std::ranges::binary_search(experiment.ranks(), rank))
      throw UsageError(fmt::format("--rank {}: the experiment has no data of that rank (its job had {})", rank,
                                   plural(experiment.definitions().ranks_expected, "rank", "ranks")));
}

namespace {

void check_folds(const experiment::Experiment& experiment, const Options& options) {
  const auto& modules = experiment.definitions().modules;
  for (const std::string& wanted : options.fold.modules) {
    const analysis::ModuleFold fold{{wanted}, false};
    if (std::ranges::none_of(modules, [&](const auto& of) { return fold.folds(analysis::base_name(of.path)); }))
      throw UsageError(
          fmt::format("--fold {}: no call path of the program goes through a module of this name "
                      "(--modules lists them)",
                      wanted));
  }
}

}  // namespace

void check_request(const experiment::Experiment& experiment, const Options& options) {
  check_options(options, wanted_views(options));
  for (const auto& [option, is_given] : {std::pair("--waits", options.waits),
                                         {"--findings", options.all_findings},
                                         {"--communicators", options.communicators}})
    if (is_given && !options.ranks.empty())
      throw UsageError(fmt::format("--rank does not go together with {}: what is shown takes all ranks", option));
  check_ranks(experiment, options.ranks);
  check_folds(experiment, options);
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
  if (options.some_threads() && tree.locations.empty()) refuse_threads(*experiment, options);

  const bool loops = options.iterations || options.clusters;
  LoopView view;
  if (loops) view = view_loops(*experiment, options, tree);
  // Programs that read JSON know an empty list when they see one.
  if (loops && options.format != Format::Json) require_loops(view, *experiment, &tree);
  const Overview about = overview.finish(*experiment, options, tree);
  // Who reads JSON knows an empty list.
  if (options.waits && options.format != Format::Json && !options.waits_in_events && !minima->any())
    throw UsageError(
        options.events_not_searched
            ? "--waits: the experiment has no durations of calls, and its events were not searched: " +
                  *options.events_not_searched
            : "--waits: the experiment has neither events nor durations of calls, which tell this");
  print_document({experiment, options, tree, about, {}, loops ? &view : nullptr, minima ? &*minima : nullptr}, terminal,
                 out);
}

}  // namespace refrain::report
