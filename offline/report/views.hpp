#pragma once
/// The views: what can be shown of an experiment. A view is a function from an experiment and a request (together a
/// Document) to tables; the printers of formats do the rest. Each view is one row, in a file of its own.

#include <span>
#include <string>
#include <vector>

#include "offline/report/node_waits.hpp"
#include "offline/report/overview.hpp"
#include "offline/report/request_options.hpp"
#include "offline/report/table.hpp"
#include "offline/report/terminal.hpp"

namespace refrain::report {

/// The needs of a view beside the call tree of the run.
enum Need : unsigned {
  AllRanks = 1,   ///< it says nothing of some ranks alone: --rank is refused
  Callsites = 2,  ///< call sites are told apart, whatever --callsites says
  Waiting = 4,    ///< time that call paths have waited
  Traffic = 8,    ///< messages and communicators in events
  Findings = 16,  ///< all that stands out
  Loops = 32      ///< the marked loops
};

/// The text around the tables of a view.
enum class Frame : std::uint8_t {
  Run,     ///< times of the run, what stands out, notes on the numbers
  Heading  ///< which experiment this is
};

using Tables = std::vector<Table>;

/// A row of the table of views.
struct View {
  Show show;
  const char* option;   ///< that asks for it, "--callers"; empty: it is shown without any
  const char* subject;  ///< the word for the value of the option in the help, "FUNCTION"; empty: it is a flag
  const char* help;
  std::vector<Ask> knows;  ///< the options that change it, beside --rank, --fold and --format
  /// JSON: the members of a document beside those that every document has. Other formats: the tables that are printed,
  /// of formats of one table exactly one. They may keep references to the document. Throws UsageError.
  Tables (*tables)(const Document& document);
  unsigned needs = 0;  ///< of enum Need
  Frame frame = Frame::Run;
  bool leaves_out_idle_helpers = false;  ///< in all formats, not only for people (idle_helpers.hpp)
  /// A text that is laid out by itself. Null: the tables are printed.
  std::string (*page)(const Document& document, const Terminal& terminal) = nullptr;
  /// Options that may be given with its own, of those that are views or parts of the run.
  std::vector<std::string_view> beside = {};

  bool knows_of(Ask ask) const;
};

/// The table (view_table.cpp), in the order in which they are looked for: of those asked for the first one is what
/// formats of one table print.
std::span<const View> views();
const View& row_of(Show view);
/// Those that were asked for, in that order, and the call tree as the last one.
std::vector<const View*> wanted_views(const Request& request);
/// Whether two options, of views or of parts of the run, may be given together.
bool go_together(std::string_view option, std::string_view other);

/// Throws UsageError for an option that would change nothing in what is shown.
void check_options(const Request& request);
/// The option that was given first of those that say what is shown, "--iterations"; empty: none, so that the call
/// paths of the whole run are shown.
std::string first_view_option(const Request& request);

/// Throws UsageError: the chosen ranks have no thread of the chosen number.
[[noreturn]] void refuse_threads(const experiment::Experiment& experiment, const Request& request);

/// Prints the views of the document's request, in its format.
void print_document(const Document& document, const Terminal& terminal, const Sink& out);

/// "Parallel efficiency 28 % = load balance 61 % x communication 46 %", with what waiting tells where that is known;
/// empty: there are not several ranks, or there is no time.
std::string efficiency_line(const Document& document, const std::vector<NodeWait>& waits);

/// The text of tables in their frame.
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
