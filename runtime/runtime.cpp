#include "runtime/runtime.hpp"

#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/iteration_at.hpp"
#include "config/trace_selection.hpp"
#include "guest/callbacks.hpp"
#include "guest/endings.hpp"
#include "guest/exec.hpp"
#include "guest/launch.hpp"
#include "guest/message.hpp"
#include "guest/signal_sets.hpp"
#include "guest/signals.hpp"
#include "guest/unseen_mpi.hpp"
#include "measurement/call_durations.hpp"
#include "measurement/entrance.hpp"
#include "measurement/followers.hpp"
#include "measurement/iteration_trigger.hpp"
#include "measurement/iterations.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/locations.hpp"
#include "measurement/longer_work.hpp"
#include "measurement/marks.hpp"
#include "measurement/stopping.hpp"
#include "measurement/unseen_threads.hpp"
#include "platform/clock.hpp"
#include "platform/floating_point.hpp"
#include "platform/modules.hpp"
#include "platform/signal_mask.hpp"
#include "platform/threads.hpp"
#include "record/directory.hpp"
#include "record/experiment.hpp"
#include "record/function_table.hpp"
#include "record/run.hpp"
#include "record/snapshot.hpp"
#include "record/writing.hpp"
#include "runtime/calibration.hpp"
#include "runtime/metrics.hpp"
#include "sampling/sampler.hpp"
#include "sampling/tick.hpp"
#include "unwind/walker.hpp"

