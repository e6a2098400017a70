#include "runtime/verbose.hpp"

#include <cstring>

#include "platform/message.hpp"
#include "sampling/sampler.hpp"

namespace refrain::runtime {

using platform::say;

void tell_begin(const config::Configuration& configuration, const char* mpi, const char* directory) {
  say("version %s measures this program (%.*s)", REFRAIN_VERSION,
      mpi ? static_cast<int>(std::strcspn(mpi, "\n\r\t,")) : 6, mpi ? mpi : "no MPI");
  const char* source = "the task clock";
  if (sampling::sampling_source() == sampling::Source::WallTimer) source = "the wall clock";
  if (sampling::sampling_source() == sampling::Source::CpuTimer) source = "the kernel's tick";
  if (sampling::sampling_signal())
    say("samples: %ld Hz, by %s, signal %d", static_cast<long>(configuration.sampling_frequency), source,
        sampling::sampling_signal());
  else say("samples: none");
  say("results: %s", directory);
}

void tell_end(const record::RankRecord& record, const char* directory) {
  long nodes = 0, samples = 0, calls = 0;
  std::int64_t losses[measurement::loss_count] = {};
  for (const record::LocationRecord& location : record.locations) {
    nodes += static_cast<long>(location.nodes.size());
    for (const record::UnitRecord& unit : location.units) {
      samples += unit.ticks_user;
      calls += unit.mpi_calls;
    }
    for (std::size_t i = 0; i < measurement::loss_count; ++i) losses[i] += location.losses[i];
  }
  if (record.rank == 0)
    say("rank %d: %ld locations, %ld call-tree nodes, %ld MPI calls, %ld samples, written to %s", record.rank,
        static_cast<long>(record.locations.size()), nodes, calls, samples, directory);
  for (std::size_t i = 0; i < measurement::loss_count; ++i)
    if (losses[i] && measurement::loss_table[i].is_time)
      say("rank %d: lost: %s, %.3f s", record.rank, measurement::loss_table[i].name,
          static_cast<double>(losses[i]) * 1e-9);
    else if (losses[i])
      say("rank %d: lost: %s, %ld", record.rank, measurement::loss_table[i].name, static_cast<long>(losses[i]));
}

}  // namespace refrain::runtime
