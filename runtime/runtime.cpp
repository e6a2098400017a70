#include "runtime/runtime.hpp"

#include <atomic>
#include <cstring>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/configuration.hpp"
#include "config/iteration_at.hpp"
#include "measurement/followers.hpp"
#include "measurement/iteration_trigger.hpp"
#include "measurement/iterations.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/locations.hpp"
#include "platform/clock.hpp"
#include "platform/modules.hpp"
#include "platform/threads.hpp"
#include "runtime/calibration.hpp"
#include "runtime/experiment.hpp"
#include "runtime/launch.hpp"
#include "runtime/message.hpp"
#include "runtime/metrics.hpp"
#include "runtime/rank_record.hpp"
#include "runtime/snapshot.hpp"
#include "sampling/sampler.hpp"
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
std::int64_t begin_epoch_ns;
int home_process = 0;  ///< process id of the measured process: a child of vfork shares our memory, not our duty
pthread_key_t thread_end_key;
bool mpi_was_initialized = false;
bool experiment_is_open = false, experiment_is_refused = false;
bool is_without_mpi = false;  ///< no MPI was loaded when the measurement began, and none has come since
measurement::Peers world;     ///< known from MPI_Init on

// ---- threads -------------------------------------------------------------------------------------------------------

void on_thread_end(void* location) { measurement::end_location(*static_cast<Location*>(location)); }

/// The calling thread becomes a location and is sampled. False: no memory.
bool measure_this_thread() {
  Location* location = measurement::begin_location(location_settings);
  if (!location) return false;
  if (!measurement::enter_location(*location)) return false;
  sampling::start_sampling(*location);
  return true;
}

void on_thread_begin() {
  if (state.load(std::memory_order_acquire) != State::Measuring) return;
  if (!measure_this_thread()) {
    if (Location* first = measurement::first_location()) first->count_loss(measurement::Loss::ThreadUnmeasured);
    return;
  }
  pthread_setspecific(thread_end_key, measurement::current_location);
}

// ---- fork ----------------------------------------------------------------------------------------------------------

thread_local sigset_t mask_before_fork __attribute__((tls_model("initial-exec")));

/// A tick during fork makes the kernel start it over: with a large process and a short period it never ends.
void before_fork() {
  sigset_t tick;
  sigemptyset(&tick);
  if (const int signal = sampling::sampling_signal()) sigaddset(&tick, signal);
  pthread_sigmask(SIG_BLOCK, &tick, &mask_before_fork);
}
void after_fork_in_parent() { pthread_sigmask(SIG_SETMASK, &mask_before_fork, nullptr); }

/// The child has no timers and is not measured: it runs as if Refrain were not there.
void after_fork_in_child() {
  state.store(State::Finished, std::memory_order_release);
  sampling::stop_sampler();
  measurement::current_location = nullptr;
  measurement::forget_locations();
  measurement::lifecycle = {};
  pthread_sigmask(SIG_SETMASK, &mask_before_fork, nullptr);
}

// ---- start ---------------------------------------------------------------------------------------------------------

/// One line for the whole job; the count is in the report.
void on_mark_misused(const char* what) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true) && rank_by_environment() <= 0)
    say("marks of the program do not match: %s; more of it is only counted", what);
}

bool configure() {
  config::ConfigurationError error;
  if (!config::read_configuration(configuration, error)) {
    if (rank_by_environment() <= 0) say("%s", error.line);
    return false;
  }
  return configuration.enable;
}

void start_sampler() {
  const auto clock = configuration.sampling_clock == config::SamplingClock::Wall ? platform::TimerClock::Wall
                                                                                 : platform::TimerClock::ThreadCpu;
  const auto result = sampling::start_sampler(
      {configuration.sampling_frequency, clock, static_cast<int>(configuration.sampling_signal)});
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
  begin_epoch_ns = platform::wall_clock_ns();
  platform::barrier_on_all_threads();  // registers; a process may do that only while it is young without waiting
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
  location_settings = {static_cast<std::size_t>(configuration.memory),
                       static_cast<std::uint32_t>(configuration.callpath_depth),
                       configuration.unwinder == config::Unwinder::Libunwind ? unwind::Backend::Libunwind
                                                                             : unwind::Backend::Incremental};
  if (!unwind::start_rule_cache() || pthread_key_create(&thread_end_key, on_thread_end) != 0) {
    say("no memory to start; the program runs unmeasured");
    return false;
  }
  choose_metrics(configuration);
  start_sampler();
  calibration = calibrate(location_settings, sampling::sampling_signal());
  sampling::set_tick_cost(static_cast<platform::Ticks>(calibration.tick.median));
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  measurement::lifecycle.thread_begins = on_thread_begin;
  measurement::lifecycle.mark_misused = on_mark_misused;
  state.store(State::Measuring, std::memory_order_release);
  if (!measure_this_thread()) {
    say(configuration.unwinder == config::Unwinder::Libunwind
            ? "REFRAIN_UNWINDER=libunwind: libunwind.so.8 cannot be loaded; the program runs unmeasured"
            : "no memory to start; the program runs unmeasured");
    state.store(State::Finished, std::memory_order_release);
    return false;
  }
  if (sampling::frequency_is_capped()) measurement::current_location->count_loss(measurement::Loss::FrequencyCapped);
  is_without_mpi = !mpi_is_loaded();
  if (is_without_mpi) start_snapshots(configuration, 0, first_anchor);
  return true;
}

