#include "record/event_file.hpp"

#include <cerrno>

#include "format/event_file.hpp"
#include "measurement/locations.hpp"
#include "platform/message.hpp"
#include "record/error_text.hpp"
#include "record/event_agreement.hpp"
#include "record/experiment.hpp"
#include "record/frames.hpp"
#include "record/spill_file.hpp"

namespace refrain::record {
namespace {

using measurement::Location;
using platform::say;

SpillFile file(format::events_name_begin);

/// Returns 0 or the errno value.
int append(const events::Block& block) {
  platform::Bytes frame;
  Compressor compressor;
  if (!append_event_frame(block, compressor, frame)) return ENOMEM;
  return file.append(experiment_directory(), rank_in_experiment(), frame.view());
}

void end_events(Location& location, int error) {
  measurement::events_have_ended.store(true, std::memory_order_relaxed);
  location.count_loss(measurement::Loss::EventsLost);
  say("rank %d cannot write events to '%s': %s; no more are kept", rank_in_experiment(), experiment_directory(),
      error_text(error).data());
}

/// Whether the thread of the location does not append meanwhile, and events are still written.
bool can_be_written(const Location& location) {
  return location.events && measurement::is_held(location) &&
         !measurement::events_have_ended.load(std::memory_order_relaxed);
}

/// Calls `action` for the sample of each location whose thread does not append meanwhile.
template <class Do>
void for_each_sample(Do action) {
  for (Location* l = measurement::first_location(); l; l = l->next)
    if (l->events && measurement::is_held(*l)) action(l->events->spans);
}

/// Size of a frame of a sample, and of the buffer that compressed spans are unpacked into.
constexpr std::size_t bytes_of_a_frame = std::size_t{1} << 20;
static_assert(bytes_of_a_frame >= events::SpanStore::min_room);
bool has_room(platform::Bytes& room) {
  return room.resize(bytes_of_a_frame) || room.resize(events::SpanStore::min_room);
}

int unwritten_sample = 0;  ///< errno value of a failed write; 0: none has failed
bool unwritten_was_told = false;

/// A sample stays in memory until its spans are dropped, even when they are written. So a failed write ends nothing: at
/// the end of the run the profile takes the sample in.
void write_sample(Location& location, EventsUntil until) {
  if (unwritten_sample) return;
  events::SpanStore& spans = location.events->spans;
  if (until == EventsUntil::Now) spans.finish(location.events->records);
  if (!spans.has_more()) return;
  platform::Bytes room;
  if (!has_room(room)) {
    unwritten_sample = ENOMEM;
    return;
  }
  while (spans.has_more())
    if (const int error = append(spans.next_block(location.events->records, {room.data(), room.size()}))) {
      unwritten_sample = error;
      return;
    }
}

}  // namespace

/// Until the ranks have agreed, a reader knows what to leave out.
void drop_outdated_events(EventsUntil until) {
  if (!measurement::is_sample_of_events()) return;
  bool outdated = false;
  for_each_sample([&](const events::SpanStore& spans) { outdated |= spans.is_outdated(); });
  const bool is_large = until == EventsUntil::Kept && file.bytes() >= 2 * measurement::event_settings.memory;
  if (!outdated || !(is_large || have_agreed_on_events())) return;
  file.begin_anew();
  for_each_sample([](events::SpanStore& spans) { spans.write_anew(); });
}

std::uint64_t event_bytes() { return file.bytes(); }

void write_events(Location& location, EventsUntil until) {
  if (!can_be_written(location)) return;
  if (measurement::is_sample_of_events()) return write_sample(location, until);
  const events::Buffer::Position to =
      until == EventsUntil::Kept ? measurement::end_of_kept_events(location) : location.events->records.end();
  if (to.size == 0) return;
  if (const int error = append(location.events->records.until(to))) return end_events(location, error);
  measurement::remove_events(location, to);
}

void tell_unwritten_sample() {
  if (unwritten_sample == 0 || unwritten_was_told) return;
  unwritten_was_told = true;
  say("rank %d cannot write events to '%s': %s", rank_in_experiment(), experiment_directory(),
      error_text(unwritten_sample).data());
}

bool take_in_events(platform::Bytes& frames) {
  constexpr std::size_t most = std::size_t{64} << 20;  // a process that ends must not need much memory
  Compressor compressor;
  platform::Bytes room;
  if (!has_room(room)) return false;
  for (Location* l = measurement::first_location(); l; l = l->next) {
    if (!l->events || !measurement::is_held(*l)) continue;
    events::SpanStore& spans = l->events->spans;
    spans.finish(l->events->records);
    spans.write_anew();
    while (spans.has_more()) {
      const events::Block block = spans.next_block(l->events->records, {room.data(), room.size()});
      if (append_event_frame(block, compressor, frames) && frames.size() <= most) continue;
      frames.release();
      for_each_sample([](events::SpanStore& of) { of.write_anew(); });
      file.begin_anew();
      return false;
    }
  }
  return true;
}

void move_event_file(const char* from) {
  const int error = file.move(from, rank_before_mpi, experiment_directory(), rank_in_experiment());
  if (error == 0) return;
  if (!measurement::is_sample_of_events()) {
    if (Location* l = measurement::own_location()) end_events(*l, error);
    return;
  }
  for_each_sample([](events::SpanStore& spans) { spans.write_anew(); });
}

void remove_event_file() { file.remove(experiment_directory(), rank_in_experiment()); }

void write_all_events(EventsUntil until) {
  drop_outdated_events(until);
  for (Location* l = measurement::first_location(); l; l = l->next) write_events(*l, until);
}

}  // namespace refrain::record