namespace refrain::runtime {
namespace {

using guest::Ending;
using guest::LaunchMode;
using guest::say;
using measurement::Location;
using measurement::MpiAdapter;
using record::run;

enum class State { Dormant, Measuring, Finished };
std::atomic<State> state{State::Dormant};

measurement::LocationSettings location_settings;
int loaded_process = 0;  ///< process id of the process that this library was loaded into
pthread_key_t thread_end_key;
bool begins_iterations_at_calls = false;  ///< REFRAIN_ITERATION_AT

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
  guest::unblock_inherited_signal();
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
  guest::change_mask_of_program(SIG_BLOCK, nullptr, &mask_before_fork);
  guest::block_sampling_signal();
  guest::count_fork();
}
void after_fork_in_parent() { guest::change_mask_of_program(SIG_SETMASK, &mask_before_fork, nullptr); }

/// The child has no timers and is not measured: it runs as if Refrain were not there.
void after_fork_in_child() {
  state.store(State::Finished, std::memory_order_release);
  sampling::stop_sampler();
  sampling::forget_parents_samplers();
  if (measurement::own_location()) pthread_setspecific(thread_end_key, nullptr);
  measurement::set_own_location(nullptr);
  measurement::forget_locations();
  measurement::lifecycle = {};
  guest::unwatch_endings();
  guest::give_back_handler_masks();
  guest::forget_inherited_signal();
  if (const int signal = sampling::sampling_signal()) {
    struct sigaction by_default {};
    guest::kernel_sigaction(signal, &by_default, nullptr);
  }
  platform::change_signal_mask(SIG_SETMASK, &mask_before_fork, nullptr);
  guest::note_forked();
}

// ---- start ---------------------------------------------------------------------------------------------------------

void on_measurement_wanted(bool wanted) {
  if (state.load() != State::Measuring) return;
  const platform::OwnFloatingPoint own_environment;
  const bool done =
      wanted ? measurement::resume_measurement(sampling::resume_sampling) : measurement::stop_measurement();
  if (!done) say("MPI_Pcontrol(%d) was not obeyed: a thread of rank %d could not be held", wanted, run.world.rank);
}

/// One line for the whole job, with the place as addr2line and the report take it; the count is in the report.
void on_mark_misused(const char* what, std::uintptr_t site) {
  static std::atomic<bool> said{false};
  if (said.exchange(true) || guest::rank_by_environment() > 0) return;
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
  if (!config::read_configuration(run.configuration, configuration_error)) {
    if (guest::rank_by_environment() <= 0) say("%s", configuration_error.line), guest::note_said();
    else has_untold_error = true;  // once per job; if the others have the same, rank 0 says it
    return false;
  }
  return run.configuration.enable;
}

void start_sampler() {
  const auto clock = run.configuration.sampling_clock == config::SamplingClock::Wall ? platform::TimerClock::Wall
                                                                                     : platform::TimerClock::ThreadCpu;
  const auto result = sampling::start_sampler({run.configuration.sampling_frequency, clock,
                                               run.configuration.sampling_source == config::SamplingSource::TaskClock,
                                               static_cast<int>(run.configuration.sampling_signal)});
  if (result == sampling::SamplerStart::NoSignal && guest::rank_by_environment() <= 0)
    say("no real-time signal is free for sampling (REFRAIN_SAMPLING_SIGNAL=%d); user code has no samples",
        static_cast<int>(run.configuration.sampling_signal));
  if (sampling::frequency_is_capped() && guest::rank_by_environment() <= 0)
    say("REFRAIN_SAMPLING_FREQUENCY=%ld: this kernel looks at CPU-time timers only %ld times a second, so that many "
        "samples come at most",
        static_cast<long>(run.configuration.sampling_frequency), 1'000'000'000L / platform::cpu_timer_resolution_ns());
}

/// From here on this process is measured, beginning with the calling thread.
bool begin_measurement() {
  if (!configure()) return false;
  record::begin_run();
  platform::barrier_on_all_threads();  // registers the process: without waiting only while it has one thread
  platform::refresh_modules();
  measurement::iteration_settings.clusters = static_cast<std::uint32_t>(run.configuration.clusters);
  if (run.configuration.clustering == config::Clustering::Paper && guest::rank_by_environment() <= 0)
    say("REFRAIN_CLUSTERING=paper: this method is in the benchmark only; iterations are clustered as by default");
  constexpr clustering::Equivalence equivalences[] = {clustering::Equivalence::Mpi, clustering::Equivalence::MpiVisits,
                                                      clustering::Equivalence::All, clustering::Equivalence::None};
  measurement::iteration_settings.equivalence =
      equivalences[static_cast<std::size_t>(run.configuration.cluster_equivalence)];
  measurement::iteration_settings.memory = static_cast<std::size_t>(run.configuration.memory);
  measurement::iteration_settings.whole_records =
      measurement::whole_records_in(static_cast<std::uint64_t>(run.configuration.iteration_log));
  measurement::iteration_settings.sample_memory = static_cast<std::size_t>(run.configuration.iteration_samples);
  location_settings = {static_cast<std::size_t>(run.configuration.memory),
                       static_cast<std::uint32_t>(run.configuration.callpath_depth),
                       run.configuration.unwinder == config::Unwinder::Libunwind ? unwind::Backend::Libunwind
                                                                                 : unwind::Backend::Incremental};
  if (!unwind::start_rule_cache() || pthread_key_create(&thread_end_key, on_thread_end) != 0) {
    say("no memory to start; the program runs unmeasured");
    guest::note_said();
    return false;
  }
  choose_metrics(run.configuration);
  if (run.configuration.wait_states) measurement::start_durations();
  measurement::start_events({.selection = config::parse_trace(run.configuration.trace),
                             .memory = static_cast<std::size_t>(run.configuration.trace_memory),
                             .slowest = static_cast<unsigned>(run.configuration.trace_slowest),
                             .stretches = !run.configuration.iteration_at[0]});
  start_sampler();
  sampling::on_foreign_signal = guest::take_foreign_signal;
  guest::protect_alternate_stacks();
  run.calibration = calibrate(location_settings, sampling::sampling_signal());
  sampling::set_tick_cost(static_cast<platform::Ticks>(run.calibration.tick.median));
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  measurement::lifecycle.ticks_end = sampling::end_sampling;
  measurement::lifecycle.mark_misused = on_mark_misused;
  measurement::lifecycle.measurement_wanted = on_measurement_wanted;
  state.store(State::Measuring, std::memory_order_release);
  if (!measure_this_thread()) {
    say(run.configuration.unwinder == config::Unwinder::Libunwind
            ? "REFRAIN_UNWINDER=libunwind: libunwind.so.8 cannot be loaded; the program runs unmeasured"
            : "no memory to start; the program runs unmeasured");
    guest::note_said();
    state.store(State::Finished, std::memory_order_release);
    return false;
  }
  measurement::begin_process_cpu_time();
  if (sampling::frequency_is_capped()) measurement::own_location()->count_loss(measurement::Loss::FrequencyCapped);
  run.is_without_mpi = !guest::mpi_is_loaded();
  record::start_snapshots(run.is_without_mpi ? 0 : record::patience_before_init_ns);
  guest::watch_endings();
  return true;
}

// ---- end -----------------------------------------------------------------------------------------------------------

bool files_are_ours = false;  ///< no other thread writes to them any more

void end_measurement() {
  state.store(State::Finished, std::memory_order_release);
  guest::unwatch_endings();
  files_are_ours = record::stop_snapshots();
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
  for (Location* l = measurement::first_location(); l; l = l->next) measurement::finish_logs(*l);
  measurement::lifecycle = {};
}

// ---- what the MPI adapter tells ------------------------------------------------------------------------------------

/// REFRAIN_ITERATION_AT, once the names of MPI's functions are known.
void begin_iterations_at_calls() {
  const auto at = config::parse_iteration_at(run.configuration.iteration_at);
  if (!at.good) return;
  const auto names = measurement::mpi_region_names;
  measurement::set_inlined_code(guest::inlined_code());
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] && at.mpi_function == names[i]) {
      begins_iterations_at_calls = true;
      return measurement::set_trigger(measurement::RegionId{static_cast<std::uint16_t>(i)}, at.function, at.every,
                                      run.configuration.iteration_at);
    }
  if (run.world.rank == 0)
    say("REFRAIN_ITERATION_AT=%s: this MPI has no function of that name; no iterations begin there",
        run.configuration.iteration_at);
}

