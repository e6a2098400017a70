#include "offline/export/formats.hpp"

#include <algorithm>

namespace refrain::exports {
namespace {

const Format format_rows[] = {
    {.name = "otf2", .ending = "-otf2", .holds = "kept events, for Vampir and Scalasca (a directory)", .cannot = ""},
    {.name = "cubex",
     .ending = ".cubex",
     .holds = "all metrics by call path and thread, for CubeGUI, Hatchet and Extra-P",
     .cannot = "clusters, topologies of the program and standard errors; --iteration writes one iteration",
     .write_run = write_cubex},
    {.name = "speedscope",
     .ending = ".speedscope.json",
     .holds = "wall time by call path, of all ranks and of each rank, for speedscope",
     .cannot = "metrics but wall time, threads and standard errors",
     .write_run = write_speedscope},
    {.name = "folded",
     .ending = ".folded",
     .holds = "wall time of all ranks by call path in microseconds, for flame graphs",
     .cannot = "metrics but wall time, ranks and standard errors; semicolons in names become commas",
     .write_run = write_folded},
    {.name = "pprof",
     .ending = ".pb.gz",
     .holds = "all metrics by call path, with rank and thread as labels, for pprof",
     .cannot = "the tree of metrics and standard errors",
     .write_run = write_pprof},
    {.name = "perfetto",
     .ending = ".perfetto-trace",
     .holds = "kept events with messages as flows, for ui.perfetto.dev",
     .cannot = "samples, bytes of messages, communicators and one-sided operations",
     .write_events = write_perfetto},
    {.name = "chrome",
     .ending = ".trace.json",
     .holds = "kept events with messages as flows, for chrome://tracing and the profiler of Firefox",
     .cannot = "samples, communicators and one-sided operations",
     .write_events = write_chrome},
    {.name = "hatchet",
     .ending = ".hatchet.json",
     .holds = "all metrics by call path and rank, for Hatchet and Thicket",
     .cannot = "threads of a rank and standard errors",
     .write_run = write_hatchet},
    {.name = "extrap",
     .ending = ".jsonl",
     .holds = "metrics by call path as means over processes, of one or several runs, for Extra-P",
     .cannot = "ranks and standard errors; -> in names becomes - >",
     .write_run = write_extrap,
     .takes_several = true},
    {.name = "callgrind",
     .ending = ".callgrind",
     .holds = "wall time, time in MPI and calls by function and caller, for KCachegrind",
     .cannot = "call paths beyond the caller, ranks and standard errors",
     .write_run = write_callgrind},
    {.name = "paraver",
     .ending = ".prv",
     .holds = "kept events with messages, for Paraver (three files)",
     .cannot = "samples, communicators and one-sided operations",
     .write_events = write_paraver},
    {.name = "talp",
     .ending = ".talp.json",
     .holds = "efficiencies of the run and of its loops, for TALP-Pages",
     .cannot =
         "serialisation, transfer, processor availability and standard errors; counters that were not counted are 0",
     .write_efficiencies = write_talp}};

}  // namespace

std::span<const Format> formats() { return format_rows; }

const Format* find_format(std::string_view name) {
  const auto at = std::ranges::find(format_rows, name, [](const Format& row) { return std::string_view(row.name); });
  return at == std::end(format_rows) ? nullptr : at;
}

}  // namespace refrain::exports
