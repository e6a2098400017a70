#pragma once
/// The search: one pass over the events of a trace, in chronological order over all locations. It makes compound events
/// from events (compound_events.hpp) and hands them to the patterns that subscribed to them, which may publish further
/// ones: so each step of refinement is done once, and what does not match is not looked at again.
///
/// Memory: what is in flight, and the Findings. Belongs to one thread; the trace must outlive it.

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "offline/patterns/compound_events.hpp"
#include "offline/patterns/distribution.hpp"
#include "offline/patterns/findings.hpp"
#include "offline/patterns/search_processes.hpp"
#include "offline/patterns/worst_instances.hpp"
#include "offline/trace/collectives.hpp"
#include "offline/trace/pairing.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::patterns {

struct WindowUse;

/// Counts that show how far events can be trusted.
struct SearchCounts {
  trace::MessageCounts messages;
  double known_messages = 1;  ///< share of messages of which send and receive are known, from 0 to 1
  std::uint64_t collectives = 0, collectives_left_out = 0;
  /// Fences, and accesses of a target; `window_epochs_left_out`: those for which it is unknown what they waited for.
  std::uint64_t window_epochs = 0, window_epochs_left_out = 0;
  std::uint64_t violations = 0;   ///< receives that ended before their send began
  std::uint64_t gaps = 0;         ///< places where events are missing
  std::uint64_t gaps_within = 0;  ///< those within the requested time
  bool is_sample = false;         ///< what came before an iteration is not known
  std::uint64_t damages = 0;      ///< found by other processes of a distributed search
};

/// Whether iterations of the run are missing from the trace because they were left out at random.
bool is_sample_of_iterations(const trace::Trace& trace);

struct SearchLimits {
  std::int64_t from_ns = INT64_MIN, to_ns = INT64_MAX;  ///< only calls that are entered in this time
  std::size_t open_requests = 0;  ///< maximum number of remembered sends, and of receives; 0: the default
};

class Search {
 public:
  /// `by_span`: Findings also keep the sums of each span. `wanted`: selects these spans; empty: all.
  Search(const trace::Trace& trace, bool by_span, const SearchLimits& limits = {}, Findings::IsWanted wanted = {});
  ~Search();
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  /// Makes this search one of several, see run(). To be called before any subscription.
  void distribute(int process, int processes);

  /// Callbacks subscribed from now on are not called again once one of them has thrown a std::exception, whose text is
  /// then in `failure`. Null: exceptions are not caught.
  void guard(std::shared_ptr<std::string> failure) { failure_ = std::move(failure); }
  /// `callback` is called with every compound event of this type.
  template <class Event>
  void subscribe(std::function<void(const Event&)> callback) {
    if (failure_)
      callback = [callback = std::move(callback), failure = failure_](const Event& event) {
        if (!failure->empty()) return;
        try {
          callback(event);
        } catch (const std::exception& wrong) {
          *failure = wrong.what();
        }
      };
    if constexpr (std::is_same_v<Event, Received> || std::is_same_v<Event, Receiving> || std::is_same_v<Event, Sending>)
      is_about_messages_ = true;
    sides_ |= side_of<Event>;
    if constexpr (std::is_same_v<Event, Collective>) is_about_collectives_ = true;
    if constexpr (std::is_same_v<Event, WindowWait>) is_about_windows_ = true;
    if constexpr (std::is_same_v<Event, IdleThreads>) follow_threads();
    std::get<Subscribers<Event>>(subscribers_).push_back(std::move(callback));
  }
  /// The Sides that the subscriptions since the last call depend on.
  unsigned take_sides() { return std::exchange(sides_, no_side); }
  template <class Event>
  void publish(const Event& event) const {
    for (const auto& callback : std::get<Subscribers<Event>>(subscribers_)) callback(event);
  }

  /// If the search needs more than `most` rows of spans, it throws TooManyRows.
  void limit_rows(std::uint64_t most) { findings_.limit_rows(most); }
  /// Findings keep rows of spans only for these quantities, which must be ascending.
  void keep_rows_of(std::vector<Quantity> quantities) { findings_.keep_rows_of(std::move(quantities)); }

  using Progress = std::function<void(std::int64_t time_ns)>;
  /// Makes the pass. `progress` is called now and then with the time that was reached.
  void run(const Progress& progress = {});
  /// Makes the pass with several processes, each of which looks at the events of some ranks and has the same
  /// subscriptions. Only events on own ranks are published and added, with what they need from others: for a collective
  /// operation, the parts that decide how long others waited. There is no Primitive, and call paths of others are not
  /// known. In the end the first process has the findings and counts of all. To be called after distribute(). Throws
  /// ProcessError.
  void run(SearchProcesses& processes, const Progress& progress = {});
  /// The pass for a caller that reads the events: take() with every event, in order of time, then finish(). There is no
  /// Primitive.
  void take(const trace::Event& event);
  void finish();

