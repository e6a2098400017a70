#include "runtime/runtime.hpp"

#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/configuration.hpp"
#include "config/iteration_at.hpp"
#include "config/trace_selection.hpp"
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
#include "platform/cores.hpp"
#include "platform/floating_point.hpp"
#include "platform/modules.hpp"
#include "platform/signal_mask.hpp"
#include "platform/threads.hpp"
#include "runtime/calibration.hpp"
#include "runtime/clock_offsets.hpp"
#include "runtime/endings.hpp"
#include "runtime/event_agreement.hpp"
#include "runtime/event_file.hpp"
#include "runtime/experiment.hpp"
#include "runtime/launch.hpp"
#include "runtime/longer_work.hpp"
#include "runtime/message.hpp"
#include "runtime/metrics.hpp"
#include "runtime/rank_record.hpp"
#include "runtime/signal_sets.hpp"
#include "runtime/signals.hpp"
#include "runtime/snapshot.hpp"
#include "runtime/unseen_mpi.hpp"
#include "sampling/sampler.hpp"
#include "sampling/tick.hpp"
#include "unwind/walker.hpp"

namespace refrain::runtime {
namespace {

using measurement::Location;
using measurement::MpiAdapter;

enum class State { Dormant, Measuring, Finished };
std::atomic<State> state{State::Dormant};

config::Configuration configuration;
Calibration calibration;
measurement::LocationSettings location_settings;
platform::ClockAnchor first_anchor;
platform::CounterWatch counter_watch;
std::int64_t begin_epoch_ns;
platform::Cores cores_at_begin;
std::int64_t cpu_quota = 0;  ///< thousandths of a core; 0: none
/// What the kernel does not count is below 0.
struct CoresTaken {
  std::int64_t throttled_ns = -1, taken_ns = -1;
};
CoresTaken taken_at_begin, taken_so_far;
int loaded_process = 0;  ///< process id of the process that this library was loaded into
int home_process = 0;    ///< process id of the measured process: a child of vfork shares our memory, not our duty
pthread_key_t thread_end_key;
bool mpi_was_initialized = false;
bool begins_iterations_at_calls = false;  ///< REFRAIN_ITERATION_AT
bool experiment_is_open = false, experiment_is_refused = false;
/// A program that is linked to MPI need not initialize it. After so long it is measured as one without MPI, until it
/// does.
constexpr std::int64_t patience_before_init_ns = 60'000'000'000;
bool is_without_mpi = false;  ///< no MPI was loaded when the measurement began, and none has come since
measurement::Peers world;     ///< known from MPI_Init on

// ---- threads -------------------------------------------------------------------------------------------------------

/// Destructors of the program's own keys may make MPI calls. The C library asks all keys once more, some times, while
/// any has a value again: the location ends in the last round.
void on_thread_end(void* location) {
  static thread_local int rounds = 0;
  if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(thread_end_key, location) == 0) return;
  rounds = 0;
  measurement::end_location(*static_cast<Location*>(location));
}

/// The calling thread becomes a location and is sampled. False: no memory.
bool measure_this_thread() {
  Location* location = measurement::begin_location(location_settings);
  if (!location) return false;
  if (!measurement::enter_location(*location)) return false;
  const platform::StackBounds stack = location->walker.stack();
  if (stack.high - stack.low < platform::least_stack_for_handlers()) {
    location->count_loss(measurement::Loss::StackTooSmall);
    return true;
  }
  unblock_inherited_signal();
  sampling::start_sampling(*location);
  return true;
}

void on_thread_begin() {
  const platform::OwnFloatingPoint own_environment;
  if (state.load(std::memory_order_acquire) != State::Measuring) return;
  if (!measure_this_thread()) {
    measurement::messages_go_uncounted.store(true, std::memory_order_relaxed);
    if (Location* first = measurement::first_location()) first->count_loss(measurement::Loss::ThreadUnmeasured);
    return;
  }
  pthread_setspecific(thread_end_key, measurement::own_location());
}

// ---- fork ----------------------------------------------------------------------------------------------------------

thread_local sigset_t mask_before_fork __attribute__((tls_model("initial-exec")));

/// A tick during fork makes the kernel start it over: with a large process and a short period it never ends.
void before_fork() {
  change_mask_of_program(SIG_BLOCK, nullptr, &mask_before_fork);
  block_sampling_signal();
  count_fork();
}
void after_fork_in_parent() { change_mask_of_program(SIG_SETMASK, &mask_before_fork, nullptr); }

/// The child has no timers and is not measured: it runs as if Refrain were not there.
void after_fork_in_child() {
  state.store(State::Finished, std::memory_order_release);
  sampling::stop_sampler();
  sampling::forget_parents_samplers();
  if (measurement::own_location()) pthread_setspecific(thread_end_key, nullptr);
  measurement::set_own_location(nullptr);
  measurement::forget_locations();
  measurement::lifecycle = {};
  unwatch_endings();
  give_back_handler_masks();
  forget_inherited_signal();
  if (const int signal = sampling::sampling_signal()) {
    struct sigaction by_default {};
    kernel_sigaction(signal, &by_default, nullptr);
  }
  platform::change_signal_mask(SIG_SETMASK, &mask_before_fork, nullptr);
  note_forked();
}

// ---- start ---------------------------------------------------------------------------------------------------------

void on_measurement_wanted(bool wanted) {
  if (state.load() != State::Measuring) return;
  const platform::OwnFloatingPoint own_environment;
  const bool done =
      wanted ? measurement::resume_measurement(sampling::resume_sampling) : measurement::stop_measurement();
  if (!done) say("MPI_Pcontrol(%d) was not obeyed: a thread of rank %d could not be held", wanted, world.rank);
}

/// One line for the whole job, with the place as addr2line and the report take it; the count is in the report.
void on_mark_misused(const char* what, std::uintptr_t site) {
  static std::atomic<bool> said{false};
  if (said.exchange(true) || rank_by_environment() > 0) return;
  Dl_info found;
  link_map* module = nullptr;
  // The call lies before its return address.
  const bool is_known =
      site &&
      dladdr1(reinterpret_cast<void*>(site - 1), &found, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) != 0 &&
      module;
  if (!is_known) return say("marks of the program do not match: %s; more of it is only counted", what);
  const char* function = found.dli_sname ? found.dli_sname : "";
  say("marks of the program do not match: %s, at %s+0x%lx%s%s%s; more of it is only counted", what, found.dli_fname,
      static_cast<unsigned long>(site - 1 - module->l_addr), *function ? " (" : "", function, *function ? ")" : "");
}

bool has_untold_error = false;  ///< this process is not measured, and nobody has said why
config::ConfigurationError configuration_error;

bool configure() {
  if (!config::read_configuration(configuration, configuration_error)) {
    if (rank_by_environment() <= 0) say("%s", configuration_error.line), note_said();
    else has_untold_error = true;  // once per job; if the others have the same, rank 0 says it
    return false;
  }
  return configuration.enable;
}

void start_sampler() {
  const auto clock = configuration.sampling_clock == config::SamplingClock::Wall ? platform::TimerClock::Wall
                                                                                 : platform::TimerClock::ThreadCpu;
  const auto result = sampling::start_sampler({configuration.sampling_frequency, clock,
                                               configuration.sampling_source == config::SamplingSource::TaskClock,
                                               static_cast<int>(configuration.sampling_signal)});
  if (result == sampling::SamplerStart::NoSignal && rank_by_environment() <= 0)
    say("no real-time signal is free for sampling (REFRAIN_SAMPLING_SIGNAL=%d); user code has no samples",
        static_cast<int>(configuration.sampling_signal));
  if (sampling::frequency_is_capped() && rank_by_environment() <= 0)
    say("REFRAIN_SAMPLING_FREQUENCY=%ld: this kernel looks at CPU-time timers only %ld times a second, so that many "
        "samples come at most",
        static_cast<long>(configuration.sampling_frequency), 1'000'000'000L / platform::cpu_timer_resolution_ns());
}

/// From here on this process is measured, beginning with the calling thread.
bool begin_measurement() {
  if (!configure()) return false;
  home_process = platform::process_id();
  platform::start_clock();
  first_anchor = platform::read_anchor();
  counter_watch = platform::CounterWatch(platform::read_uncorrected_anchor());
  begin_epoch_ns = platform::wall_clock_ns();
  platform::add_cores_of(0, cores_at_begin);
  cpu_quota = platform::cpu_quota_in_thousandths();
  read_cores_taken();
  taken_at_begin = taken_so_far;
  platform::barrier_on_all_threads();  // registers the process: without waiting only while it has one thread
  platform::refresh_modules();
  measurement::iteration_settings.clusters = static_cast<std::uint32_t>(configuration.clusters);
  measurement::iteration_settings.algorithm = configuration.clustering == config::Clustering::Paper
                                                  ? clustering::Algorithm::Paper
                                                  : clustering::Algorithm::Refrain;
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
  if (!unwind::start_rule_cache() || pthread_key_create(&thread_end_key, on_thread_end) != 0) {
    say("no memory to start; the program runs unmeasured");
    note_said();
    return false;
  }
  choose_metrics(configuration);
  if (configuration.wait_states) measurement::start_durations();
  measurement::start_events({.selection = config::parse_trace(configuration.trace),
                             .memory = static_cast<std::size_t>(configuration.trace_memory),
                             .slowest = static_cast<unsigned>(configuration.trace_slowest),
                             .stretches = !configuration.iteration_at[0]});
  start_sampler();
  sampling::on_foreign_signal = take_foreign_signal;
  protect_alternate_stacks();
  calibration = calibrate(location_settings, sampling::sampling_signal());
  sampling::set_tick_cost(static_cast<platform::Ticks>(calibration.tick.median));
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  measurement::lifecycle.ticks_end = sampling::end_sampling;
  measurement::lifecycle.thread_begins = on_thread_begin;
  measurement::lifecycle.mark_misused = on_mark_misused;
  measurement::lifecycle.measurement_wanted = on_measurement_wanted;
  state.store(State::Measuring, std::memory_order_release);
  if (!measure_this_thread()) {
    say(configuration.unwinder == config::Unwinder::Libunwind
            ? "REFRAIN_UNWINDER=libunwind: libunwind.so.8 cannot be loaded; the program runs unmeasured"
            : "no memory to start; the program runs unmeasured");
    note_said();
    state.store(State::Finished, std::memory_order_release);
    return false;
  }
  measurement::begin_process_cpu_time();
  if (sampling::frequency_is_capped()) measurement::own_location()->count_loss(measurement::Loss::FrequencyCapped);
  is_without_mpi = !mpi_is_loaded();
  start_snapshots(configuration, 0, first_anchor, is_without_mpi ? 0 : patience_before_init_ns);
  watch_endings();
  return true;
}

// ---- end -----------------------------------------------------------------------------------------------------------

bool files_are_ours = false;  ///< no other thread writes to them any more

void end_measurement() {
  state.store(State::Finished, std::memory_order_release);
  unwatch_endings();
  files_are_ours = stop_snapshots();
  sampling::stop_sampler();
  // The location that the others follow ends first, that of the finalizing thread last: until then the others may still
  // be found inside calls.
  for (Location* l = measurement::first_location(); l; l = l->next)
    if (l != measurement::own_location() && measurement::is_followed(*l)) measurement::close_location(*l);
  for (Location* l = measurement::first_location(); l; l = l->next)
    if (l != measurement::own_location()) measurement::close_location(*l);
  if (measurement::own_location()) measurement::close_location(*measurement::own_location());
  measurement::end_process_cpu_time();
  measurement::bring_followers_up_to_date();
  measurement::lifecycle = {};
}

MpiAdapter adapter_in_use{};

constinit platform::NeverDestroyed<platform::Bytes> event_frames{};
bool event_frames_are_in_profile = false;

format::EventMode event_mode() {
  switch (measurement::event_settings.selection.mode) {
    case config::TraceMode::All: return format::EventMode::All;
    case config::TraceMode::List: return format::EventMode::List;
    case config::TraceMode::Sampled: return format::EventMode::Sampled;
    case config::TraceMode::Off: break;
  }
  return format::EventMode::Off;
}

/// Of all measured threads that are there: a program may have bound each of them to cores of its own.
platform::Cores cores_now() {
  platform::Cores cores{};
  platform::add_cores_of(home_process, cores);
  for (const Location* l = measurement::first_location(); l; l = l->next)
    if (l->in_use.load(std::memory_order_relaxed)) platform::add_cores_of(l->os_thread_id, cores);
  return cores;
}

/// What the record of this rank says besides its locations.
archive::RankRecord make_frame(const Spilled& spilled) {
  archive::RankRecord frame{};
  frame.rank = world.rank;
  frame.ranks = world.size;
  frame.process_id = platform::process_id();
  gethostname(frame.host, sizeof frame.host - 1);
  frame.first_anchor = first_anchor;
  frame.last_anchor = platform::read_anchor();
  frame.begin_epoch_ns = begin_epoch_ns;
  frame.cores_at_begin = cores_at_begin;
  frame.cores_at_end = cores_now();
  frame.cpu_quota_in_thousandths = cpu_quota;
  const auto since = [](std::int64_t begin, std::int64_t now) { return begin < 0 || now < begin ? -1 : now - begin; };
  frame.throttled_ns = since(taken_at_begin.throttled_ns, taken_so_far.throttled_ns);
  frame.taken_ns = since(taken_at_begin.taken_ns, taken_so_far.taken_ns);
  frame.region_names = measurement::mpi_region_names;
  if (adapter_in_use.communicators) {
    // Each refers to the next, and other threads may be adding to them.
    frame.window_traffic = adapter_in_use.window_traffic();
    frame.windows = adapter_in_use.windows();
    frame.communicators = adapter_in_use.communicators();
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

bool clocks_are_good = true;  ///< the exchange in MPI_Init has not failed

/// In MPI_Finalize. False: it failed.
bool exchange_about_events() {
  const std::int64_t deadline = deadline_in(configuration.finalize_timeout);
  return clocks_are_good && (!clocks_are_compared() || measure_clock_offset(world, deadline)) &&
         (!events_are_agreed_on() || agree_on_events(world, deadline));
}

/// What is left of events: to the file, or to the profile. Returns the other ranks as the writer of the profile may
/// talk to them.
measurement::Peers finish_events(Ending ending) {
  measurement::Peers peers = world;
  if (ending == Ending::Complete && !exchange_about_events())
    peers.size = 1;  // messages of that exchange may still come: there is no other one after it
  if (ending == Ending::Complete && files_are_ours && measurement::is_sample_of_events())
    event_frames_are_in_profile = take_in_events(event_frames.get());
  if (files_are_ours && !event_frames_are_in_profile) write_all_events(EventsUntil::Now, world.rank);
  return peers;
}

void write_everything(Ending ending) {
  platform::refresh_modules();
  read_cores_taken();
  const measurement::Peers peers = finish_events(ending);
  RankRecordBuilder builder;
  if (!build_record(builder, map_spilled(), RankRecordBuilder::Threads::Ended)) {
    say("no memory to write the experiment; rank %d is missing from it", world.rank);
    note_said();
    return;
  }
  const bool written = write_experiment(configuration, calibration, builder.record(), peers, ending);
  if (written && event_frames_are_in_profile) remove_event_file(world.rank);
  if (written && !event_frames_are_in_profile) tell_unwritten_sample(world.rank);
  if (written && peers.size < world.size && world.rank == 0)
    say("'%s' is incomplete: not all ranks answered before REFRAIN_FINALIZE_TIMEOUT; each rank that got here wrote"
        " its own profile",
        experiment_directory());
}

// ---- what the MPI adapter tells ------------------------------------------------------------------------------------

/// REFRAIN_ITERATION_AT, once the names of MPI's functions are known.
void begin_iterations_at_calls() {
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
  if (world.rank == 0)
    say("REFRAIN_ITERATION_AT=%s: this MPI has no function of that name; no iterations begin there",
        configuration.iteration_at);
}

/// Other ranks may be measured, also where REFRAIN_ENABLE is off on this one, and what they do together would wait for
/// this rank.
void join_unmeasured(const MpiAdapter& adapter) {
  measurement::lifecycle.mpi_finalizing = nullptr;
  if (!decline_experiment(adapter.peers, !configuration.enable)) return;
  if (has_untold_error) say("rank %d runs unmeasured: %s", adapter.peers.rank, configuration_error.line);
  measurement::lifecycle.mpi_finalizing = [](const MpiAdapter& at_end) { write_nothing(at_end.peers); };
}

void on_peers_are_late(int rank) {
  say("rank %d waits in MPI_Init: a rank does not take part; is the library there on all nodes, and every rank started "
      "with Refrain?",
      rank);
}

/// This process is not measured.
void stay_out() {
  state.store(State::Finished);
  measurement::lifecycle = {};
  measurement::lifecycle.mpi_initialized = join_unmeasured;
  measurement::lifecycle.peers_are_late = on_peers_are_late;
}

/// Nothing was measured until now: MPI was loaded late.
void on_mpi_begins() {
  State dormant = State::Dormant;
  if (!state.compare_exchange_strong(dormant, State::Finished)) return;  // another thread is here
  const platform::OwnFloatingPoint own_environment;
  clean_environment();
  if (!begin_measurement()) stay_out();
}

void on_mpi_initialized(const MpiAdapter& adapter) {
  const platform::OwnFloatingPoint own_environment;
  if (state.load() != State::Measuring) return;
  const LongerWork work;
  {
    const SnapshotsHeld held;
    mpi_was_initialized = true;
    is_without_mpi = false;
    adapter_in_use = adapter;
    world = adapter.peers;
    experiment_is_open = open_experiment(configuration, world, adapter.library_version);
  }
  if (!experiment_is_open) return end_measurement();
  if (clocks_are_compared()) clocks_are_good = measure_clock_offset(world, deadline_in(configuration.finalize_timeout));
  start_snapshots(configuration, world.rank, first_anchor);
  begin_iterations_at_calls();
  if (Location* location = measurement::own_location()) {
    work.charge(*location, first_anchor);
    measurement::leave_out_own_work(*location);
  }
}

/// The marks of an iteration that contains MPI_Finalize match, but nobody will see the last of them.
void end_iteration_in_progress() {
  Location* location = measurement::own_location();
  // Within an MPI call (an error handler may end MPI) the call is still open and its location is closed as it is.
  if (!location || location->inside.load(std::memory_order_relaxed) != measurement::Inside::User) return;
  if (!measurement::enter(*location, {location->call.pc, location->call.sp, 0})) return;
  measurement::end_with_finalize(*location);
  measurement::leave(*location, measurement::Inside::User);
}

/// A call path of this process ends in the MPI function. After the end of the measurement.
bool has_called(std::string_view function) {
  const auto names = measurement::mpi_region_names;
  for (const Location* l = measurement::first_location(); l; l = l->next)
    for (std::uint32_t id = 0; id < l->tree.size(); ++id) {
      const measurement::Node& node = l->tree.node(measurement::NodeId{id});
      if (node.kind == measurement::NodeKind::Region && node.key < names.size() && names[node.key] &&
          function == names[node.key])
        return true;
    }
  return false;
}

/// MPI starts them without `refrain exec`.
void tell_spawned_processes() {
  for (const char* function : {"MPI_Comm_spawn", "MPI_Comm_spawn_multiple"})
    if (has_called(function)) return say("processes that the program started by %s were not measured", function);
}

void on_mpi_finalizing(const MpiAdapter& adapter) {
  if (state.load() != State::Measuring || !experiment_is_open) return;
  const platform::OwnFloatingPoint own_environment;
  world = adapter.peers;
  end_iteration_in_progress();
  if (const char* why = measurement::why_nothing_was_triggered(); why && world.rank == 0 && begins_iterations_at_calls)
    say("REFRAIN_ITERATION_AT=%s: no iteration began there: %s", configuration.iteration_at, why);
  end_measurement();
  if (world.rank == 0) tell_spawned_processes();
  adapter_in_use = adapter;
  write_everything(Ending::Complete);
}

void on_mpi_aborting() {
  if (state.load() == State::Measuring && experiment_is_open) write_before_exit();
}

}  // namespace

void read_cores_taken() { taken_so_far = {platform::throttled_ns(), platform::taken_ns(cores_at_begin)}; }

bool build_record(RankRecordBuilder& builder, const Spilled& spilled, RankRecordBuilder::Threads threads) {
  const bool going = threads == RankRecordBuilder::Threads::Going;
  if (going && !measurement::pause_others()) return false;
  archive::RankRecord frame = make_frame(spilled);
  if (going) {
    frame.stretches = builder.copy_of(frame.stretches);
    measurement::resume_others();
  }
  if (Location* l = measurement::own_location(); l && !counter_watch.agrees(platform::read_uncorrected_anchor()))
    l->count_loss(measurement::Loss::CounterJumped);
  return builder.build(frame, calibration, configuration.sampling_clock == config::SamplingClock::Wall, threads);
}

bool write_record(const RankRecordBuilder& builder, Ending ending) {
  if (ending == Ending::Left && !mpi_was_initialized) ending = Ending::Complete;
  return write_experiment(configuration, calibration, builder.record(), world, ending);
}

bool is_one_of_several() { return world.size > 1; }

bool is_home_process() { return platform::process_id() == home_process; }

bool can_be_continued() { return is_measuring() && !mpi_was_initialized && is_home_process(); }

namespace {
bool init_is_overdue() { return platform::monotonic_ns() - first_anchor.monotonic_ns > patience_before_init_ns; }
}  // namespace

bool have_experiment(Ending reason) {
  if (!is_home_process()) return false;
  const bool may_be_made = is_without_mpi || (!mpi_was_initialized && (reason == Ending::Left || init_is_overdue()));
  if (!experiment_is_open && may_be_made && !experiment_is_refused) {
    experiment_is_open = open_experiment(configuration, world, "");
    experiment_is_refused = !experiment_is_open;  // which has been said
  }
  return experiment_is_open;
}

bool is_measuring() { return state.load(std::memory_order_acquire) == State::Measuring; }

void on_signal_taken() {
  give_back_handler_masks();
  sampling::give_up_signal();
}

void on_module_unloaded() {
  unwind::refresh_tables();
  unwind::forget_rules();
}

void start_process(char** arguments) {
  const platform::OwnFloatingPoint own_environment;
  loaded_process = platform::process_id();
  remember_stderr();
  remember_initial_environment(arguments);
  remember_run();
  find_exec_functions();
  measurement::say = [](const char* line) { say("%s", line); };
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

void end_process() {
  const bool may_be_unseen = platform::process_id() == loaded_process && !mpi_was_initialized;
  const bool is_told = may_be_unseen && state.load() != State::Finished && tell_unseen_mpi();
  if (may_be_unseen && !is_told && state.load() == State::Dormant && mpi_is_in_a_namespace()) note_mpi_unseen();
  if (state.load() != State::Measuring || !is_home_process()) return;
  const platform::OwnFloatingPoint own_environment;
  // A destructor that runs later may still call MPI_Finalize.
  if (mpi_was_initialized) return write_before_exit();
  end_measurement();
  const auto write = [](void*) {
    if (have_experiment(Ending::Left)) write_everything(Ending::Complete);
  };
  if (do_at_end(write, configuration.finalize_timeout)) return;
  say("writing to '%s' takes longer than REFRAIN_FINALIZE_TIMEOUT; the program ends without", experiment_directory());
  note_said();
}

}  // namespace refrain::runtime
