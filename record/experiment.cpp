#include "record/experiment.hpp"

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "config/line.hpp"
#include "measurement/event_log.hpp"
#include "platform/clock.hpp"
#include "platform/floating_point.hpp"
#include "platform/message.hpp"
#include "record/clock_offsets.hpp"
#include "record/event_agreement.hpp"
#include "record/experiment_directory.hpp"
#include "record/function_table.hpp"
#include "record/manifest.hpp"
#include "record/output_file.hpp"
#include "record/run_notes.hpp"
#include "record/tree_exchange.hpp"
#include "record/writer.hpp"

namespace refrain::record {
namespace {

using platform::say;

ExperimentDirectory directory;
ExperimentDirectory early_directory;  ///< the experiment of this process alone, until MPI_Init
int own_rank = rank_before_mpi;
constinit platform::NeverDestroyed<platform::GrowableArray<char>> mpi_library_text;
const char* no_task_clock = "";  ///< why the task clock makes no samples; empty: it does

/// Replaces REFRAIN_FINALIZE_TIMEOUT on an unmeasured rank, whose configuration may be unreadable.
constexpr std::int64_t unmeasured_timeout_s = 60;

/// The program's command line as the kernel keeps it.
class CommandLine {
 public:
  CommandLine() {
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    char buffer[4096];
    for (ssize_t n; fd >= 0 && (n = read(fd, buffer, sizeof buffer)) > 0;)
      if (!text_.append(buffer, static_cast<std::size_t>(n))) break;
    if (fd >= 0) close(fd);
    if (!text_.push_back(0)) return;
    for (std::size_t at = 0; at + 1 < text_.size(); at += std::strlen(&text_[at]) + 1)
      if (!arguments_.push_back(&text_[at])) break;
  }
  std::span<const char* const> arguments() const { return arguments_.view(); }

