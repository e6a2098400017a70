#pragma once
/// The events of an experiment. To open it reads what ranks say of their events and the heads of frames; the events
/// themselves are read as they are asked for, in chronological order over all locations, with one frame of each
/// location in memory.
///
/// All members are const and may be called by several threads at a time; a reader belongs to one.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "offline/experiment/experiment.hpp"
#include "offline/trace/communicators.hpp"
#include "offline/trace/event_stream.hpp"
#include "offline/trace/job_clocks.hpp"

namespace refrain::trace {

/// What the loop is called that stands for one in a program without: its iterations are the stretches from one blocking
/// collective operation of all processes to the next (docs/events.md).
inline constexpr const char* stretches_loop = "(stretches)";

struct LocationOfTrace {
  std::int32_t rank = 0, thread = 0;
  std::string name, host;
  std::uint64_t records = 0;     ///< in the file
  std::uint64_t lost = 0;        ///< found no room
  std::uint64_t iterations = 0;  ///< kept ones
};

struct RankOfTrace {
  std::int32_t rank = 0;
  std::string host;
  format::EventMode mode{};
  std::uint64_t bytes = 0;                      ///< of its file
  std::optional<std::int64_t> clock_offset_ns;  ///< at its begin, to the first rank's clock; nothing: not known
  std::uint32_t first_region = 0;
  std::vector<std::string> regions;  ///< loops and regions of the program, by id, from that on
  /// The name of a loop or region; empty: outside of iterations.
  std::string name_of(std::uint32_t region) const;
};

class Trace {
 public:
  /// Of the chosen ranks; empty: all. Null: the experiment has no events of them. Times count from the begin of the
  /// first rank, also of one that is not chosen.
  static std::shared_ptr<const Trace> open(std::shared_ptr<const experiment::Experiment> experiment,
                                           const std::function<bool(std::int32_t rank)>& chosen = {});

  const experiment::Experiment& experiment() const { return *experiment_; }
  const std::vector<RankOfTrace>& ranks() const { return ranks_; }
  const std::vector<LocationOfTrace>& locations() const { return locations_; }
  const Communicators& communicators() const { return communicators_; }
  /// From the first event on, nanoseconds; 0 without any.
  std::int64_t end_ns() const { return end_ns_; }
  /// The begin of the trace, nanoseconds since the epoch.
  std::int64_t begin_epoch_ns() const { return begin_epoch_ns_; }

  const JobClocks& clocks() const { return job_clocks_; }

  /// From ticks of the location's rank to nanoseconds of the trace.
  std::int64_t time_of(std::uint32_t location, std::int64_t ticks) const {
    return clocks_[rank_of_location_[location]].time_of(ticks);
  }
  /// The call path behind a node of another thread of the same rank; no_path: not known.
  std::uint32_t path_of(std::uint32_t location, std::int32_t thread, std::uint32_t node) const;
  /// The name of the region that a call path ends in; of one that is not known a word for it.
  std::string region_of(std::uint32_t path) const;
  /// Of the loop whose iteration a SpanEnd tells; empty: time outside of iterations.
  std::string loop_of(const Event& span) const;

  /// Of a sample: one of 2^level iterations of a loop is shown, the same ones of all ranks. By the loop's name; empty:
  /// time outside of iterations.
  const std::map<std::string, unsigned>& levels() const { return levels_; }
  /// Beside them the slowest iterations, which not all ranks may have: by loop and number, how many have it.
  const std::map<std::pair<std::string, std::int64_t>, std::int32_t>& slowest() const { return slowest_; }
  /// Whether stretches are what the sample consists of: no loop was marked.
  bool has_stretches() const;
  /// How many there were; of a job that was killed on one of the ranks.
  std::uint64_t stretches() const { return stretches_ ? stretches_->first : 0; }
  /// Of the first thread of each rank, how many stretches are left out because ranks had not called the same
  /// operations.
  std::uint64_t stretches_left_out() const { return differing_stretches_.size(); }
  /// Whether the iteration belongs to the sample: it is kept on all ranks, whether slow or not.
  bool is_sampled(const std::string& loop, std::int64_t iteration) const;

  class Reader {
   public:
    /// The next event of all locations; null: there is none. Valid until the next call.
    const Event* next() {
      // Mostly one location has several events before the next of another.
      if (current_ < streams_.size()) [[likely]] {
        const Event* event = streams_[current_].next();
        if (event && is_before(*event, current_)) [[likely]]
          return event;
        put(current_, event);
      }
      return next_of_another();
    }

   private:
    friend class Trace;
    struct Next {
      std::int64_t time_ns;
      std::uint32_t stream;
      bool operator>(const Next& other) const {
        return time_ns != other.time_ns ? time_ns > other.time_ns : stream > other.stream;
      }
    };
    bool is_before(const Event& event, std::size_t stream) const {
      return queue_.empty() || event.time_ns < queue_.front().time_ns ||
             (event.time_ns == queue_.front().time_ns && stream < queue_.front().stream);
    }
    void put(std::size_t stream, const Event* event);
    const Event* next_of_another();
    std::vector<EventStream> streams_;
    std::vector<const Event*> heads_;  ///< of the streams in the queue
    std::vector<Next> queue_;          ///< a heap, the earliest first
    std::size_t current_ = 0;          ///< the stream of the event that was told last, which is not in the queue
  };
  /// Of these locations; empty: all.
  Reader read(std::span<const std::uint32_t> locations = {}) const;

 private:
  void add(const experiment::Rank& rank);
  void add_sample(const experiment::EventsOfRank& events);
  void choose_slowest();
  void find_differing_stretches();
  /// Null: all spans.
  IsShown shown_spans(std::uint32_t rank) const;

  std::shared_ptr<const experiment::Experiment> experiment_;
  std::vector<RankOfTrace> ranks_;
  std::vector<LocationOfTrace> locations_;
  std::vector<std::shared_ptr<const experiment::EventFile>> files_;  ///< by rank
  std::vector<RankClock> clocks_;                                    ///< by rank
  std::vector<std::vector<std::uint32_t>> paths_;                    ///< by location, by node
  std::map<std::string, unsigned> levels_;
  std::map<std::pair<std::string, std::int64_t>, std::int32_t> slowest_;
  /// Number and hash of all stretches of the first rank that has said it; whether other ranks say the same.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> stretches_;
  bool same_stretches_ = true;
  std::set<std::int64_t> differing_stretches_;
  std::size_t most_slow_ = 0;                    ///< of one rank
  bool is_agreed_ = true;                        ///< else files have spans that are not shown
  std::vector<std::uint32_t> rank_of_location_;  ///< index into ranks_
  Communicators communicators_;
  JobClocks job_clocks_;
  std::int64_t begin_epoch_ns_ = 0, end_ns_ = 0;
};

}  // namespace refrain::trace
