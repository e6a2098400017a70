#include "runtime/event_file.hpp"

#include <cerrno>

#include "archive/error_text.hpp"
#include "archive/event_frames.hpp"
#include "archive/spill_file.hpp"
#include "format/event_file.hpp"
#include "measurement/locations.hpp"
#include "runtime/experiment.hpp"
#include "runtime/message.hpp"

namespace refrain::runtime {
namespace {

using measurement::Location;

archive::SpillFile file(format::events_name_begin);

/// Returns 0 or the errno value.
int write(Location& location, const events::Buffer::Place& to, std::int32_t rank) {
  platform::Bytes frame;
  archive::Compressor compressor;
  if (!append_event_frame(location.events->records.until(to), compressor, frame)) return ENOMEM;
  if (const int error = file.append(experiment_directory(), rank, frame.view())) return error;
  measurement::remove_events(location, to);
  return 0;
}

void write_or_end(Location& location, const events::Buffer::Place& to, std::int32_t rank) {
  if (to.size == 0 || measurement::events_have_ended.load(std::memory_order_relaxed)) return;
  if (!measurement::is_held(location)) return;  // its thread appends
  const int error = write(location, to, rank);
  if (!error) return;
  measurement::events_have_ended.store(true, std::memory_order_relaxed);
  location.count_loss(measurement::Loss::EventsLost);
  say("rank %d cannot write events to '%s': %s; no more are kept", static_cast<int>(rank), experiment_directory(),
      archive::error_text(error).data());
}

}  // namespace

std::uint64_t event_bytes() { return file.bytes(); }

void write_events(Location& location, EventsUntil until, std::int32_t rank) {
  if (!location.events) return;
  write_or_end(location,
               until == EventsUntil::Kept ? measurement::end_of_kept_events(location) : location.events->records.end(),
               rank);
}

void write_all_events(EventsUntil until, std::int32_t rank) {
  for (Location* l = measurement::first_location(); l; l = l->next) write_events(*l, until, rank);
}

}  // namespace refrain::runtime
