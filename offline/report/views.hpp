#pragma once
/// The views: what can be shown of an experiment, each made of tables.

#include <span>
#include <string>
#include <vector>

#include "offline/report/overview.hpp"
#include "offline/report/table.hpp"
#include "offline/report/terminal.hpp"

namespace refrain::report {

struct View {
  const char* option;                      ///< that asks for it
  bool (*wanted)(const Options& options);  ///< the last one, the call tree, always is
  std::vector<const char*> knows;          ///< options that change what it shows, beside --rank and --format
  std::vector<Table> (*tables)(const Document& document);  ///< for JSON, beside what every document has
  Table (*table)(const Document& document);                ///< for formats of one table
  std::string (*page)(const Document& document, const Terminal& terminal);  ///< for people
  bool leaves_out_idle_helpers = false;  ///< in all formats, not only for people (idle_helpers.hpp)
};

// One file each. Tables may keep references to the document.
extern const View call_tree_view, events_view, functions_view, locations_view, windows_view, iterations_view,
    clusters_view, waits_view, mpi_view, modules_view, callers_view, findings_view, sizes_view, nodes_view,
    communicators_view, source_view;

/// Those that change what views show, "--callsites", "--sort", by name.
std::vector<std::string> options_given(const Options& options);
/// Throws UsageError: the chosen ranks have no thread of the chosen number.
[[noreturn]] void refuse_threads(const experiment::Experiment& experiment, const Options& options);

/// The option of the view that is asked for, "--iterations"; empty: of call paths, and of the whole run.
std::string first_view_option(const Options& options);

/// In the order in which they are looked for.
std::span<const View* const> views();

/// Prints what the document's options ask for, in their format.
void print_document(const Document& document, const Terminal& terminal, const Sink& out);

// What every JSON document has.
Table experiment_table(const Document& document);
Table totals_table(const Document& document);
Table communicators_table(const Document& document);
Table damage_table(const Document& document);
Table findings_table(const Document& document);
Table table_of(const char* name, const std::vector<findings::Finding>& all);
Table call_paths_table(const Document& document);
Table threads_table(const Document& document);
std::vector<Table> windows_tables(const Document& document);

}  // namespace refrain::report
