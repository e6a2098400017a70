// The table of views.
#include "offline/report/views.hpp"

namespace refrain::report {

// A file each.
Tables findings_tables(const Document&), iterations_tables(const Document&), clusters_tables(const Document&),
    windows_view_tables(const Document&), efficiency_tables(const Document&), events_tables(const Document&), waits_tables(const Document&),
    mpi_tables(const Document&), modules_tables(const Document&), callers_tables(const Document&),
    source_tables(const Document&), sizes_tables(const Document&), communicators_tables(const Document&),
    nodes_tables(const Document&), locations_tables(const Document&), functions_tables(const Document&);
std::string call_tree_page(const Document&, const Terminal&);

namespace {

Tables call_tree_tables(const Document& d) { return {call_paths_table(d)}; }

constexpr bool without_idle = true;

}  // namespace

std::span<const View> views() {
  using enum Ask;
  static const View all[] = {
      {Show::Findings, "--findings", "", "Everything that stands out, also what the first page has no room for", {},
       findings_tables, Need::Findings | AllRanks},
      {Show::Iterations, "--iterations", "", "Every iteration of the marked loops, as a graph and a map",
       {Metric, Callpath, CallpathDepth, Loop, Thread}, iterations_tables, Loops, Frame::Heading, false, nullptr,
       {"--clusters"}},
      {Show::Clusters, "--clusters", "", "The clusters of iterations, rank by rank", {Loop, Thread}, clusters_tables,
       Loops, Frame::Heading},
      {Show::Windows, "--windows", "", "One-sided operations by window, origin and target", {}, windows_view_tables, 0,
       Frame::Heading},
      {Show::Events, "--events", "", "What events were kept, rank by rank", {}, events_tables, 0, Frame::Heading},
      {Show::Efficiency, "--efficiency", "", "Efficiencies of the run and its loops, in the terms of POP", {Ask::Region},
       efficiency_tables, Waiting | AllRanks, Frame::Heading},
      {Show::Waits, "--waits", "", "How long call paths have waited for other processes, as each method tells",
       {Ask::Callsites, CallpathDepth, MinShare}, waits_tables, Waiting | AllRanks},
      {Show::Mpi, "--mpi", "", "Call sites of MPI: time, calls, sizes, waiting, spread over ranks",
       {Ask::Callsites, CallpathDepth, Sort, Limit, Columns, Thread}, mpi_tables, Need::Callsites | Waiting | Traffic,
       Frame::Run, without_idle},
      {Show::Modules, "--modules", "", "By executable and library", {Ask::Callsites, Sort, Limit, Columns, Thread},
       modules_tables, Need::Callsites, Frame::Run, without_idle},
      {Show::Callers, "--callers", "FUNCTION", "The callers of this function, by call path",
       {CallpathDepth, Sort, Limit, Columns, Thread}, callers_tables, 0, Frame::Run, without_idle},
      {Show::Source, "--source", "FILE", "The lines of this source file with their share of the time", {Thread},
       source_tables, Need::Callsites, Frame::Run, without_idle},
      {Show::Sizes, "--sizes", "", "How much calls of MPI move, as a histogram", {Sort, Limit, Columns, Thread},
       sizes_tables, 0, Frame::Run, without_idle},
      {Show::Communicators, "--communicators", "", "The communicators: time of calls on them, and their ranks",
       {Sort, Limit, Columns}, communicators_tables, Traffic | AllRanks, Frame::Run, without_idle},
      {Show::Nodes, "--nodes", "", "By machine", {Sort, Limit, Columns, Thread}, nodes_tables},
      {Show::Locations, "--locations", "", "Rank by rank and thread by thread, with standard errors",
       {Metric, Callpath, CallpathDepth, Thread, Sort, Limit, Columns}, locations_tables},
      {Show::Functions, "--flat", "", "By function instead of by call path",
       {CallpathDepth, MinShare, Iteration, Cluster, Loop, Thread, Sort, Limit, Columns}, functions_tables, 0,
       Frame::Run, false, nullptr, {"--iterations", "--clusters", "--iteration", "--cluster"}},
      {Show::CallTree, "", "", "", {Ask::Callsites, CallpathDepth, MinShare, Iteration, Cluster, Loop, Thread},
       call_tree_tables, 0, Frame::Run, false, call_tree_page}};
  return all;
}

const View& row_of(Show view) { return views()[static_cast<std::size_t>(view)]; }

}  // namespace refrain::report
