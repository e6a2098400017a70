/// Paraver's trace format ("Paraver: Trace File Description", BSC): records of states, events and communications in the
/// order of time (.prv), labels of their numbers (.pcf), and names of processors, nodes and threads (.row). Tasks are
/// the chosen ranks, in their order, counted from 1. Event types and state numbers are those of Extrae, so that its
/// configurations work; values of MPI functions are the trace's own, with their names in the .pcf.

#include <algorithm>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "offline/experiment/clean_text.hpp"
#include "offline/export/sorted_lines.hpp"
#include "offline/export/timeline.hpp"

namespace refrain::exports {
namespace {

enum ParaverType : std::int32_t {
  PointToPointCall = 50'000'001,
  CollectiveCall = 50'000'002,
  OtherCall = 50'000'003,
  MarkEvent = 60'000'019,  ///< Extrae's user functions
  IterationEvent = 84'210'840,
};
enum ParaverState : std::uint8_t {
  Running = 1,
  WaitingMessage = 3,
  BlockingSend = 4,
  Synchronization = 5,
  TestProbe = 6,
  WaitState = 8,
  ImmediateSend = 10,
  ImmediateReceive = 11,
  InputOutput = 12,
  GroupCommunication = 13,
  TracingDisabled = 14,
  OtherState = 15,
  SendReceive = 16
};
struct StateName {
  ParaverState state;
  const char* name;
};
constexpr StateName state_names[] = {{Running, "Running"},
                                     {WaitingMessage, "Waiting a message"},
                                     {BlockingSend, "Blocking Send"},
                                     {Synchronization, "Synchronization"},
                                     {TestProbe, "Test/Probe"},
                                     {WaitState, "Wait/WaitAll"},
                                     {ImmediateSend, "Immediate Send"},
                                     {ImmediateReceive, "Immediate Receive"},
                                     {InputOutput, "I/O"},
                                     {GroupCommunication, "Group Communication"},
                                     {TracingDisabled, "Tracing Disabled"},
                                     {OtherState, "Others"},
                                     {SendReceive, "Send Receive"}};

ParaverState state_of(const trace::RegionOfTrace& region) {
  if (region.role == trace::Role::Barrier) return Synchronization;
  if (region.role == trace::Role::FileIo) return InputOutput;
  if (region.is_collective()) return GroupCommunication;
  const std::string_view name = region.name;
  constexpr std::pair<std::string_view, ParaverState> by_name[] = {
      {"MPI_Wait", WaitState},      {"MPI_Test", TestProbe},       {"MPI_Probe", TestProbe},
      {"MPI_Iprobe", TestProbe},    {"MPI_Sendrecv", SendReceive}, {"MPI_Irecv", ImmediateReceive},
      {"MPI_Recv", WaitingMessage}, {"MPI_Isend", ImmediateSend},  {"MPI_Send", BlockingSend},
      {"MPI_Bsend", BlockingSend},  {"MPI_Ssend", BlockingSend},   {"MPI_Rsend", BlockingSend}};
  const auto at = std::ranges::find_if(by_name, [&](const auto& of) { return name.starts_with(of.first); });
  return at == std::end(by_name) ? OtherState : at->second;
}

ParaverType type_of(const trace::RegionOfTrace& region) {
  if (region.paradigm != trace::Paradigm::Mpi) return MarkEvent;
  if (region.is_collective()) return CollectiveCall;
  return region.role == trace::Role::PointToPoint ? PointToPointCall : OtherCall;
}

const char* title_of(ParaverType type) {
  switch (type) {
    case PointToPointCall: return "MPI Point-to-point";
    case CollectiveCall: return "MPI Collective Comm";
    case OtherCall: return "MPI Other";
    case MarkEvent: return "User function";
    case IterationEvent: return "Iteration";
  }
  return "";
}

/// The processor, task and thread of a location, all counted from 1.
struct ParaverPlace {
  std::size_t cpu = 0, task = 0, thread = 0;
};

class ParaverTimeline final : public Timeline {
 public:
  ParaverTimeline(const trace::Trace& trace, const OutputFile& out) : trace_(trace), lines_(out.open_scratch()) {
    const auto& locations = trace.locations();
    for (const trace::LocationOfTrace& of : locations) ++threads_of_host_[of.host];
    std::map<std::string, std::size_t> next;  // next processor, by machine
    std::size_t cpus = 0;
    for (const auto& [host, threads] : threads_of_host_) {
      next[host] = cpus + 1;
      cpus += threads;
    }
    for (std::size_t i = 0; i < locations.size(); ++i) {
      const bool is_new_task = i == 0 || locations[i].rank != locations[i - 1].rank;
      if (is_new_task) tasks_.push_back(i);
      places_.push_back({next[locations[i].host]++, tasks_.size(), i - tasks_.back() + 1});
    }
    open_.resize(locations.size());
    state_.resize(locations.size());
    last_.resize(locations.size());
  }

