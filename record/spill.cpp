#include "record/spill.hpp"

#include <atomic>
#include <cerrno>

#include "archive/error_text.hpp"
#include "archive/iteration_frames.hpp"
#include "archive/spill_file.hpp"
#include "guest/message.hpp"
#include "measurement/iterations.hpp"
#include "measurement/locations.hpp"
#include "record/directory.hpp"
#include "record/run.hpp"

namespace refrain::record {
namespace {

using format::FrameKind;
using measurement::ClusteredLoop;
using measurement::Location;

/// More than this stays in a file of its own: a process at its end shall not need much memory.
constexpr std::uint64_t most_to_take_back = std::uint64_t{64} << 20;
/// What a loop may keep in memory when its file cannot be written.
constexpr std::size_t memory_without_file = std::size_t{16} << 20;

archive::SpillFile file(format::spill_name_begin);
constinit platform::NeverDestroyed<platform::MappedFile> mapped;  ///< the file, mapped at the end
std::atomic<bool> ended{false};

}  // namespace

int spill(Location& location) {
  platform::Bytes frames;
  archive::Compressor compressor;
  measurement::Iterations* iterations = measurement::iterations_of(location);
  const std::uint32_t loops = iterations ? iterations->count : 0;
  for (std::uint32_t i = 0; i < loops; ++i) {
    ClusteredLoop& loop = *iterations->loops[i];
    if (!append_frame(FrameKind::Log, location.thread, i, loop.closed.view(), compressor, frames) ||
        !append_frame(FrameKind::Merges, location.thread, i, std::as_bytes(loop.merges.view()), compressor, frames))
      return ENOMEM;
  }
  if (frames.empty()) return 0;
  if (const int error = file.append(experiment_directory(), run.world.rank, frames.view())) return error;
  for (std::uint32_t i = 0; i < loops; ++i) {
    iterations->loops[i]->closed.clear();
    iterations->loops[i]->merges.clear();
  }
  return 0;
}

bool end_writing() { return !ended.exchange(true); }
bool writing_has_ended() { return ended.load(std::memory_order_relaxed); }

void give_up_spilling(int error) {
  if (!end_writing()) return;
  measurement::iteration_settings.log_memory = memory_without_file;
  guest::say("rank %d cannot write its iterations to '%s': %s; they stay in memory as far as they have room",
             static_cast<int>(run.world.rank), experiment_directory(), archive::error_text(error).data());
}

void drop_iterations(Location& location) {
  measurement::Iterations& iterations = *measurement::iterations_of(location);
  for (std::uint32_t i = 0; i < iterations.count; ++i) {
    ClusteredLoop& loop = *iterations.loops[i];
    if (loop.closed.size() <= memory_without_file) continue;
    loop.closed.clear();
    location.count_loss(measurement::Loss::IterationsNotKept);
  }
}

std::uint64_t spilled_bytes() { return file.bytes(); }

Spilled map_spilled() {
  if (file.bytes() == 0) return {};
  const bool small = file.bytes() <= most_to_take_back;
  if (!small || file.map(experiment_directory(), run.world.rank, mapped.get()) != 0) return {file.bytes(), {}};
  return {0, mapped.get().bytes().first(file.bytes())};
}

void move_spilled(const char* from, std::int32_t from_rank, const char* to, std::int32_t rank) {
  const int error = file.move(from, from_rank, to, rank);
  if (error == 0) return;
  guest::say("rank %d has lost the iterations before MPI_Init, which cannot be moved to '%s': %s", rank, to,
             archive::error_text(error).data());
  if (Location* l = measurement::own_location()) l->count_loss(measurement::Loss::IterationsNotKept);
}

void remove_spilled() { file.remove(experiment_directory(), run.world.rank); }

}  // namespace refrain::record
