#include "record/iteration_file.hpp"

#include <cerrno>

#include "format/profile_file.hpp"
#include "measurement/iterations.hpp"
#include "measurement/locations.hpp"
#include "platform/message.hpp"
#include "record/error_text.hpp"
#include "record/experiment.hpp"
#include "record/frames.hpp"
#include "record/spill_file.hpp"

namespace refrain::record {
namespace {

using format::FrameKind;
using measurement::ClusteredLoop;
using measurement::Location;

/// Larger files stay separate, because a process that ends must not need much memory.
constexpr std::uint64_t max_to_take_back = std::uint64_t{64} << 20;

SpillFile file(format::spill_name_begin);
constinit platform::NeverDestroyed<platform::MappedFile> mapped;  ///< the file, mapped at the end

std::span<ClusteredLoop* const> loops_of(Location& location) {
  measurement::Iterations* const iterations = location.iterations;
  return iterations ? std::span<ClusteredLoop* const>(iterations->loops, iterations->count)
                    : std::span<ClusteredLoop* const>{};
}

}  // namespace

std::uint64_t iteration_bytes() { return file.bytes(); }

int write_iterations(Location& location) {
  platform::Bytes frames;
  Compressor compressor;
  const auto loops = loops_of(location);
  for (std::uint32_t i = 0; i < loops.size(); ++i)
    if (!append_frame(FrameKind::Log, location.thread, i, loops[i]->closed.view(), compressor, frames) ||
        !append_frame(FrameKind::Merges, location.thread, i, std::as_bytes(loops[i]->merges.view()), compressor,
                      frames))
      return ENOMEM;
  if (frames.empty()) return 0;
  if (const int error = file.append(experiment_directory(), rank_in_experiment(), frames.view())) return error;
  for (ClusteredLoop* loop : loops) {
    loop->closed.clear();
    loop->merges.clear();
  }
  return 0;
}

void drop_iterations(Location& location) {
  for (ClusteredLoop* loop : loops_of(location)) {
    if (loop->closed.size() <= memory_without_file) continue;
    loop->closed.clear();
    location.count_loss(measurement::Loss::IterationsNotKept);
  }
}

std::size_t iterations_in_memory(Location& location) {
  std::size_t bytes = 0;
  for (const ClusteredLoop* loop : loops_of(location)) bytes += loop->closed.size();
  return bytes;
}

std::span<const std::byte> map_iterations() {
  const bool is_little = file.bytes() > 0 && file.bytes() <= max_to_take_back;
  if (!is_little || file.map(experiment_directory(), rank_in_experiment(), mapped.get()) != 0) return {};
  return mapped.get().bytes().first(file.bytes());
}

void remove_iteration_file() { file.remove(experiment_directory(), rank_in_experiment()); }

void move_iteration_file(const char* from) {
  const int error = file.move(from, rank_before_mpi, experiment_directory(), rank_in_experiment());
  if (error == 0) return;
  platform::say("rank %d has lost the iterations before MPI_Init, which cannot be moved to '%s': %s",
                rank_in_experiment(), experiment_directory(), error_text(error).data());
  if (Location* l = measurement::own_location()) l->count_loss(measurement::Loss::IterationsNotKept);
}

}  // namespace refrain::record