  void begin_slice(TimelinePoint at, const trace::RegionOfTrace& region) override {
    const ParaverType type = type_of(region);
    add_event(at, type, value_of(region));
    open_[at.location].push_back(&region);
    if (type != MarkEvent) enter_state(at, state_of(region));
    else begin_running(at);
  }
  void end_slice(TimelinePoint at, const trace::RegionOfTrace& region, std::int64_t) override {
    auto& open = open_[at.location];
    if (!open.empty()) open.pop_back();
    const ParaverType type = type_of(region);
    // An event's value holds until the next event of its type, so the value of the enclosing slice is restored.
    const auto around = std::find_if(open.rbegin(), open.rend(), [&](const auto* of) { return type_of(*of) == type; });
    add_event(at, type, around == open.rend() ? 0 : value_of(**around));
    const auto call =
        std::find_if(open.rbegin(), open.rend(), [&](const auto* of) { return type_of(*of) != MarkEvent; });
    enter_state(at, call == open.rend() ? Running : state_of(**call));
  }
  void iteration(TimelinePoint begin, TimelinePoint end, const std::string&, std::int64_t number) override {
    add_event(begin, IterationEvent, static_cast<std::uint64_t>(number) + 1);
    add_event(end, IterationEvent, 0);
    last_ns_ = std::max(last_ns_, end.time_ns);
  }
  void gap(TimelinePoint at) override { enter_state(at, TracingDisabled); }
  void message(const TimelineMessage& of) override {
    const ParaverPlace &from = places_[of.sent.location], &to = places_[of.received.location];
    // Logical and physical times are the same: the times of the calls.
    line(of.sent.time_ns,
         fmt::format("3:{0}:1:{1}:{2}:{3}:{3}:{4}:1:{5}:{6}:{7}:{7}:{8}:{9}", from.cpu, from.task, from.thread,
                     time(of.sent), to.cpu, to.task, to.thread, time(of.received), of.bytes, of.tag));
  }

  void write(OutputFile& out) {
    for (std::uint32_t location = 0; location < places_.size(); ++location)
      if (state_[location]) leave_state({location, last_[location]});
    out.write(header());
    lines_.write(out);
  }

  std::string words() const {
    std::string text =
        "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\nLOOK_BACK           100\n"
        "SPEED               1\nFLAG_ICONS          ENABLED\nNUM_OF_STATE_COLORS 1000\nYMAX_SCALE          37\n\n"
        "DEFAULT_SEMANTIC\n\nTHREAD_FUNC          State As Is\n\nSTATES\n0    Idle\n";
    for (const StateName& of : state_names) text += fmt::format("{}    {}\n", static_cast<int>(of.state), of.name);
    for (const auto& [type, values] : values_) {
      text += fmt::format("\nEVENT_TYPE\n0    {}    {}\n", static_cast<std::int32_t>(type), title_of(type));
      if (type == IterationEvent) continue;  // the number of the iteration, counted from 1
      text += "VALUES\n0   End\n";
      for (const std::uint64_t value : values)
        if (value > 0)
          text += fmt::format("{}   {}\n", value, experiment::clean_text(trace_.regions()[value - 1].name));
    }
    return text;
  }

  std::string names() const {
    std::string cpus, nodes, threads;
    for (std::size_t i = 0; i < places_.size(); ++i) cpus += fmt::format("CPU {}\n", i + 1);
    for (const auto& [host, count] : threads_of_host_) nodes += experiment::clean_text(host) + "\n";
    for (std::size_t i = 0; i < places_.size(); ++i)
      threads += fmt::format("RANK {}.{}\n", trace_.locations()[i].rank, trace_.locations()[i].thread);
    return fmt::format("LEVEL CPU SIZE {}\n{}\nLEVEL NODE SIZE {}\n{}\nLEVEL THREAD SIZE {}\n{}", places_.size(), cpus,
                       threads_of_host_.size(), nodes, places_.size(), threads);
  }

