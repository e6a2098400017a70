#pragma once
/// The events of an experiment, or of an OTF2 archive of any tool, for all readers of events. Opening reads what ranks
/// report about their events and the heads of frames, or the archive's definitions, and for the clocks once all events
/// if ranks were on several machines. The events themselves are read on request, in chronological order over all
/// locations, with one frame or some kilobytes of each location in memory.
///
/// All members are const and may be called by several threads at a time; a reader belongs to one thread.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "format/hashing.hpp"
#include "format/kept_iterations.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/trace/as_sampled.hpp"
#include "offline/trace/communicators.hpp"
#include "offline/trace/event_stream.hpp"
#include "offline/trace/job_clocks.hpp"
#include "offline/trace/locations.hpp"
#include "offline/trace/otf2_archive.hpp"
#include "offline/trace/regions.hpp"
#include "offline/trace/windows.hpp"

namespace refrain::trace {

/// The name of the loop that stands in for one in a program without loops: its iterations are the stretches from one
/// blocking collective operation of all processes to the next (docs/events.md).
inline constexpr const char* stretches_loop = "(stretches)";

class Trace {
 public:
  /// Opens the chosen ranks; empty: all. Null: the experiment has no events of them. Times count from the begin of the
  /// first rank, whether it is chosen or not.
  /// `as`: shows what a sample would have kept of an experiment that has all events. Throws std::invalid_argument when
  /// it does not have all events, or has no iterations.
  static std::shared_ptr<const Trace> open(std::shared_ptr<const experiment::Experiment> experiment,
                                           const std::function<bool(std::int32_t rank)>& chosen = {},
                                           const std::optional<AsSampled>& as = std::nullopt);
  /// Opens all ranks, with as many iterations as have about `most_records` together: one of 2^thinned() of the kept
  /// ones, by the nested sample (format/kept_iterations.hpp), with the smallest such thinned() from `least_thinned` on.
  /// It is computed from the heads of frames before any frame is read, so it is the same on every machine. Time outside
  /// of iterations, and iterations that were kept for being slow, are all shown. Throws std::invalid_argument when
  /// there are no iterations to leave out, or more than `most_records_read` records.
  static std::shared_ptr<const Trace> open_thinned(std::shared_ptr<const experiment::Experiment> experiment,
                                                   std::uint64_t most_records, unsigned least_thinned = 0);
  static constexpr std::uint64_t most_records_read = std::uint64_t{1} << 30;  ///< maximum when some are left out
  /// Opens an archive by its anchor file (find_otf2_anchor()). Throws experiment::ReadError.
  static std::shared_ptr<const Trace> open_archive(const std::filesystem::path& anchor,
                                                   const std::function<bool(std::int32_t rank)>& chosen = {});

  /// Null: the events are those of an experiment.
  const Otf2Archive* archive() const { return archive_.get(); }
  /// Only valid without archive().
  const experiment::Experiment& experiment() const { return *experiment_; }
  /// The damage found so far.
  const experiment::DamageLog& damage() const;
  /// Whether some events found no room, are damaged, or may not have been written; what a sample leaves out does not
  /// count. Reads the files for that, and reports damage; of an archive only what was read counts.
  bool may_miss_events() const;
  const std::vector<RankOfTrace>& ranks() const { return ranks_; }
  const std::vector<LocationOfTrace>& locations() const { return locations_; }
  const Communicators& communicators() const { return communicators_; }
  /// Number of records in all frames.
  std::uint64_t records() const;
  /// See open_thinned().
  unsigned thinned() const { return thinned_; }
  /// The end of the trace, nanoseconds since its start; 0 without events.
  std::int64_t end_ns() const { return end_ns_; }
  /// The start of the trace, nanoseconds since the epoch.
  std::int64_t begin_epoch_ns() const { return begin_epoch_ns_; }

  const JobClocks& clocks() const { return job_clocks_; }