/// Other ranks may be measured, also where REFRAIN_ENABLE is off on this one, and what they do together would wait for
/// this rank.
void join_unmeasured(const MpiAdapter& adapter) {
  measurement::lifecycle.mpi_finalizing = nullptr;
  if (!record::decline_experiment(adapter.peers, !run.configuration.enable)) return;
  if (has_untold_error) say("rank %d runs unmeasured: %s", adapter.peers.rank, configuration_error.line);
  measurement::lifecycle.mpi_finalizing = [](const MpiAdapter& at_end) { record::write_nothing(at_end.peers); };
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
  record::take_function_table();
  guest::clean_environment();
  if (!begin_measurement()) stay_out();
}

void on_mpi_initialized(const MpiAdapter& adapter) {
  const platform::OwnFloatingPoint own_environment;
  if (state.load() != State::Measuring) return;
  const measurement::LongerWork work;
  bool is_open = false;
  {
    const record::SnapshotsHeld held;
    run.mpi_was_initialized = true;
    run.is_without_mpi = false;
    run.adapter = adapter;
    run.world = adapter.peers;
    is_open = record::open_for_all_ranks();
  }
  if (!is_open) return end_measurement();
  record::compare_clocks();
  record::start_snapshots();
  begin_iterations_at_calls();
  if (Location* location = measurement::own_location()) {
    work.charge(*location, run.first_anchor);
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
  if (state.load() != State::Measuring || !record::experiment_is_open()) return;
  const platform::OwnFloatingPoint own_environment;
  run.world = adapter.peers;
  end_iteration_in_progress();
  if (const char* why = measurement::why_nothing_was_triggered();
      why && run.world.rank == 0 && begins_iterations_at_calls)
    say("REFRAIN_ITERATION_AT=%s: no iteration began there: %s", run.configuration.iteration_at, why);
  end_measurement();
  if (run.world.rank == 0) tell_spawned_processes();
  run.adapter = adapter;
  record::write_everything(Ending::Complete, files_are_ours);
}

void on_mpi_aborting() {
  if (state.load() == State::Measuring && record::experiment_is_open()) guest::write_before_exit();
}

// ---- what the functions of the guest ask and tell ------------------------------------------------------------------

bool is_measuring() { return state.load(std::memory_order_acquire) == State::Measuring; }
bool is_home_process() { return platform::process_id() == run.process; }
bool can_be_continued() { return is_measuring() && !run.mpi_was_initialized && is_home_process(); }
bool is_one_of_several() { return run.world.size > 1; }

void on_signal_taken() {
  guest::give_back_handler_masks();
  sampling::give_up_signal();
}

void on_module_unloaded() {
  unwind::refresh_tables();
  unwind::forget_rules();
}

}  // namespace