 private:
  /// Paraver has no times before 0. Ranks that began before the first one have such times.
  static std::int64_t time(TimelinePoint at) { return std::max<std::int64_t>(at.time_ns, 0); }

  std::uint64_t value_of(const trace::RegionOfTrace& region) const {
    return static_cast<std::uint64_t>(&region - trace_.regions().data()) + 1;
  }

  void line(std::int64_t time_ns, const std::string& text) {
    last_ns_ = std::max(last_ns_, time_ns);
    lines_.add(std::max<std::int64_t>(time_ns, 0), text);
  }

  void add_event(TimelinePoint at, ParaverType type, std::uint64_t value) {
    const ParaverPlace& of = places_[at.location];
    values_[type].insert(value > 0 && type != IterationEvent ? value : 0);
    line(at.time_ns, fmt::format("2:{}:1:{}:{}:{}:{}:{}", of.cpu, of.task, of.thread, time(at),
                                 static_cast<std::int32_t>(type), value));
    last_[at.location] = at.time_ns;
  }

  /// Enters Running after a gap, or at the beginning.
  void begin_running(TimelinePoint at) {
    if (!state_[at.location] || state_[at.location]->first == TracingDisabled) enter_state(at, Running);
  }
  void enter_state(TimelinePoint at, ParaverState state) {
    if (state_[at.location]) leave_state(at);
    state_[at.location] = {state, at.time_ns};
    last_[at.location] = at.time_ns;
  }
  void leave_state(TimelinePoint at) {
    const auto [state, begin_ns] = *state_[at.location];
    const ParaverPlace& of = places_[at.location];
    if (at.time_ns > begin_ns)
      line(begin_ns, fmt::format("1:{}:1:{}:{}:{}:{}:{}", of.cpu, of.task, of.thread, time({at.location, begin_ns}),
                                 time(at), static_cast<int>(state)));
    state_[at.location].reset();
  }

  std::string header() const {
    const std::time_t began = trace_.begin_epoch_ns() / 1'000'000'000;
    std::string nodes, tasks;
    for (const auto& [host, threads] : threads_of_host_)
      nodes += fmt::format("{}{}", nodes.empty() ? "" : ",", threads);
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      const std::size_t end = t + 1 < tasks_.size() ? tasks_[t + 1] : places_.size();
      const auto host = threads_of_host_.find(trace_.locations()[tasks_[t]].host);
      tasks += fmt::format("{}{}:{}", tasks.empty() ? "" : ",", end - tasks_[t],
                           std::distance(threads_of_host_.begin(), host) + 1);
    }
    return fmt::format("#Paraver ({:%d/%m/%Y at %H:%M}):{}_ns:{}({}):1:{}({})\n", fmt::gmtime(began),
                       std::max(last_ns_, trace_.end_ns()), threads_of_host_.size(), nodes, tasks_.size(), tasks);
  }

  const trace::Trace& trace_;
  SortedLines lines_;
  std::map<std::string, std::size_t> threads_of_host_;
  std::vector<std::size_t> tasks_;  ///< first location of each task
  std::vector<ParaverPlace> places_;
  std::vector<std::vector<const trace::RegionOfTrace*>> open_;               ///< by location, innermost last
  std::vector<std::optional<std::pair<ParaverState, std::int64_t>>> state_;  ///< current state and begin, by location
  std::vector<std::int64_t> last_;                                           ///< last time, by location
  std::map<ParaverType, std::set<std::uint64_t>> values_;
  std::int64_t last_ns_ = 0;
};

}  // namespace

void write_paraver(const trace::Trace& trace, const EventChoice& choice, OutputFile& out) {
  if (out.path() == "-") throw ExportError("-o -: paraver has three files");
  const auto beside = [&](const char* extension) {
    return std::filesystem::path(out.path()).replace_extension(extension);
  };
  OutputFile words(beside(".pcf")), names(beside(".row"));
  ParaverTimeline timeline(trace, out);
  read_timeline(trace, choice, timeline);
  timeline.write(out);
  words.write(timeline.words());
  names.write(timeline.names());
  words.finish();
  names.finish();
}

}  // namespace refrain::exports
