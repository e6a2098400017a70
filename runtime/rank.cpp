#include "runtime/rank.hpp"

#include <unistd.h>

#include "config/trace_selection.hpp"
#include "measurement/event_log.hpp"
#include "measurement/locations.hpp"
#include "platform/cores.hpp"
#include "platform/threads.hpp"
#include "record/clock_offsets.hpp"
#include "record/event_agreement.hpp"
#include "record/event_file.hpp"
#include "runtime/verbose.hpp"
#include "sampling/sampler.hpp"

namespace refrain::runtime {

constinit ThisRank this_rank{};

namespace {

using measurement::Location;

platform::CounterWatch counter_watch;
std::int64_t begin_epoch_ns;
platform::Cores cores_at_begin;
std::int64_t cpu_quota = 0;  ///< in thousandths of a core; 0: none
/// Negative: the kernel does not count it.
struct CoresTaken {
  std::int64_t throttled_ns = -1, taken_ns = -1;
};
CoresTaken taken_at_begin, taken_so_far;
bool experiment_is_refused = false;

/// The cores of all measured threads that are alive: a program may have bound each of them to cores of its own.
platform::Cores cores_now() {
  platform::Cores cores{};
  platform::add_cores_of(this_rank.process_id, cores);
  for (const Location* l = measurement::first_location(); l; l = l->next)
    if (l->in_use.load(std::memory_order_relaxed)) platform::add_cores_of(l->os_thread_id, cores);
  return cores;
}

static_assert(static_cast<int>(format::EventMode::Sampled) == static_cast<int>(config::TraceMode::Sampled));

/// Fills in what the record of this rank says besides its locations.
record::RankRecord make_frame(const Spilled& spilled) {
  record::RankRecord frame{};
  frame.rank = this_rank.world.rank;
  frame.ranks = this_rank.world.size;
  frame.process_id = platform::process_id();
  gethostname(frame.host, sizeof frame.host - 1);
  frame.first_anchor = this_rank.first_anchor;
  frame.last_anchor = platform::read_anchor();
  frame.begin_epoch_ns = begin_epoch_ns;
  frame.cores_at_begin = cores_at_begin;
  frame.cores_at_end = cores_now();
  frame.cpu_quota_in_thousandths = cpu_quota;
  const auto since = [](std::int64_t begin, std::int64_t now) { return begin < 0 || now < begin ? -1 : now - begin; };
  frame.throttled_ns = since(taken_at_begin.throttled_ns, taken_so_far.throttled_ns);
  frame.taken_ns = since(taken_at_begin.taken_ns, taken_so_far.taken_ns);
  frame.region_names = measurement::mpi_region_names;
  if (this_rank.adapter.communicators) {
    // In this order: each kind refers to the next one, and other threads may be adding to all of them.
    frame.window_traffic = this_rank.adapter.window_traffic();
    frame.windows = this_rank.adapter.windows();
    frame.communicators = this_rank.adapter.communicators();
  }
  frame.spilled_bytes = spilled.bytes;
  frame.early_iterations = spilled.frames;
  frame.event_mode = static_cast<format::EventMode>(measurement::event_settings.selection.mode);
  frame.event_bytes = spilled.takes_in_events ? 0 : record::event_bytes();
  frame.event_frames = spilled.event_frames;
  if (frame.event_mode != format::EventMode::Off) frame.clock = record::identity_of_clock();
  frame.clock_offsets = record::clock_offsets();
  if (measurement::is_sample_of_events()) record::describe_event_sample(frame);
  return frame;
}

}  // namespace

bool is_original_process() { return platform::process_id() == this_rank.process_id; }

void begin_rank() {
  this_rank.process_id = platform::process_id();
  platform::start_clock();
  this_rank.first_anchor = platform::read_anchor();
  counter_watch = platform::CounterWatch(platform::read_uncorrected_anchor());
  begin_epoch_ns = platform::wall_clock_ns();
  platform::add_cores_of(0, cores_at_begin);
  cpu_quota = platform::cpu_quota_in_thousandths();
  read_cores_taken();
  taken_at_begin = taken_so_far;
}

bool have_experiment(Ending reason) {
  if (!is_original_process()) return false;
  const bool is_overdue = platform::monotonic_ns() - this_rank.first_anchor.monotonic_ns > init_timeout_ns;
  const bool may_be_made =
      this_rank.is_without_mpi || (!this_rank.mpi_was_initialized && (reason == Ending::Left || is_overdue));
  if (!this_rank.has_experiment && may_be_made && !experiment_is_refused) {
    open_experiment("");
    experiment_is_refused = !this_rank.has_experiment;  // open_experiment() has said why
  }
  return this_rank.has_experiment;
}

bool open_experiment(const char* mpi_library) {
  const config::Configuration& configuration = this_rank.configuration;
  this_rank.has_experiment =
      record::open_experiment(configuration, this_rank.world, mpi_library, sampling::why_not_the_task_clock());
  if (this_rank.has_experiment && configuration.verbose && this_rank.world.rank == 0)
    tell_begin(configuration, *mpi_library ? mpi_library : nullptr, record::experiment_directory());
  return this_rank.has_experiment;
}

void read_cores_taken() { taken_so_far = {platform::throttled_ns(), platform::taken_ns(cores_at_begin)}; }

bool build_record(RankRecordBuilder& builder, const Spilled& spilled, Threads threads) {
  const bool going = threads == Threads::Going;
  if (going && !measurement::pause_others()) return false;
  record::RankRecord frame = make_frame(spilled);
  if (going) {
    frame.stretches = builder.copy_of(frame.stretches);
    measurement::resume_others();
  }
  if (Location* l = measurement::own_location(); l && !counter_watch.agrees(platform::read_uncorrected_anchor()))
    l->count_loss(measurement::Loss::CounterJumped);
  const bool is_on_wall_clock = this_rank.configuration.sampling_clock == config::SamplingClock::Wall;
  return builder.build(frame, this_rank.calibration, {is_on_wall_clock, sampling::cpu_time_without_ticks}, threads);
}

bool write_record(const RankRecordBuilder& builder, Ending ending, const measurement::Peers& peers) {
  if (ending == Ending::Left && !this_rank.mpi_was_initialized) ending = Ending::Complete;
  const bool written = record::write_experiment(this_rank.configuration, builder.record(), peers, ending);
  if (ending != Ending::Warned && this_rank.configuration.verbose)
    tell_end(builder.record(), record::experiment_directory());
  return written;
}

}  // namespace refrain::runtime
