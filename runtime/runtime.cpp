/// The composition root: which part acts in which order when a measured process starts, forks, initializes MPI and
/// ends. It reads like a table of contents; the chapters are in the other files and folders.
///
/// States: dormant (loaded, waiting for an image that needs MPI, or for MPI_Init) -> measuring -> finished. A process
/// whose measurement is disabled or cannot begin goes to finished at once. Unless they say otherwise, all functions run
/// in ordinary context and are called by one thread at a time.

#include <atomic>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include "config/configuration.hpp"
#include "config/iteration_at.hpp"
#include "config/trace_selection.hpp"
#include "guest/endings.hpp"
#include "guest/guest.hpp"
#include "guest/signal_sets.hpp"
#include "guest/signals.hpp"
#include "measurement/call_durations.hpp"
#include "measurement/entrance.hpp"
#include "measurement/followers.hpp"
#include "measurement/iteration_trigger.hpp"
#include "measurement/iterations.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/locations.hpp"
#include "measurement/marks.hpp"
#include "measurement/stopping.hpp"
#include "measurement/unseen_threads.hpp"
#include "platform/clock.hpp"
#include "platform/floating_point.hpp"
#include "platform/message.hpp"
#include "platform/modules.hpp"
#include "platform/threads.hpp"
#include "record/event_file.hpp"
#include "record/experiment.hpp"
#include "record/iteration_file.hpp"
#include "record/rank_record.hpp"
#include "record/run_notes.hpp"
#include "runtime/calibration.hpp"
#include "runtime/launch.hpp"
#include "runtime/longer_work.hpp"
#include "runtime/metrics.hpp"
#include "runtime/rank.hpp"
#include "runtime/snapshot.hpp"
#include "runtime/unseen_mpi.hpp"
#include "sampling/sampler.hpp"
#include "sampling/tick.hpp"
#include "unwind/walker.hpp"