  const trace::Trace& trace() const { return trace_; }
  const Findings& findings() const { return findings_; }
  /// Adds `ns` of the call, but no more than the call's own time.
  void add(Quantity quantity, const Call& call, std::int64_t ns) {
    if (!is_within(call.enter_ns) || !looks_at(call.location)) return;
    const std::int64_t most_ns = std::min(ns, call.time_ns() - call.inner_ns);
    findings_.add(quantity, call.location, call.path, call.span, most_ns);
    if (quantity >= first_of_patterns) worst_.add(quantity, call, most_ns);
  }
  /// In a distributed search, only for own locations.
  const WorstInstances& worst() const { return worst_; }
  /// Whether this process looks at the location. False: another process of a distributed search does.
  bool looks_at(std::uint32_t location) const { return !distribution_ || distribution_->is_own(location); }
  bool is_within(std::int64_t enter_ns) const { return enter_ns >= limits_.from_ns && enter_ns < limits_.to_ns; }
  const SearchCounts& counts() const { return counts_; }
  /// Names of loops by SpanEnd::loop.
  const std::vector<std::string>& loops() const { return loops_; }
  /// For a sample, a number for the iteration of a location's span: an iteration has the same number everywhere, in
  /// every process of a distributed search. 0: time outside of iterations.
  std::uint64_t iteration_of(std::uint32_t location, std::uint32_t span);

 private:
  template <class Event>
  static constexpr unsigned side_of =
      std::is_same_v<Event, Received> || std::is_same_v<Event, Receiving> || std::is_same_v<Event, LateSender>
          ? side_of_receives
      : std::is_same_v<Event, Sending> || std::is_same_v<Event, LateReceiver> ? side_of_sends
      : std::is_same_v<Event, Waited>                                         ? side_of_receives | side_of_sends
                                                                              : no_side;
  template <class Event>
  using Subscribers = std::vector<std::function<void(const Event&)>>;
  class Messages;
  class Windows;
  class Threads;
  class Rounds;
  template <class T>
  class Queue;
  struct Frame {
    Call call;
    std::uint32_t node = 0;  ///< in Messages; 0: it moved no messages
    bool completes_collective = false, completes_message = false, completes_both = false;
    bool is_with_other_processes = false;  ///< it has a collective operation of several processes
    trace::CallClass collective_class{};
    bool uses_window = false;  ///< Here::window_uses says how
    std::uint64_t messages = 0, bytes = 0;
  };

  /// The state of a location at the current event.
  struct Here {
    std::vector<Frame> stack;
    std::vector<WindowUse> window_uses;                      ///< of the open calls that use one
    std::int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;  ///< of its events
    std::int64_t span_begin_ns = INT64_MIN;
    std::int64_t gap_begin_ns = 0;
    bool has_gap = false;    ///< events of the span in progress are missing
    bool is_in_gap = false;  ///< the last event was a gap
    /// For a sample: iteration_of() by span; nullopt: not read yet.
    std::optional<std::vector<std::uint64_t>> iterations;
  };

  void follow_threads();
  void finish_events();
  void count();
  void enter(const trace::Event& event, Here& here);
  void communication(const trace::Event& event, Here& here);
  void use_window(const trace::Event& event, Frame& frame, Here& here);
  void leave(const trace::Event& event, Here& here);
  void sample(const trace::Event& event, const Here& here) const;
  void span_end(const trace::Event& event, Here& here);
  std::uint16_t loop_index(const std::string& loop);
  void gap(const trace::Event& event, Here& here);
  void end_gap(std::uint32_t location, std::int64_t ns);
  void abandon(const Frame& frame);
  void collective(const trace::CollectiveOperation& operation);
  void note_untold(const Frame& frame, const Call& call);
  /// Adds a call that may have waited for an unknown time. Only for experiments.
  void add_untold(Quantity quantity, const Call& call) {
    if (tells_untold()) add(quantity, call, call.time_ns() - call.inner_ns);
  }
  bool tells_untold() const { return !trace_.archive() && !distribution_; }
  void job_wide(const Call& call, bool is_init);
  void publish_job_wide(bool is_init);
  /// Time from which on the order of messages is known: in a sample, what came before the span is unknown.
  std::int64_t begin_of_span(std::uint32_t location) const {
    return counts_.is_sample ? here_[location].span_begin_ns : INT64_MIN;
  }

  const trace::Trace& trace_;
  SearchLimits limits_;
  std::optional<Distribution> distribution_;  ///< only in a distributed search
  std::tuple<Subscribers<Call>, Subscribers<Received>, Subscribers<Receiving>, Subscribers<Sending>,
             Subscribers<Collective>, Subscribers<JobWide>, Subscribers<Break>, Subscribers<LateSender>,
             Subscribers<LateReceiver>, Subscribers<WindowWait>, Subscribers<Primitive>, Subscribers<Waited>,
             Subscribers<Sampled>, Subscribers<IdleThreads>>
      subscribers_;
  unsigned sides_ = no_side;
  bool is_about_messages_ = false, is_about_collectives_ = false,
       is_about_windows_ = false;  ///< whether these have subscribers
  std::shared_ptr<std::string> failure_;
  Findings findings_;
  WorstInstances worst_;
  SearchCounts counts_;
  std::vector<trace::FunctionOfMpi> functions_;  ///< by region
  std::vector<Here> here_;                       ///< by location
  std::unique_ptr<Messages> messages_;
  std::unique_ptr<Windows> windows_;
  std::unique_ptr<Threads> threads_;  ///< null: there are no threads, or no subscribers to IdleThreads
  trace::Collectives collectives_;
  std::vector<Call> init_, finalize_;
  std::size_t processes_ = 0;
  std::vector<std::string> loops_{{}};
};

}  // namespace refrain::patterns