  /// Converts ticks of the location's rank to nanoseconds of the trace; records of an archive already contain these.
  std::int64_t time_of(std::uint32_t location, std::int64_t ticks) const {
    if (archive_) return ticks;
    return clocks_[rank_of_location_[location]].time_of(ticks);
  }
  /// The request of a message or collective operation, unique in the trace but for chance: requests are numbered by
  /// process, in an archive by location.
  std::uint64_t request_of(const Event& event) const {
    return format::mixed(event.record.request ^ request_seeds_[event.location]);
  }
  /// The call path of a node of another thread of the same rank; no_path: not known.
  std::uint32_t path_of(std::uint32_t location, std::int32_t thread, std::uint32_t node) const;
  /// The region that a call path ends in; if the path is not known, a region with a word for that.
  const RegionOfTrace& region(std::uint32_t path) const { return regions()[region_index(path)]; }
  std::string region_of(std::uint32_t path) const { return region(path).name; }
  /// All regions of the trace, and the index of the one that a call path ends in.
  const std::vector<RegionOfTrace>& regions() const { return archive_ ? archive_->regions() : regions_; }
  std::uint32_t region_index(std::uint32_t path) const;
  /// Call paths are numbered from 0; those of an archive are known as far as it was read.
  std::size_t path_count() const;
  /// The call path that a call path was called from; no_path: none.
  std::uint32_t parent_of(std::uint32_t path) const;
  /// For an experiment: the REFRAIN_METRICS of any of its ranks.
  const std::vector<MetricOfTrace>& metrics() const { return archive_ ? archive_->metrics() : metrics_; }
  const std::vector<WindowOfTrace>& windows() const;
  /// Index into windows() of the window that the rank calls `id`; -1: not known.
  std::int32_t window_index(std::int32_t rank, std::int32_t id) const {
    return archive_ ? id : windows_.index_of(rank, id);
  }
  // For archives; otherwise empty.
  const std::vector<std::string>& parameters() const;
  const std::vector<std::string>& texts() const;
  /// The value of a Metric event.
  double value_of(const Event& metric) const;

  /// The loop whose iteration a SpanEnd ends; empty: time outside of iterations.
  std::string loop_of(const Event& span) const;

  /// For a sample: one of 2^level iterations of a loop is shown, the same ones on all ranks. By the loop's name; empty:
  /// time outside of iterations.
  const std::map<std::string, unsigned>& levels() const { return levels_; }
  /// The slowest iterations, kept beside the sample: how many ranks have them, by loop and number.
  const std::map<std::pair<std::string, std::int64_t>, std::int32_t>& slowest() const { return slowest_; }
  /// Whether the sample consists of stretches: no loop was marked.
  bool has_stretches() const;
  /// Number of stretches; for a job that was killed, that of one of the ranks.
  std::uint64_t stretches() const { return stretches_ ? stretches_->first : 0; }
  /// Number of stretches of the first thread of each rank that are left out because ranks called different operations.
  std::uint64_t stretches_left_out() const { return differing_stretches_.size(); }
  /// Messages that a location sampled one by one (events/matched_sample.hpp), at its own level; null: none.
  const experiment::MessageSample* sampled_messages(std::uint32_t location) const {
    return archive_ || !sampled_[location] ? nullptr : &*sampled_[location];
  }
  /// One of 2^level messages is sampled on all ranks; nothing: no messages were sampled.
  std::optional<unsigned> level_of_messages() const { return level_of_messages_; }
  /// Whether the iteration is one of the slowest and all ranks have it.
  bool is_slow_on_all(const std::string& loop, std::int64_t iteration) const;
  /// Whether the iteration belongs to the sample: it is kept on all ranks, whether slow or not.
  bool is_sampled(const std::string& loop, std::int64_t iteration) const;
  /// Whether the iteration may be kept because the next one belongs to the sample: locations do that for some of them.
  bool may_precede(const std::string& loop, std::int64_t iteration) const;

  class Reader {
   public:
    /// The next event of all locations; null: there is none. Valid until the next call.
    const Event* next() {
      // One location mostly has several events before the next one of another.
      if (current_) [[likely]] {
        const Event* event = current_->next();
        if (event && event->time_ns < until_ns_) [[likely]]
          return event;
        return next_of_another(event);
      }
      return next_of_another(nullptr);
    }