namespace refrain::runtime {
namespace {

using measurement::Location;
using measurement::MpiAdapter;
using platform::say;

enum class State { Dormant, Measuring, Finished };
std::atomic<State> state{State::Dormant};

measurement::LocationSettings location_settings;
int loaded_process = 0;                   ///< id of the process that this library was loaded into
bool begins_iterations_at_calls = false;  ///< REFRAIN_ITERATION_AT

/// Async-signal-safe.
bool is_measured() { return state.load(std::memory_order_acquire) == State::Measuring && is_original_process(); }

// ---- what the program does to itself (guest/guest.hpp) --------------------------------------------------------------

/// Makes the calling thread a location and begins to sample it. False: no memory.
bool measure_this_thread() {
  Location* location = measurement::begin_location(location_settings);
  if (!location || !measurement::enter_location(*location)) return false;
  const platform::StackBounds stack = location->walker.stack();
  if (stack.high - stack.low < platform::min_stack_for_handlers()) {
    location->count_loss(measurement::Loss::StackTooSmall);
    return true;
  }
  guest::unblock_inherited_signal();
  sampling::start_sampling(*location);
  return true;
}

bool on_thread_begin() {
  const platform::OwnFloatingPoint own_environment;
  if (!is_measured()) return false;
  if (measure_this_thread()) return true;
  measurement::messages_go_uncounted.store(true, std::memory_order_relaxed);
  if (Location* first = measurement::first_location()) first->count_loss(measurement::Loss::ThreadUnmeasured);
  return false;
}

void before_fork() {
  guest::block_during_fork();
  record::count_fork();
}

/// The child has no timers and is not measured: it runs as if Refrain did not exist.
void after_fork_in_child() {
  state.store(State::Finished, std::memory_order_release);
  sampling::stop_sampler();
  sampling::forget_parents_samplers();
  measurement::set_own_location(nullptr);
  measurement::forget_locations();
  measurement::lifecycle = {};
  guest::give_back_signals();
  record::note_forked();
}

// ---- start ---------------------------------------------------------------------------------------------------------

void on_measurement_wanted(bool wanted) {
  if (state.load() != State::Measuring) return;
  const platform::OwnFloatingPoint own_environment;
  const bool done =
      wanted ? measurement::resume_measurement(sampling::resume_sampling) : measurement::stop_measurement();
  if (!done)
    say("MPI_Pcontrol(%d) was not obeyed: a thread of rank %d could not be held", wanted, this_rank.world.rank);
}

/// Prints one line for the whole job, with the address as addr2line and the report take it; the report has the count.
void on_mark_misused(const char* what, std::uintptr_t site) {
  static std::atomic<bool> said{false};
  if (said.exchange(true) || record::rank_by_environment() > 0) return;
  Dl_info found;
  link_map* module = nullptr;
  // The call instruction lies before its return address.
  const bool is_known =
      site &&
      dladdr1(reinterpret_cast<void*>(site - 1), &found, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) != 0 &&
      module;
  if (!is_known) return say("the program's marks do not match: %s; further mismatches are only counted", what);
  const char* function = found.dli_sname ? found.dli_sname : "";
  say("the program's marks do not match: %s, at %s+0x%lx%s%s%s; further mismatches are only counted", what,
      found.dli_fname, static_cast<unsigned long>(site - 1 - module->l_addr), *function ? " (" : "", function,
      *function ? ")" : "");
}

bool has_untold_error = false;  ///< this process is not measured, and no process has said why
config::ConfigurationError configuration_error;

bool configure() {
  if (!config::read_configuration(this_rank.configuration, configuration_error)) {
    if (record::rank_by_environment() <= 0) say("%s", configuration_error.line), record::note_said();
    else has_untold_error = true;  // said once per job: if all ranks have the same error, rank 0 reports it
    return false;
  }
  return this_rank.configuration.enable;
}

void start_sampler() {
  const config::Configuration& configuration = this_rank.configuration;
  const auto clock = configuration.sampling_clock == config::SamplingClock::Wall ? platform::TimerClock::Wall
                                                                                 : platform::TimerClock::ThreadCpu;
  const auto result = sampling::start_sampler({configuration.sampling_frequency, clock,
                                               configuration.sampling_source == config::SamplingSource::TaskClock,
                                               static_cast<int>(configuration.sampling_signal)});
  if (result == sampling::SamplerStart::NoSignal && record::rank_by_environment() <= 0)
    say("no real-time signal is free for sampling (REFRAIN_SAMPLING_SIGNAL=%d); user code has no samples",
        static_cast<int>(configuration.sampling_signal));
  if (sampling::frequency_is_capped() && record::rank_by_environment() <= 0)
    say("REFRAIN_SAMPLING_FREQUENCY=%ld: this kernel looks at CPU-time timers only %ld times a second, so that many "
        "samples come at most",
        static_cast<long>(configuration.sampling_frequency), 1'000'000'000L / platform::cpu_timer_resolution_ns());
}

/// From here on this process is measured; the calling thread is the first.
bool begin_measurement() {
  const config::Configuration& configuration = this_rank.configuration;
  if (!configure()) return false;
  begin_rank();
  platform::barrier_on_all_threads();  // registers the process, which does not wait only while it has one thread
  platform::refresh_modules();
  measurement::iteration_settings.clusters = static_cast<std::uint32_t>(configuration.clusters);
  constexpr clustering::Equivalence equivalences[] = {clustering::Equivalence::Mpi, clustering::Equivalence::MpiVisits,
                                                      clustering::Equivalence::All, clustering::Equivalence::None};
  measurement::iteration_settings.equivalence =
      equivalences[static_cast<std::size_t>(configuration.cluster_equivalence)];
  measurement::iteration_settings.memory = static_cast<std::size_t>(configuration.memory);
  measurement::iteration_settings.sample_memory = static_cast<std::size_t>(configuration.iteration_samples);
  measurement::iteration_settings.log_limit = static_cast<std::uint64_t>(configuration.iteration_log);
  location_settings = {static_cast<std::size_t>(configuration.memory),
                       static_cast<std::uint32_t>(configuration.callpath_depth),
                       configuration.unwinder == config::Unwinder::Libunwind ? unwind::Backend::Libunwind
                                                                             : unwind::Backend::Incremental};
  if (!unwind::start_rule_cache() || !guest::watch_threads()) {
    say("no memory to start; the program runs unmeasured");
    record::note_said();
    return false;
  }
  choose_metrics(configuration);
  if (configuration.wait_states) measurement::start_durations();
  measurement::start_events({.selection = config::parse_trace(configuration.trace),
                             .memory = static_cast<std::size_t>(configuration.trace_memory),
                             .slowest = static_cast<unsigned>(configuration.trace_slowest),
                             .stretches = !configuration.iteration_at[0]});
  start_sampler();
  sampling::on_foreign_signal = guest::take_foreign_signal;
  guest::protect_alternate_stacks();
  this_rank.calibration = calibrate(location_settings, sampling::sampling_signal());
  sampling::set_tick_cost(static_cast<platform::Ticks>(this_rank.calibration.tick.median));
  pthread_atfork(before_fork, guest::unblock_after_fork, after_fork_in_child);
  measurement::lifecycle.ticks_end = sampling::end_sampling;
  measurement::lifecycle.mark_misused = on_mark_misused;
  measurement::lifecycle.measurement_wanted = on_measurement_wanted;
  state.store(State::Measuring, std::memory_order_release);
  if (!measure_this_thread()) {
    say(configuration.unwinder == config::Unwinder::Libunwind
            ? "REFRAIN_UNWINDER=libunwind: libunwind.so.8 cannot be loaded; the program runs unmeasured"
            : "no memory to start; the program runs unmeasured");
    record::note_said();
    state.store(State::Finished, std::memory_order_release);
    return false;
  }
  measurement::begin_process_cpu_time();
  if (sampling::frequency_is_capped()) measurement::own_location()->count_loss(measurement::Loss::FrequencyCapped);
  this_rank.is_without_mpi = !mpi_is_loaded();
  start_snapshots(this_rank.is_without_mpi ? 0 : init_timeout_ns);
  guest::watch_endings();
  return true;
}

// ---- end -----------------------------------------------------------------------------------------------------------

bool files_are_ours = false;  ///< no other thread writes to the files any more
bool clocks_are_good = true;  ///< the exchange in MPI_Init has not failed

/// Closes the location of the first thread first, and that of the finalizing thread last: until then the others may
/// still be inside calls.
void close_locations() {
  Location* own = measurement::own_location();
  for (Location* l = measurement::first_location(); l; l = l->next)
    if (l != own && measurement::is_first_thread(*l)) measurement::close_location(*l);
  for (Location* l = measurement::first_location(); l; l = l->next)
    if (l != own) measurement::close_location(*l);
  if (own) measurement::close_location(*own);
}

void end_measurement() {
  state.store(State::Finished, std::memory_order_release);
  guest::unwatch_ending_signals();
  files_are_ours = stop_snapshots();
  sampling::stop_sampler();
  close_locations();
  measurement::end_process_cpu_time();
  measurement::bring_followers_up_to_date();
  measurement::lifecycle = {};
}

/// In MPI_Finalize. Returns the ranks that the writer of the profile may talk to.
measurement::Peers exchange_with_peers() {
  measurement::Peers peers = this_rank.world;
  const std::int64_t deadline = record::deadline_in(this_rank.configuration.finalize_timeout);
  const bool good = clocks_are_good && record::agree_with_peers(peers, deadline);
  if (!good) peers.size = 1;  // late messages of this exchange would disturb another one
  return peers;
}

/// Moves spilled iterations and the remaining events into the record if they are few, and otherwise to the files.
Spilled finish_files(platform::Bytes& event_frames) {
  Spilled spilled;
  spilled.frames = record::map_iterations();
  if (spilled.frames.empty()) spilled.bytes = record::iteration_bytes();
  spilled.takes_in_events =
      files_are_ours && measurement::is_sample_of_events() && record::take_in_events(event_frames);
  spilled.event_frames = event_frames.view();
  if (files_are_ours && !spilled.takes_in_events) record::write_all_events(record::EventsUntil::Now);
  return spilled;
}

/// Removes the files whose content the record, now written, has taken in.
void clean_up_files(const Spilled& spilled) {
  if (spilled.bytes == 0) record::remove_iteration_file();
  if (spilled.takes_in_events) record::remove_event_file();
  else record::tell_unwritten_sample();
}

/// Call it after end_measurement().
void write_everything() {
  platform::refresh_modules();
  read_cores_taken();
  const measurement::Peers peers = exchange_with_peers();
  platform::Bytes event_frames;
  const Spilled spilled = finish_files(event_frames);
  RankRecordBuilder builder;
  if (!build_record(builder, spilled, Threads::Ended)) {
    say("no memory to write the experiment; rank %d is missing from it", this_rank.world.rank);
    return record::note_said();
  }
  if (!write_record(builder, Ending::Complete, peers)) return;
  clean_up_files(spilled);
  if (peers.size < this_rank.world.size && this_rank.world.rank == 0)
    say("'%s' is incomplete: not all ranks answered before REFRAIN_FINALIZE_TIMEOUT; each rank that got here wrote"
        " its own profile",
        record::experiment_directory());
}

// ---- what the MPI adapter reports ----------------------------------------------------------------------------------

/// Applies REFRAIN_ITERATION_AT, once the names of MPI's functions are known.
void begin_iterations_at_calls() {
  const config::Configuration& configuration = this_rank.configuration;
  const auto at = config::parse_iteration_at(configuration.iteration_at);
  if (!at.good) return;
  const auto names = measurement::mpi_region_names;
  measurement::set_inlined_code(inlined_code());
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] && at.mpi_function == names[i]) {
      begins_iterations_at_calls = true;
      return measurement::set_trigger(measurement::RegionId{static_cast<std::uint16_t>(i)}, at.function, at.every,
                                      configuration.iteration_at);
    }
  if (this_rank.world.rank == 0)
    say("REFRAIN_ITERATION_AT=%s: this MPI has no function of that name; no iterations begin there",
        configuration.iteration_at);
}

/// Takes part in the collective operations of the other ranks, which would otherwise wait for this one. They may be
/// measured even where REFRAIN_ENABLE is off on this rank.
void join_unmeasured(const MpiAdapter& adapter) {
  measurement::lifecycle.mpi_finalizing = nullptr;
  if (!record::decline_experiment(adapter.peers, !this_rank.configuration.enable)) return;
  if (has_untold_error) say("rank %d runs unmeasured: %s", adapter.peers.rank, configuration_error.line);
  measurement::lifecycle.mpi_finalizing = [](const MpiAdapter& at_end) { record::write_nothing(at_end.peers); };
}

void on_peers_are_late(int rank) {
  say("rank %d waits in MPI_Init: a rank does not take part; is the library there on all nodes, and every rank started "
      "with Refrain?",
      rank);
}

/// Leaves this process unmeasured.
void stay_out() {
  state.store(State::Finished);
  measurement::lifecycle = {};
  measurement::lifecycle.mpi_initialized = join_unmeasured;
  measurement::lifecycle.peers_are_late = on_peers_are_late;
}

/// MPI was loaded late, so the process has been dormant until now.
void on_mpi_begins() {
  State dormant = State::Dormant;
  if (!state.compare_exchange_strong(dormant, State::Finished)) return;  // another thread was first
  const platform::OwnFloatingPoint own_environment;
  clean_environment();
  if (!begin_measurement()) stay_out();
}

void on_mpi_initialized(const MpiAdapter& adapter) {
  const platform::OwnFloatingPoint own_environment;
  if (state.load() != State::Measuring) return;
  const LongerWork work;
  const config::Configuration& configuration = this_rank.configuration;
  const measurement::Peers& world = this_rank.world;
  {
    const SnapshotsHeld held;
    this_rank.mpi_was_initialized = true;
    this_rank.is_without_mpi = false;
    this_rank.adapter = adapter;
    this_rank.world = adapter.peers;
    if (const char* before = open_experiment(adapter.library_version) ? record::experiment_before_mpi() : nullptr)
      join_experiment(before);
  }
  if (!this_rank.has_experiment) return end_measurement();
  clocks_are_good = record::compare_clocks(world, record::deadline_in(configuration.finalize_timeout));
  start_snapshots();
  begin_iterations_at_calls();
  if (Location* location = measurement::own_location()) {
    work.charge(*location);
    measurement::leave_out_own_work(*location);
  }
}

/// Ends an iteration that contains MPI_Finalize: its closing mark would come too late.
void end_iteration_in_progress() {
  Location* location = measurement::own_location();
  // Inside an MPI call (an error handler may end MPI) the call is still open, and its location is closed as it is.
  if (!location || location->inside.load(std::memory_order_relaxed) != measurement::Inside::User) return;
  if (!measurement::enter(*location, {location->call.pc, location->call.sp, 0})) return;
  measurement::end_with_finalize(*location);
  measurement::leave(*location, measurement::Inside::User);
}

/// Whether a call path of this process ends in the MPI function. Call it after the measurement has ended.
bool has_called(std::string_view function) {
  const auto names = measurement::mpi_region_names;
  for (const Location* l = measurement::first_location(); l; l = l->next)
    for (const measurement::Node& node : l->tree.nodes())
      if (node.kind == measurement::NodeKind::Region && node.key < names.size() && names[node.key] &&
          function == names[node.key])
        return true;
  return false;
}

void tell_untriggered_iterations() {
  const char* why =
      begins_iterations_at_calls && this_rank.world.rank == 0 ? measurement::why_nothing_was_triggered() : nullptr;
  if (why) say("REFRAIN_ITERATION_AT=%s: no iteration began there: %s", this_rank.configuration.iteration_at, why);
}

/// MPI starts spawned processes without `refrain exec`.
void tell_spawned_processes() {
  if (this_rank.world.rank != 0) return;
  for (const char* function : {"MPI_Comm_spawn", "MPI_Comm_spawn_multiple"})
    if (has_called(function)) return say("processes that the program started by %s were not measured", function);
}

void on_mpi_finalizing(const MpiAdapter& adapter) {
  if (state.load() != State::Measuring || !this_rank.has_experiment) return;
  const platform::OwnFloatingPoint own_environment;
  this_rank.adapter = adapter;
  this_rank.world = adapter.peers;
  end_iteration_in_progress();
  tell_untriggered_iterations();
  end_measurement();
  tell_spawned_processes();
  write_everything();
}

void on_mpi_aborting() {
  if (this_rank.has_experiment) guest::write_before_exit();
}

bool write_at_end(guest::End end) {
  constexpr Ending endings[] = {Ending::Left, Ending::Killed, Ending::Warned};
  return write_as_it_is(endings[static_cast<int>(end)]);
}

// ---- the library is loaded and unloaded -----------------------------------------------------------------------------

/// glibc's dynamic linker passes the arguments of main. Begins the measurement, or stays dormant until MPI is
/// initialized.
[[gnu::constructor]] void start_process(int, char** arguments) {
  const platform::OwnFloatingPoint own_environment;
  loaded_process = platform::process_id();
  platform::remember_stderr();
  remember_initial_environment(arguments);
  record::remember_run();
  guest::find_exec_functions();
  measurement::lifecycle.mpi_begins = on_mpi_begins;
  measurement::lifecycle.mpi_initialized = on_mpi_initialized;
  measurement::lifecycle.peers_are_late = on_peers_are_late;
  measurement::lifecycle.mpi_finalizing = on_mpi_finalizing;
  measurement::lifecycle.mpi_aborting = on_mpi_aborting;
  const LaunchMode mode = launch_mode();
  if (mode == LaunchMode::Script) become_measured(arguments);
  if (mode != LaunchMode::Program && mode != LaunchMode::Linked && !mpi_is_loaded()) return;
  clean_environment();
  if (!begin_measurement()) stay_out();
}

void tell_or_note_unseen_mpi() {
  if (platform::process_id() != loaded_process || this_rank.mpi_was_initialized) return;
  if (state.load() != State::Finished && tell_unseen_mpi()) return;
  if (state.load() == State::Dormant && mpi_is_in_a_namespace()) record::note_mpi_unseen();
}

/// The process ends without MPI_Finalize: by exit(), by a return from main, by quick_exit(), or because a library ends
/// it.
[[gnu::destructor]] void end_process() {
  tell_or_note_unseen_mpi();
  if (!is_measured()) return;
  const platform::OwnFloatingPoint own_environment;
  // A destructor that runs later may still call MPI_Finalize.
  if (this_rank.mpi_was_initialized) return guest::write_before_exit();
  end_measurement();
  const auto write = [](void*) {
    if (have_experiment(Ending::Left)) write_everything();
  };
  if (guest::run_at_end(write, this_rank.configuration.finalize_timeout)) return;
  say("writing to '%s' takes longer than REFRAIN_FINALIZE_TIMEOUT; the program ends without waiting for it",
      record::experiment_directory());
  record::note_said();
}

}  // namespace
}  // namespace refrain::runtime

namespace refrain {

using namespace runtime;

constinit const guest::Callbacks guest::callbacks{
    .is_measured = is_measured,
    .is_original_process = is_original_process,
    .is_one_of_several = [] { return this_rank.world.size > 1; },
    .sampling_signal = sampling::sampling_signal,
    .signal_of_handler = sampling::signal_of_handler,
    .is_own_tick = sampling::is_own_tick,
    .can_be_continued = [] { return is_measured() && !this_rank.mpi_was_initialized; },
    .traces = traces,
    .thread_begins = on_thread_begin,
    .signal_taken = [] { guest::give_back_handler_masks(), sampling::give_up_signal(); },
    .module_unloaded = [] { unwind::refresh_tables(), unwind::forget_rules(); },
    .replaced = record::note_replacement,
    .end_announced = ask_for_snapshot,
    .ends = end_process,
    .write = write_at_end,
};

}  // namespace refrain
