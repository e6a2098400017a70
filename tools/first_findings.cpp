#include "tools/first_findings.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offline/findings/facts.hpp"
#include "offline/patterns/matched_waits.hpp"
#include "offline/patterns/path_names.hpp"
#include "offline/patterns/traffic.hpp"
#include "offline/report/wait_findings.hpp"
#include "offline/report/node_waits.hpp"
#include "tools/findings_wire.hpp"

namespace refrain::tools {
namespace fs = std::filesystem;
/// Signals that ask to end are held back; the first one makes a descriptor readable.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) sigaddset(&ending, signal);
    sigprocmask(SIG_BLOCK, &ending, &before_);
    descriptor_ = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~HeldSignals() {
    signalfd_siginfo taken;
    while (descriptor_ >= 0 && read(descriptor_, &taken, sizeof taken) > 0) {
    }
    if (descriptor_ >= 0) close(descriptor_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  int descriptor() const { return descriptor_; }
  /// In the process that searches: it ends by them.
  void release() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
  int descriptor_ = -1;
};

namespace {

using Clock = std::chrono::steady_clock;
using Tell = std::function<void(const std::string& lines)>;

/// More is not read at a rate of some 50 MiB in a second.
constexpr std::uintmax_t bytes_in_ms = 50'000;
constexpr std::size_t most_lines = 3;
constexpr rlim_t most_memory = rlim_t{1} << 30;

/// Of files of events. What is in the profile instead is little.
std::uintmax_t bytes_of(const std::string& experiment) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator at(experiment, error), end; !error && at != end; at.increment(error)) {
    std::error_code of_file;
    const std::uintmax_t size = at->file_size(of_file);
    if (!of_file && at->path().filename().string().starts_with("events-")) bytes += size;
  }
  return bytes;
}

report::PathWaits waits_of(const patterns::Analysis& analysis, const trace::Trace& trace,
                           const patterns::Naming& naming) {
  report::PathWaits waits;
  waits.is_sampled = analysis.is_sampled;
  const auto path_of = patterns::paths_of_nodes(trace, naming);
  struct Kind {
    double ns = 0;
    std::string name;
  };
  std::map<std::uint32_t, Kind> kinds;
  for (const patterns::PatternResult& of : analysis.patterns)
    if (of.about.is_wait)
      for (const auto& row : of.by_node)
        if (Kind& kind = kinds[row.node]; row.severity.ns > kind.ns) kind = {row.severity.ns, of.about.name};
  struct OfNode {
    patterns::Severity waiting;
    double seen_ns = 0, untold_ns = 0;
    const patterns::MatchedWait* matched = nullptr;
    std::map<std::int32_t, double> by_rank_ns;
  };
  std::map<std::uint32_t, OfNode> nodes;
  for (const patterns::PatternResult& of : analysis.patterns) {
    if (of.about.name == patterns::waiting_name) {
      waits.confidence = of.confidence;
      for (const auto& row : of.by_node) nodes[row.node].waiting = row.severity;
      for (const auto& cell : of.cells) nodes[cell.node].by_rank_ns[trace.locations()[cell.location].rank] += cell.ns;
    }
    if (of.about.name == "mpi")
      for (const auto& row : of.by_node) nodes[row.node].seen_ns = row.severity.ns;
  }
  for (const auto& row : analysis.untold) nodes[row.node].untold_ns = row.severity.ns;
  const auto matched = patterns::matched_waits(trace, naming);
  for (const patterns::MatchedWait& of : matched) nodes[of.node].matched = &of;
  for (const auto& [node, of] : nodes) {
    const auto path = path_of.find(node);
    if (path == path_of.end()) continue;
    report::PathWaits::Of& to = waits.paths.emplace_back();
    to.path = path->second;
    to.seconds = of.waiting.ns / 1e9;
    to.error_s = std::max(of.waiting.error_ns, 0.0) / 1e9;
    to.seen_s = of.seen_ns / 1e9;
    to.known_s = std::max(of.seen_ns - of.untold_ns, 0.0) / 1e9;
    if (of.matched)
      to.matched = {of.matched->ns / 1e9, of.matched->error_ns / 1e9, of.matched->messages,
                    of.matched->is_late_receiver};
    to.kind = kinds[node].name;
    for (const auto& [rank, ns] : of.by_rank_ns) to.by_rank[rank] = ns / 1e9;
  }
  return waits;
}

report::EventTraffic traffic_for_report(const trace::Trace& trace, const patterns::Naming& naming) {
  report::EventTraffic traffic;
  const auto path_of = patterns::paths_of_nodes(trace, naming);
  const patterns::Traffic found = patterns::traffic_of(trace, naming);
  for (const auto& of : found.partners)
    if (const auto path = path_of.find(of.node); path != path_of.end())
      traffic.partners.push_back({path->second, of.fewest, of.most});
  for (const auto& of : found.communicators)
    if (const auto path = path_of.find(of.node); path != path_of.end())
      traffic.communicators.push_back({path->second, of.communicator, of.ns / 1e9, of.calls});
  return traffic;
}

std::string lines_of(const analysis::CallTree& tree, std::vector<findings::Finding> found) {
  note_short_run(tree, found);
  std::string text;
  for (const findings::Finding& of : found) text += wire_of(of);
  return text;
}

/// What needs no events, as soon as it is found.
void search_profile(const experiment::Experiment& experiment, const analysis::CallTree& tree,
                    const analysis::MinimumWaits& minima, const Tell& tell) {
  findings::Facts facts{experiment, tree, minima, {}};
  find(facts, [&](std::span<const findings::Finding> found) {
    std::string text;
    for (const findings::Finding& of : found) text += wire_of(of);
    tell(text);
  });
}

void search_events(const trace::Trace& trace, const patterns::PathNames& names, const analysis::MinimumWaits& minima,
                   const WantedFindings& wanted, const Tell& tell) {
  patterns::Request request;
  request.headlines = most_lines;
  const patterns::Analysis analysis = patterns::analyse(trace, names.naming(), request);
  const report::PathWaits in_events = waits_of(analysis, trace, names.naming());
  const auto waits = report::waits_of(names.tree(), in_events, minima.any() ? &minima : nullptr);
  std::string text = lines_of(
      names.tree(), report::findings_of_waiting({names.tree(), waits}, analysis, trace, names.naming()));
  text += wire_of(in_events, wanted.waits_by_rank);
  tell(text);
  if (wanted.traffic) tell(wire_of(traffic_for_report(trace, names.naming())));
}

void search(const std::string& experiment, bool with_events, const WantedFindings& wanted, const Tell& tell) {
  const auto opened = experiment::Experiment::open(experiment);
  analysis::MinimumWaits minima(opened->definitions());
  analysis::CallTreeOptions tree = wanted.tree;
  tree.also = [&](const experiment::Rank& rank) { minima.add(rank); };
  const auto trace = with_events ? trace::Trace::open(opened, [](std::int32_t) { return true; }) : nullptr;
  if (!trace) {
    analysis::Symbolizer symbolizer;
    const analysis::CallTree of_run = build_call_tree(*opened, symbolizer, tree);
    if (wanted.of_profile) {
      search_profile(*opened, of_run, minima, tell);
      const auto waits = report::waits_of(of_run, {}, minima.any() ? &minima : nullptr);
      tell(lines_of(of_run, report::findings_of_waiting({of_run, waits})));
    }
  } else {
    const patterns::PathNames names(*trace, tree);
    if (wanted.of_profile) search_profile(*opened, names.tree(), minima, tell);
    tell(wire_of_step(Step::Profile));
    search_events(*trace, names, minima, wanted, tell);
  }
  if (opened->damage_log()->has_damaged_events())
    tell(wire_of(findings::Finding{.rule = "events_damaged"}));
  tell(wire_of_step(with_events ? Step::All : Step::Profile));
}

[[noreturn]] void be_searcher(const std::string& experiment, bool with_events, const WantedFindings& wanted, int answer,
                              pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  // Of what goes wrong nothing shall stay, and a large search shall not need the memory of others.
  const rlimit none{0, 0}, data{most_memory, most_memory};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_DATA, &data);
  // Whatever libraries say of a file belongs to nobody.
  if (const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  int code = 0;
  try {
    search(experiment, with_events, wanted, [&](const std::string& text) {
      for (std::size_t done = 0; done < text.size();) {
        const ssize_t written = write(answer, text.data() + done, text.size() - done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) _exit(1);
        done += static_cast<std::size_t>(written);
      }
    });
  } catch (const std::exception&) {
    code = 1;
  }
  _exit(code);
}

/// Until the other end is closed; what is there at the deadline is read, too. False: it takes longer, or `stop` is
/// readable; -1: nothing stops it.
bool read_all(int from, int stop, Clock::time_point deadline, std::string& text) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready[] = {{from, POLLIN, 0}, {stop, POLLIN, 0}};
    const int got = poll(ready, 2, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || ready[1].revents != 0) return false;
    char buffer[4096];
    const ssize_t n = read(from, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

}  // namespace

struct FindingsSearch::Searcher {
  std::optional<HeldSignals> held;
  pid_t process = -1;
  int answer = -1;
  Clock::time_point deadline;
};

FindingsSearch::FindingsSearch(const std::string& experiment, std::chrono::milliseconds most, OnSignal on_signal,
                               const WantedFindings& wanted) {
  is_too_large_ = bytes_of(experiment) > bytes_in_ms * static_cast<std::uintmax_t>(most.count());
  int answer[2];
  if (pipe2(answer, O_CLOEXEC) != 0) return;
  searcher_ = std::make_unique<Searcher>();
  searcher_->deadline = Clock::now() + most;
  if (on_signal == OnSignal::EndsSearch) searcher_->held.emplace();
  const pid_t parent = getpid();
  searcher_->process = fork();
  if (searcher_->process == 0) {
    if (searcher_->held) searcher_->held->release();
    be_searcher(experiment, !is_too_large_, wanted, answer[1], parent);
  }
  close(answer[1]);
  searcher_->answer = answer[0];
}

FindingsSearch::~FindingsSearch() {
  if (searcher_) end();
}

void FindingsSearch::end() {
  close(searcher_->answer);
  if (searcher_->process <= 0) return;
  kill(searcher_->process, SIGKILL);
  while (waitpid(searcher_->process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

FirstFindings FindingsSearch::wait() {
  FirstFindings findings;
  if (!searcher_) return findings;
  std::string text;
  if (searcher_->process > 0)
    read_all(searcher_->answer, searcher_->held ? searcher_->held->descriptor() : -1, searcher_->deadline, text);
  end();
  searcher_.reset();
  std::vector<std::string> lines;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  // What was found before is good without the rest; how long paths have waited is only known when all was searched.
  findings.done = last_step(lines);
  for (const std::string& line : lines)
    if (findings.done == Step::All || line.starts_with('F')) take_line(line, findings);
  relate(findings.all);
  return findings;
}

FirstFindings first_findings(const std::string& experiment, std::chrono::milliseconds most, OnSignal on_signal,
                             const WantedFindings& wanted) {
  return FindingsSearch(experiment, most, on_signal, wanted).wait();
}

}  // namespace refrain::tools