   private:
    friend class Trace;
    struct Head {
      std::int64_t time_ns;
      std::uint32_t stream;
      const Event* event;
      bool operator>(const Head& other) const {
        return time_ns != other.time_ns ? time_ns > other.time_ns : stream > other.stream;
      }
    };
    const Event* next_of_another(const Event* behind);
    void sink_first();
    std::vector<std::unique_ptr<EventSource>> streams_;
    /// The streams that have events, as a heap with the earliest first. The first head is the event returned last, or
    /// before any was returned its stream's next one; all others are the next events of their streams.
    std::vector<Head> heads_;
    EventSource* current_ = nullptr;  ///< of the first head; null: nothing was returned yet, or everything was
    std::int64_t until_ns_ = 0;       ///< its events before this time are returned first, then the next head is
  };
  /// Where a reader starts, and so which calls it knows to be open.
  enum class Start : std::uint8_t {
    Jump,      ///< near the given time: a path may begin with what was entered since
    FromBegin  ///< all events are read, though only those from the given time on are returned
  };
  static constexpr std::int64_t from_begin = std::numeric_limits<std::int64_t>::min();
  /// Reads these locations; empty: all. Events before `from_ns` are left out, and as far as possible not read. In an
  /// experiment the path of each event is known without earlier events; for an archive see Start.
  Reader read(std::span<const std::uint32_t> locations = {}, std::int64_t from_ns = from_begin,
              Start start = Start::Jump) const;

 private:
  struct Opened;
  /// Clocks run evenly between two measurements, and times are not set yet.
  static Opened assemble(const std::shared_ptr<const experiment::Experiment>& experiment,
                         const std::function<bool(std::int32_t rank)>& chosen,
                         const std::shared_ptr<experiment::DamageLog>& damage);
  void set_times(std::span<const std::shared_ptr<const experiment::Rank>> ranks);
  void add(const experiment::Rank& rank, const std::shared_ptr<experiment::DamageLog>& damage);
  void add_metrics(const experiment::Rank& rank);
  void make_regions();
  void add_sample(const experiment::EventsOfRank& events);
  void choose_slowest();
  format::KeptIterations kept_of(const std::string& loop) const;
  void find_differing_stretches();
  void place_in_time(std::span<const std::shared_ptr<const experiment::Rank>> ranks);
  void thin(unsigned times);
  template <class As>
  void sample(const As& as);
  std::unique_ptr<EventSource> stream_of(std::uint32_t location, std::int64_t from_ns) const;
  /// Null: all spans are shown.
  IsShown shown_spans(std::uint32_t rank) const;

  std::shared_ptr<const experiment::Experiment> experiment_;
  std::unique_ptr<const Otf2Archive> archive_;  ///< has its own regions; null: there is an experiment
  std::vector<RegionOfTrace> regions_;
  std::vector<std::uint32_t> region_of_path_;  ///< of the experiment
  std::vector<RankOfTrace> ranks_;
  std::vector<LocationOfTrace> locations_;
  std::vector<std::shared_ptr<const experiment::EventFile>> files_;  ///< by rank
  std::vector<RankClock> clocks_;                                    ///< by rank
  std::vector<std::vector<std::uint32_t>> paths_;                    ///< by location, by node
  std::vector<std::int64_t> begins_;                                 ///< by location, ticks
  std::vector<MetricOfTrace> metrics_;
  std::vector<std::vector<std::uint32_t>> metrics_of_rank_;        ///< by rank, by its own number of the metric
  std::vector<std::optional<experiment::MessageSample>> sampled_;  ///< by location
  std::optional<unsigned> level_of_messages_;
  std::map<std::string, unsigned> levels_;
  std::map<std::pair<std::string, std::int64_t>, std::int32_t> slowest_;
  /// Number and hash of all stretches, as reported by the rank added last; whether all ranks report the same.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> stretches_;
  bool same_stretches_ = true;
  std::set<std::int64_t> differing_stretches_;
  std::vector<std::vector<bool>> hidden_;        ///< by location, by span; for a sample that was taken afterwards
  std::size_t most_slow_ = 0;                    ///< of any rank
  unsigned thinned_ = 0;                         ///< > 0: files have spans that are not shown
  bool is_agreed_ = true;                        ///< false: files have spans that are not shown
  std::vector<std::uint32_t> rank_of_location_;  ///< index into ranks_
  Communicators communicators_;
  Windows windows_;  ///< of an experiment
  JobClocks job_clocks_;
  std::int64_t begin_epoch_ns_ = 0, end_ns_ = 0;
  std::vector<std::uint64_t> request_seeds_;  ///< by location: distinguishes its requests from those of others
};

}  // namespace refrain::trace
