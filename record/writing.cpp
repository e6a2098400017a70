#include "record/writing.hpp"

#include "guest/launch.hpp"
#include "guest/message.hpp"
#include "measurement/event_log.hpp"
#include "platform/clock.hpp"
#include "platform/modules.hpp"
#include "record/clock_offsets.hpp"
#include "record/directory.hpp"
#include "record/event_agreement.hpp"
#include "record/event_file.hpp"
#include "record/experiment.hpp"
#include "record/run.hpp"

namespace refrain::record {
namespace {

using guest::Ending;

bool is_open = false, is_refused = false;
bool clocks_are_good = true;  ///< the exchange in MPI_Init has not failed
constinit platform::NeverDestroyed<platform::Bytes> event_frames{};
bool event_frames_are_in_profile = false;

std::int64_t finalize_deadline() { return deadline_in(run.configuration.finalize_timeout); }

format::EventMode event_mode() {
  switch (measurement::event_settings.selection.mode) {
    case config::TraceMode::All: return format::EventMode::All;
    case config::TraceMode::List: return format::EventMode::List;
    case config::TraceMode::Sampled: return format::EventMode::Sampled;
    case config::TraceMode::Off: break;
  }
  return format::EventMode::Off;
}

/// What the record of this rank says beside its locations.
archive::RankRecord make_frame(const Spilled& spilled) {
  archive::RankRecord frame = record_of_process();
  frame.region_names = measurement::mpi_region_names;
  if (run.adapter.communicators) {
    // Each refers to the next, and other threads may be adding to them.
    frame.window_traffic = run.adapter.window_traffic();
    frame.windows = run.adapter.windows();
    frame.communicators = run.adapter.communicators();
  }
  frame.spilled_bytes = spilled.bytes;
  frame.early_iterations = spilled.frames;
  frame.event_mode = event_mode();
  frame.event_bytes = event_frames_are_in_profile ? 0 : event_bytes();
  frame.event_frames = event_frames.get().view();
  if (frame.event_mode != format::EventMode::Off) frame.clock = identity_of_clock();
  frame.clock_offsets = clock_offsets();
  if (measurement::is_sample_of_events()) {
    const EventAgreement events = event_agreement();
    frame.event_levels = events.levels;
    frame.slowest = events.slowest;
    frame.events_agreed = events.agreed;
    frame.stretches = events.stretches;
  }
  return frame;
}

/// In MPI_Finalize. False: it failed.
bool exchange_about_events() {
  const std::int64_t deadline = finalize_deadline();
  return clocks_are_good && (!clocks_are_compared() || measure_clock_offset(run.world, deadline)) &&
         (!events_are_agreed_on() || agree_on_events(run.world, deadline));
}

/// What is left of events: to the file, or to the profile. Returns the other ranks as the writer of the profile may
/// talk to them.
measurement::Peers finish_events(Ending ending, bool files_are_ours) {
  measurement::Peers peers = run.world;
  if (ending == Ending::Complete && !exchange_about_events())
    peers.size = 1;  // messages of that exchange may still come: there is no other one after it
  if (ending == Ending::Complete && files_are_ours && measurement::is_sample_of_events())
    event_frames_are_in_profile = take_in_events(event_frames.get());
  if (files_are_ours && !event_frames_are_in_profile) write_all_events(EventsUntil::Now);
  return peers;
}

bool init_is_overdue() { return platform::monotonic_ns() - run.first_anchor.monotonic_ns > patience_before_init_ns; }

}  // namespace

bool open_for_all_ranks() { return is_open = open_experiment(run.adapter.library_version); }
bool experiment_is_open() { return is_open; }

bool have_experiment(Ending reason) {
  if (!guest::callbacks.is_home_process()) return false;
  const bool may_be_made =
      run.is_without_mpi || (!run.mpi_was_initialized && (reason == Ending::Left || init_is_overdue()));
  if (!is_open && may_be_made && !is_refused) {
    is_open = open_experiment("");
    is_refused = !is_open;  // which has been said
  }
  return is_open;
}

void compare_clocks() {
  if (clocks_are_compared()) clocks_are_good = measure_clock_offset(run.world, finalize_deadline());
}

bool build_record(RankRecordBuilder& builder, const Spilled& spilled, RankRecordBuilder::Threads threads) {
  return builder.build(make_frame(spilled), threads);
}

bool write_record(const RankRecordBuilder& builder, Ending ending) {
  if (ending == Ending::Left && !run.mpi_was_initialized) ending = Ending::Complete;
  return write_experiment(builder.record(), run.world, ending);
}

void write_everything(Ending ending, bool files_are_ours) {
  platform::refresh_modules();
  read_cores_taken();
  const measurement::Peers peers = finish_events(ending, files_are_ours);
  RankRecordBuilder builder;
  if (!build_record(builder, map_spilled(), RankRecordBuilder::Threads::Ended)) {
    guest::say("no memory to write the experiment; rank %d is missing from it", run.world.rank);
    guest::note_said();
    return;
  }
  const bool written = write_experiment(builder.record(), peers, ending);
  if (written && event_frames_are_in_profile) remove_event_file();
  if (written && !event_frames_are_in_profile) tell_unwritten_sample();
  if (written && peers.size < run.world.size && run.world.rank == 0)
    guest::say(
        "'%s' is incomplete: not all ranks answered before REFRAIN_FINALIZE_TIMEOUT; each rank that got here "
        "wrote its own profile",
        experiment_directory());
}

}  // namespace refrain::record
