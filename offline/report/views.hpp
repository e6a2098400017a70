#pragma once
/// The views: what can be shown of an experiment. A view is a function from a Document (an experiment and a request) to
/// tables; the printers of formats do the rest. Each view is one row of a table, and has a file of its own.

#include <span>
#include <string>
#include <vector>

#include "offline/report/node_waits.hpp"
#include "offline/report/overview.hpp"
#include "offline/report/request_options.hpp"
#include "offline/report/table.hpp"
#include "offline/report/terminal.hpp"

namespace refrain::report {

/// What a view needs besides the call tree of the run.
enum Need : unsigned {
  AllRanks = 1,   ///< it says nothing about some ranks alone: --rank is refused
  Callsites = 2,  ///< call sites are told apart, whatever --callsites says
  Waiting = 4,    ///< time that call paths waited
  Traffic = 8,    ///< messages and communicators in events
  Findings = 16,  ///< all findings
  Loops = 32      ///< the marked loops
};

/// The text around the tables of a view.
enum class Frame : std::uint8_t {
  Run,     ///< times of the run, findings, notes on the numbers
  Heading  ///< which experiment is shown
};

using Tables = std::vector<Table>;

/// A row of the table of views.
struct View {
  Show show;
  const char* option;   ///< asks for the view, "--callers"; empty: it is shown without an option
  const char* subject;  ///< the word for the value of the option in the help, "FUNCTION"; empty: it is a flag
  const char* help;
  std::vector<Ask> knows;  ///< options that change it, besides --rank, --fold and --format
  /// Makes the tables. JSON: the members of a document besides those that every document has. Other formats: the tables
  /// to print, exactly one for formats of one table. They may keep references to the document. Throws UsageError.
  Tables (*tables)(const Document& document);
  unsigned needs = 0;  ///< of enum Need
  Frame frame = Frame::Run;
  bool leaves_out_idle_helpers = false;  ///< in all formats, not only for people (idle_helpers.hpp)
  /// Makes a text with a layout of its own. Null: the tables are printed.
  std::string (*page)(const Document& document, const Terminal& terminal) = nullptr;
  /// Options of other views, or of parts of the run, that may be given together with the option of this view.
  std::vector<std::string_view> beside = {};

  bool knows_of(Ask ask) const;
};

/// The table (view_table.cpp), in order of precedence: formats of one table print the first view that is requested.
std::span<const View> views();
const View& row_of(Show view);
/// The requested views in that order, and the call tree as the last one.
std::vector<const View*> wanted_views(const Request& request);
/// Whether two options, of views or of parts of the run, may be given together.
bool go_together(std::string_view option, std::string_view other);

/// Throws UsageError for an option that would change nothing in what is shown.
void check_options(const Request& request);
/// An option of the request that says what is shown, such as "--iterations"; empty: none was given, so the call paths
/// of the whole run are shown.
std::string first_view_option(const Request& request);

/// Throws UsageError: the chosen ranks have no thread of the chosen number.
[[noreturn]] void refuse_threads(const experiment::Experiment& experiment, const Request& request);

/// Prints the views of the document's request, in its format.
void print_document(const Document& document, const Terminal& terminal, const Sink& out);

/// "Parallel efficiency 28 % = load balance 61 % x communication 46 %", with the factors from waiting if it is known;
/// empty: there are not several ranks, or there is no time.
std::string efficiency_line(const Document& document, const std::vector<NodeWait>& waits);

/// The text of a page with these tables in `frame`.
std::string page_of(const Document& document, const Terminal& terminal, Frame frame, Tables tables);

// The tables of every JSON document.
Table experiment_table(const Document& document);
Table totals_table(const Document& document);
Table communicators_table(const Document& document);
Table damage_table(const Document& document);
Table findings_table(const Document& document);
Table table_of(const char* name, const std::vector<findings::Finding>& all);
Table call_paths_table(const Document& document);
Table threads_table(const Document& document);
Tables windows_tables(const Document& document);

}  // namespace refrain::report