void start_process(char** arguments) {
  const platform::OwnFloatingPoint own_environment;
  loaded_process = platform::process_id();
  guest::remember_stderr();
  guest::remember_initial_environment(arguments);
  guest::remember_run();
  guest::find_exec_functions();
  measurement::say = [](const char* line) { say("%s", line); };
  measurement::lifecycle.mpi_begins = on_mpi_begins;
  measurement::lifecycle.mpi_initialized = on_mpi_initialized;
  measurement::lifecycle.peers_are_late = on_peers_are_late;
  measurement::lifecycle.mpi_finalizing = on_mpi_finalizing;
  measurement::lifecycle.mpi_aborting = on_mpi_aborting;
  const LaunchMode mode = guest::launch_mode();
  if (mode == LaunchMode::Script) guest::become_measured(arguments);
  if (mode != LaunchMode::Program && mode != LaunchMode::Linked && !guest::mpi_is_loaded()) return;
  record::take_function_table();
  guest::clean_environment();
  if (!begin_measurement()) stay_out();
}

void end_process() {
  const bool may_be_unseen = platform::process_id() == loaded_process && !run.mpi_was_initialized;
  const bool is_told = may_be_unseen && state.load() != State::Finished && guest::tell_unseen_mpi();
  if (may_be_unseen && !is_told && state.load() == State::Dormant && guest::mpi_is_in_a_namespace())
    guest::note_mpi_unseen();
  if (state.load() != State::Measuring || !is_home_process()) return;
  const platform::OwnFloatingPoint own_environment;
  // A destructor that runs later may still call MPI_Finalize.
  if (run.mpi_was_initialized) return guest::write_before_exit();
  end_measurement();
  const auto write = [](void*) {
    if (record::have_experiment(Ending::Left)) record::write_everything(Ending::Complete, files_are_ours);
  };
  if (guest::do_at_end(write, run.configuration.finalize_timeout)) return;
  say("writing to '%s' takes longer than REFRAIN_FINALIZE_TIMEOUT; the program ends without",
      record::experiment_directory());
  guest::note_said();
}

}  // namespace refrain::runtime

namespace refrain::guest {

constinit const Callbacks callbacks{.is_measuring = runtime::is_measuring,
                                    .is_home_process = runtime::is_home_process,
                                    .can_be_continued = runtime::can_be_continued,
                                    .is_one_of_several = runtime::is_one_of_several,
                                    .thread_begins = runtime::on_thread_begin,
                                    .signal_taken = runtime::on_signal_taken,
                                    .module_unloaded = runtime::on_module_unloaded,
                                    .end_announced = record::ask_for_snapshot,
                                    .write_as_it_is = record::write_as_it_is,
                                    .process_ends = runtime::end_process};

}  // namespace refrain::guest