// ---- end -----------------------------------------------------------------------------------------------------------

void end_measurement() {
  state.store(State::Finished, std::memory_order_release);
  stop_snapshots();
  sampling::stop_sampler();
  // What the others follow ends first; the finalizing thread last: until then the others may still be found inside
  // calls.
  for (Location* l = measurement::first_location(); l; l = l->next)
    if (l != measurement::current_location && measurement::is_followed(*l)) measurement::close_location(*l);
  for (Location* l = measurement::first_location(); l; l = l->next)
    if (l != measurement::current_location) measurement::close_location(*l);
  if (measurement::current_location) measurement::close_location(*measurement::current_location);
  measurement::bring_followers_up_to_date();
  measurement::lifecycle = {};
}

MpiAdapter adapter_in_use{};

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
  frame.call_cost = calibration.call;
  frame.tick_cost = calibration.tick;
  frame.modules = platform::all_modules();
  frame.region_names = adapter_in_use.region_names;
  if (adapter_in_use.communicators) frame.communicators = adapter_in_use.communicators();
  frame.spilled_bytes = spilled.bytes;
  frame.early_iterations = spilled.frames;
  return frame;
}

void write_everything(Ending ending) {
  platform::refresh_modules();
  RankRecordBuilder builder;
  if (!build_record(builder, map_spilled(), RankRecordBuilder::Threads::Ended)) {
    say("no memory to write the experiment; rank %d is missing from it", world.rank);
    return;
  }
  write_experiment(configuration, calibration, builder.record(), world, ending);
}

// ---- what the MPI adapter tells ------------------------------------------------------------------------------------

/// REFRAIN_ITERATION_AT, once the names of MPI's functions are known.
void begin_iterations_at_calls() {
  const auto at = config::parse_iteration_at(configuration.iteration_at);
  if (!at.good) return;
  const auto names = adapter_in_use.region_names;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] && at.mpi_function == names[i])
      return measurement::set_trigger(measurement::RegionId{static_cast<std::uint16_t>(i)}, at.function, at.every,
                                      configuration.iteration_at);
  if (world.rank == 0)
    say("REFRAIN_ITERATION_AT=%s: this MPI has no function of that name; no iterations begin there",
        configuration.iteration_at);
}

void on_mpi_initialized(const MpiAdapter& adapter) {
  if (state.load() == State::Dormant) {  // passed through until now: MPI was loaded late
    clean_environment();
    if (!begin_measurement()) {
      state.store(State::Finished);
      return;
    }
  }
  if (state.load() != State::Measuring) return;
  const platform::Ticks begin = platform::now();
  mpi_was_initialized = true;
  is_without_mpi = false;
  adapter_in_use = adapter;
  world = adapter.peers;
  experiment_is_open = open_experiment(configuration, world, adapter.library_version);
  if (!experiment_is_open) return end_measurement();
  start_snapshots(configuration, world.rank, first_anchor);
  begin_iterations_at_calls();
  if (Location* location = measurement::current_location) {
    location->unit.own += platform::now() - begin;
    measurement::leave_out_own_work(*location);
  }
}

void on_mpi_finalizing(const MpiAdapter& adapter) {
  if (state.load() != State::Measuring || !experiment_is_open) return;
  world = adapter.peers;
  if (world.rank == 0 && !measurement::trigger_function_was_found())
    say("REFRAIN_ITERATION_AT=%s: no loaded module has a function of that name; no iteration began there",
        configuration.iteration_at);
  end_measurement();
  adapter_in_use = adapter;
  write_everything(Ending::Complete);
}

void on_mpi_aborting() {
  if (state.load() != State::Measuring || !experiment_is_open) return;
  end_measurement();
  write_everything(Ending::Incomplete);
}

}  // namespace

bool build_record(RankRecordBuilder& builder, const Spilled& spilled, RankRecordBuilder::Threads threads) {
  return builder.build(make_frame(spilled), configuration.sampling_clock == config::SamplingClock::Wall, threads);
}

bool have_experiment() {
  if (!experiment_is_open && is_without_mpi && !experiment_is_refused) {
    experiment_is_open = open_experiment(configuration, world, "");
    experiment_is_refused = !experiment_is_open;  // which has been said
  }
  return experiment_is_open;
}

bool is_measuring() { return state.load(std::memory_order_acquire) == State::Measuring; }

void on_signal_taken() { sampling::give_up_signal(); }

void on_module_unloaded() {
  unwind::refresh_tables();
  unwind::forget_rules();
}

void start_process() {
  measurement::lifecycle.mpi_initialized = on_mpi_initialized;
  measurement::lifecycle.mpi_finalizing = on_mpi_finalizing;
  measurement::lifecycle.mpi_aborting = on_mpi_aborting;
  if (launch_mode() == LaunchMode::Through && !mpi_is_loaded()) return;
  clean_environment();
  if (!begin_measurement()) {
    measurement::lifecycle = {};
    state.store(State::Finished);
  }
}

void end_process() {
  if (state.load() != State::Measuring || platform::process_id() != home_process) return;
  end_measurement();
  if (!experiment_is_open && (experiment_is_refused || !open_experiment(configuration, world, ""))) return;
  write_everything(mpi_was_initialized ? Ending::Incomplete : Ending::Complete);
}

}  // namespace refrain::runtime
