#include "tools/first_findings.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <poll.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offline/patterns/matched_waits.hpp"
#include "offline/patterns/path_names.hpp"
#include "offline/report/headline_text.hpp"

namespace refrain::tools {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

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
    double seen_ns = 0;
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
    if (of.matched) to.matched = {of.matched->ns / 1e9, of.matched->error_ns / 1e9, of.matched->messages};
    to.kind = kinds[node].name;
    for (const auto& [rank, ns] : of.by_rank_ns) to.by_rank[rank] = ns / 1e9;
  }
  return waits;
}

/// Of what the process that searches tells the other one, a line of search(): "L line", "W path seconds error seen
/// matched error messages [kind]", where matched is below 0 when there is none, "R rank seconds" of the call path
/// before it, and "S confidence" or "E confidence": of a sample, or of all events.
void take_line(const std::string& line, FirstFindings& findings) {
  const std::string rest = line.size() > 2 ? line.substr(2) : "";
  switch (line.empty() ? ' ' : line[0]) {
    case 'L': findings.lines.push_back(rest); return;
    case 'S':
    case 'E':
      findings.waits.emplace().is_sampled = line[0] == 'S';
      std::istringstream(rest) >> findings.waits->confidence;
      return;
    case 'W': {
      report::PathWaits::Of of{};
      std::istringstream words(rest);
      report::PathWaits::Of::Matched matched{};
      if (findings.waits && words >> of.path >> of.seconds >> of.error_s >> of.seen_s >> matched.seconds >>
                                matched.error_s >> matched.messages) {
        if (matched.seconds >= 0) of.matched = matched;
        words >> of.kind;
        findings.waits->paths.push_back(of);
      }
      return;
    }
    case 'R': {
      std::int32_t rank = 0;
      double seconds = 0;
      if (findings.waits && !findings.waits->paths.empty() && std::istringstream(rest) >> rank >> seconds)
        findings.waits->paths.back().by_rank[rank] = seconds;
      return;
    }
    default: return;
  }
}

std::string search(const std::string& experiment, const WantedFindings& wanted) {
  const auto opened = experiment::Experiment::open(experiment);
  const auto trace = trace::Trace::open(opened, [](std::int32_t) { return true; });
  if (!trace) return {};
  const patterns::PathNames names(*trace, wanted.tree);
  patterns::Request request;
  request.headlines = most_lines;
  const patterns::Analysis analysis = patterns::analyse(*trace, names.naming(), request);
  std::string text;
  for (const std::string& line : report::headline_lines(analysis, *trace, names.naming())) text += "L " + line + '\n';
  const report::PathWaits waits = waits_of(analysis, *trace, names.naming());
  text += fmt::format("{} {}\n", waits.is_sampled ? 'S' : 'E', waits.confidence);
  for (const report::PathWaits::Of& of : waits.paths) {
    const auto matched = of.matched.value_or(report::PathWaits::Of::Matched{-1, 0, 0});
    text += fmt::format("W {} {} {} {} {} {} {} {}\n", of.path, of.seconds, of.error_s, of.seen_s, matched.seconds,
                        matched.error_s, matched.messages, of.kind);
    if (wanted.waits_by_rank)
      for (const auto& [rank, seconds] : of.by_rank) text += fmt::format("R {} {}\n", rank, seconds);
  }
  return text;
}

[[noreturn]] void be_searcher(const std::string& experiment, const WantedFindings& wanted, int answer, pid_t parent) {
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
    const std::string text = search(experiment, wanted);
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t written = write(answer, text.data() + done, text.size() - done);
      if (written <= 0) break;
      done += static_cast<std::size_t>(written);
    }
  } catch (const std::exception&) {
    code = 1;
  }
  _exit(code);
}

/// Until the other end is closed. False: it takes too long, or `stop` is readable; -1: nothing stops it.
bool read_all(int from, int stop, Clock::time_point deadline, std::string& text) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready[] = {{from, POLLIN, 0}, {stop, POLLIN, 0}};
    const int got = left > 0 ? poll(ready, 2, static_cast<int>(left)) : 0;
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

FirstFindings first_findings(const std::string& experiment, std::chrono::milliseconds most, OnSignal on_signal,
                             const WantedFindings& wanted) {
  FirstFindings findings;
  if (bytes_of(experiment) > bytes_in_ms * static_cast<std::uintmax_t>(most.count())) return {{}, false, {}};
  int answer[2];
  if (pipe2(answer, O_CLOEXEC) != 0) return findings;
  std::optional<HeldSignals> held;
  if (on_signal == OnSignal::EndsSearch) held.emplace();
  const pid_t parent = getpid(), searcher = fork();
  if (searcher == 0) {
    if (held) held->release();
    be_searcher(experiment, wanted, answer[1], parent);
  }
  close(answer[1]);
  std::string text;
  if (searcher > 0) {
    findings.is_done = read_all(answer[0], held ? held->descriptor() : -1, Clock::now() + most, text);
    kill(searcher, SIGKILL);
    int status = 0;
    while (waitpid(searcher, &status, 0) < 0 && errno == EINTR) {
    }
    findings.is_done &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  close(answer[0]);
  for (std::size_t at = 0, end; findings.is_done && (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    take_line(text.substr(at, end - at), findings);
  return findings;
}

}  // namespace refrain::tools