 private:
  platform::GrowableArray<char> text_;
  platform::GrowableArray<const char*> arguments_;
};

/// Whether this is a single process, or one that started without MPI, which is rank 0 of 1 until its MPI_Init.
bool is_alone(const measurement::Peers& peers, const char* mpi_library) { return peers.size == 1 && !mpi_library[0]; }

/// Makes the directory. Ranks that have not initialized MPI have one each; rank 0 gets the name that was asked for.
bool make_directory(const config::Configuration& configuration, const measurement::Peers& peers,
                    const char* mpi_library, std::int64_t now) {
  const Executable executable;
  const int rank = is_alone(peers, mpi_library) ? rank_by_environment() : 0;
  const bool made = make_experiment_directory(configuration.experiment_directory, executable.path, peers.size, now,
                                              directory, rank > 0 ? rank : 0);
  const bool expected = made && is_alone(peers, mpi_library) && rank_by_environment() >= 0;
  if (directory.line[0] && !expected) say(made ? "%s" : "%s; the program runs unmeasured", directory.line);
  if (made) hold_directory(directory.path), note_experiment(directory.path);
  else note_said(), directory.path[0] = 0;
  return made;
}

constexpr std::size_t max_options = 64;
constexpr std::size_t value_size = 1100;

/// `may_complain`: report a failure on stderr.
void put_manifest(const config::Configuration& configuration, ManifestRecord record, bool may_complain) {
  const CommandLine command;
  const Executable executable;
  char working_directory[PATH_MAX];
  if (!getcwd(working_directory, sizeof working_directory)) working_directory[0] = 0;
  char host[64] = {};
  gethostname(host, sizeof host - 1);

  platform::GrowableArray<char> texts;
  NameValue values[max_options];
  std::size_t count = 0;
  if (texts.resize(max_options * value_size)) {
    for (; count < config::option_count && count < max_options; ++count) {
      char* text = &texts[count * value_size];
      config::format_option(configuration, count, text, value_size);
      const char* variable = config::option_table[count].variable;
      // The source in force: if the task clock is not allowed, it is the timer, and the reason is given.
      if (std::strcmp(variable, "REFRAIN_SAMPLING_SOURCE") == 0 && *no_task_clock)
        config::Line(text, value_size) << "timer: " << no_task_clock;
      values[count] = {variable, text};
    }
  }
  record.command = command.arguments();
  record.executable = executable.path;
  record.working_directory = working_directory;
  record.configuration = {values, count};
  record.host = host;
  record.mpi_library = mpi_library_text.get().data();
  char line[1024];
  if (write_manifest(directory.path, record, line, sizeof line) || !may_complain) return;
  say("%s", line);
  note_said();
}

/// MPICH reports its whole configuration, line by line. The first line names it, with a tab before the version.
bool append_first_line(const char* lines, platform::GrowableArray<char>& out) {
  const std::size_t before = out.size();
  if (!out.append(lines, std::strcspn(lines, "\n\r"))) return false;
  for (std::size_t i = before; i < out.size(); ++i)
    if (out[i] == '\t') out[i] = ' ';
  return true;
}

/// What the ranks exchange besides the profile.
struct Exchanges {
  bool clocks, events;
  bool is_off;  ///< REFRAIN_ENABLE=off on rank 0: there is no experiment
};
Exchanges exchanges{};

/// Rank 0 tells the others at the start where the experiment is, and what they will exchange.
bool append_start(platform::Bytes& message) {
  return message.append(reinterpret_cast<const std::byte*>(directory.path), std::strlen(directory.path) + 1) &&
         message.append(reinterpret_cast<const std::byte*>(&exchanges), sizeof exchanges);
}
bool read_start(const platform::Bytes& message) {
  constexpr std::size_t rest = sizeof exchanges;
  if (message.size() <= rest || message.size() > sizeof directory.path + rest) return false;
  const std::size_t length = message.size() - rest;
  std::memcpy(directory.path, message.data(), length);
  std::memcpy(&exchanges, message.data() + length, rest);
  return true;
}

}  // namespace

std::int64_t deadline_in(std::int64_t seconds) { return platform::monotonic_ns() + seconds * 1'000'000'000; }

const char* experiment_directory() { return directory.path; }

int rank_in_experiment() { return own_rank; }

const char* experiment_before_mpi() {
  const bool is_another = early_directory.path[0] && std::strcmp(early_directory.path, directory.path) != 0;
  return is_another ? early_directory.path : nullptr;
}

bool open_experiment(const config::Configuration& configuration, const measurement::Peers& peers,
                     const char* mpi_library, const char* why_not_the_task_clock) {
  no_task_clock = why_not_the_task_clock;
  own_rank = peers.rank;
  platform::Bytes message;
  early_directory = directory;
  if (peers.rank == 0) {
    const std::int64_t now = platform::wall_clock_ns();
    // An experiment from before MPI_Init becomes that of all ranks, unless its name says how many ranks there are.
    const bool kept = early_directory.path[0] && (peers.size == 1 || configuration.experiment_directory[0]);
    const bool made = kept || make_directory(configuration, peers, mpi_library, now);
    auto& text = mpi_library_text.get();
    text.clear();
    if (made && append_first_line(mpi_library, text) && text.push_back(0)) {
      ManifestRecord record{};
      record.state = ExperimentState::Running;
      record.ranks = peers.size;
      record.started_epoch_ns = now;
      put_manifest(configuration, record, false);  // a lasting failure is reported at the end
    }
    exchanges = {measurement::event_settings.selection.mode != config::TraceMode::Off,
                 measurement::is_sample_of_events(), false};
    if (peers.size > 1 && !append_start(message)) {
      say("no memory to tell the ranks where the experiment is; the program runs unmeasured");
      note_said();
      return false;
    }
  }
  if (peers.size > 1) {
    if (!broadcast(peers, message, deadline_in(configuration.finalize_timeout))) {
      say("rank %d did not learn where the experiment is; it runs unmeasured", peers.rank);
      note_said();
      return false;
    }
    if (!read_start(message)) return false;
    if (peers.rank != 0 && directory.path[0]) hold_directory(directory.path);
    if (exchanges.is_off && peers.rank == 1) {
      say("REFRAIN_ENABLE=off on rank 0: the whole job runs unmeasured");
      note_said();
    }
  }
  return directory.path[0] != 0;
}

bool decline_experiment(const measurement::Peers& peers, bool is_off) {
  platform::Bytes message;
  directory.path[0] = 0;
  exchanges = {false, false, is_off};
  return peers.size > 1 && append_start(message) && broadcast(peers, message, deadline_in(unmeasured_timeout_s)) &&
         read_start(message) && directory.path[0] != 0 && compare_clocks(peers, deadline_in(unmeasured_timeout_s));
}

bool compare_clocks(const measurement::Peers& peers, std::int64_t deadline) {
  return !exchanges.clocks || measure_clock_offset(peers, deadline);
}

bool agree_with_peers(const measurement::Peers& peers, std::int64_t deadline) {
  return compare_clocks(peers, deadline) && (!exchanges.events || agree_on_events(peers, deadline));
}

void write_nothing(const measurement::Peers& peers) {
  const platform::OwnFloatingPoint own_environment;
  const std::int64_t deadline = deadline_in(unmeasured_timeout_s);
  if (!compare_clocks(peers, deadline) || (exchanges.events && !help_to_agree_on_events(peers, deadline))) return;
  RankRecord record{};
  record.rank = peers.rank;
  record.ranks = peers.size;
  record.first_anchor = record.last_anchor = platform::read_anchor();
  record.begin_epoch_ns = platform::wall_clock_ns();
  gethostname(record.host, sizeof record.host - 1);
  write_profile(record, peers, directory.path, deadline_in(unmeasured_timeout_s));
}

bool write_experiment(const config::Configuration& configuration, const RankRecord& record,
                      const measurement::Peers& peers, Ending ending) {
  const WriteOutcome outcome = ending == Ending::Complete ? write_profile(record, peers, directory.path,
                                                                          deadline_in(configuration.finalize_timeout))
                                                          : write_part(record, directory.path);
  if (outcome.line[0]) {
    say("%s", outcome.line);
    if (!outcome.written) note_said();
  }
  if (outcome.written && ending != Ending::Warned) keep_function_table(directory.path);
  if (outcome.written && !outcome.in_part && record.spilled_bytes == 0) remove_part(directory.path, record.rank);
  if (ending == Ending::Warned || record.rank != 0) return outcome.written;
  ManifestRecord manifest{};
  manifest.state =
      ending == Ending::Complete && outcome.complete ? ExperimentState::Complete : ExperimentState::Incomplete;
  manifest.ranks = record.ranks;
  manifest.started_epoch_ns = record.begin_epoch_ns;
  manifest.ended_epoch_ns = platform::wall_clock_ns();
  manifest.ticks_per_second = platform::ticks_per_second(record.first_anchor, record.last_anchor);
  manifest.call_cost = record.call_cost;
  manifest.tick_cost = record.tick_cost;
  put_manifest(configuration, manifest, !outcome.line[0]);
  return outcome.written;
}

}  // namespace refrain::record
