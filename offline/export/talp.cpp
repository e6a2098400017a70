/// The JSON of TALP (DLB 3.5, src/talp/talp_output.c), as far as TALP-Pages reads it
/// (talp_pages/io/dataframe_handling.py and analysis/scaling_analysis.py of TALP-Pages 3.5.1 and 3.6.0): an object of
/// regions, in which "Global" is the run. Times are whole nanoseconds. Sums are over the counted processes: a process
/// that could not be read is in none of them.
///
/// Counters that were not counted are 0, as in DLB's files without PAPI, which readers expect; other unknown values are
/// null. The factors of the OpenMP runtime are never known.

#include <cmath>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "offline/export/formats.hpp"
#include "offline/report/json_writer.hpp"

namespace refrain::exports {
namespace {

constexpr const char *talp_version = "3.5.0", *talp_run_name = "Global";

std::int64_t talp_ns(double seconds) { return std::llround(seconds * 1e9); }

void write_region(report::JsonWriter& json, const EfficienciesOfRun::Part& part) {
  const analysis::Efficiency& of = part.of;
  const auto processes = static_cast<std::int64_t>(of.processes);
  const std::int64_t threads = of.hybrid ? static_cast<std::int64_t>(of.hybrid->threads) : processes;
  const double parallel = of.hybrid ? of.hybrid->parallel : of.parallel.value;
  const double mean_useful_s = of.parallel.value * of.elapsed_s;
  json.member("numCpus", threads);
  json.member("numMpiRanks", processes);
  json.member("numNodes", static_cast<std::int64_t>(of.machines));
  json.member("avgCpus", static_cast<double>(threads));
  json.member("cycles", part.cycles.value_or(0));
  json.member("instructions", part.instructions.value_or(0));
  json.member("elapsedTime", talp_ns(of.elapsed_s));
  json.member("usefulTime",
              talp_ns(of.hybrid ? parallel * of.elapsed_s * static_cast<double>(threads) : part.useful_s));
  json.member("mpiTime", talp_ns(part.mpi_s));
  json.member("usefulNormdApp", talp_ns(mean_useful_s));
  json.member("maxUsefulNormdProc", talp_ns(of.communication.value * of.elapsed_s));
  json.member("maxUsefulNormdNode", talp_ns(mean_useful_s / of.across_machines));
  json.member("parallelEfficiency", parallel);
  json.member("mpiParallelEfficiency", of.parallel.value);
  json.member("mpiCommunicationEfficiency", of.communication.value);
  json.member("mpiLoadBalance", of.load_balance.value);
  json.member("mpiLoadBalanceIn", of.within_machines);
  json.member("mpiLoadBalanceOut", of.across_machines);
  if (of.hybrid) json.member("ompParallelEfficiency", of.hybrid->threads_multiplicative);
  else json.member("ompParallelEfficiency", nullptr);
  for (const char* unknown : {"ompLoadBalance", "ompSchedulingEfficiency", "ompSerializationEfficiency"})
    json.member(unknown, nullptr);
}

std::string region_name(const std::string& part) {
  if (part.empty()) return talp_run_name;
  return part == talp_run_name ? part + " (loop)" : part;
}

}  // namespace

void write_talp(const EfficienciesOfRun& run, OutputFile& out) {
  report::JsonWriter json([&out](std::string_view text) { out.write(text); }, 3);
  json.object([&] {
    json.member("dlbVersion", talp_version);  // version of the format
    json.member("creator", run.creator + ", schema 1");
    if (run.started_s)
      json.member("timestamp",
                  fmt::format("{:%Y-%m-%dT%H:%M:%S}+0000", fmt::gmtime(static_cast<std::time_t>(*run.started_s))));
    const analysis::Efficiency& whole = run.parts.front().of;
    json.member_object("resources", [&] {
      json.member("numCpus", static_cast<std::int64_t>(whole.hybrid ? whole.hybrid->threads : whole.processes));
      json.member("numNodes", static_cast<std::int64_t>(whole.machines));
      json.member("numMpiRanks", static_cast<std::int64_t>(whole.processes));
    });
    json.member_object("Application", [&] {
      for (const EfficienciesOfRun::Part& part : run.parts)
        json.member_object(region_name(part.name), [&] { write_region(json, part); });
    });
  });
  json.end_document();
}

}  // namespace refrain::exports
