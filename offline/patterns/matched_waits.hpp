#pragma once
/// Waiting for the other side of messages that were sampled one by one (trace/matched_messages.hpp): for programs whose
/// iterations or stretches are too large to be kept, and for programs without either.
///
/// A ratio estimator: the share of waiting in the time of the sampled calls, times the exact time of all such calls
/// (Cochran, Sampling Techniques, chapter 6). Waiting is concentrated in few messages, such as the first of a wave, so
/// a sample of some hundred messages may have none of these. Their calls are long, and the exact time shows that they
/// are missing: time beyond what the sample stands for may or may not have been waiting. The same holds for the time of
/// messages that could not be sampled.

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "offline/patterns/analysis.hpp"
#include "offline/run/quantities.hpp"

namespace refrain::patterns {

struct MatchedWait {
  std::uint32_t node;
  double ns = 0;                  ///< waiting time of the run
  run::Replicates replicates;     ///< the matched messages are the same at all nodes
  std::uint64_t messages = 0;     ///< in the sample
  bool is_late_receiver = false;  ///< else late sender
};

class MatchedWaits {
 public:
  /// The trace must outlive this object. `as_level`: uses a trace with all events as if one of 2^as_level messages had
  /// been sampled.
  explicit MatchedWaits(const trace::Trace& trace, std::optional<unsigned> as_level = {});
  ~MatchedWaits();
  MatchedWaits(const MatchedWaits&) = delete;
  MatchedWaits& operator=(const MatchedWaits&) = delete;
  /// To be called with every event of the trace, in order of time.
  void add(const trace::Event& event);
  /// The waits of call paths that received messages of the sample, and of blocking sends, if calls with such messages
  /// have at least half of the time: in a loop over MPI_Test nearly all calls have none. Ascending by node. Empty: no
  /// messages were sampled.
  std::vector<MatchedWait> by(const Naming& naming) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;  ///< null: no messages were sampled
};

/// What is known about one end of messages at a call path and location, or at several of these. Messages with the same
/// number belong together: a number is sampled on all channels or on none.
class MatchedSide {
 public:
  struct Message {
    std::uint64_t number;
    double time_ns;     ///< of its call, divided by the number of messages that the call completed
    double waiting_ns;  ///< for this message
  };
  /// The sums over all such calls.
  struct Whole {
    double time_ns = 0;
    double messages = 0;
    double before = 0;  ///< those of `messages` before the sample began
    double weight = 1;  ///< number of messages that one of the sample stands for
  };
  /// `least_ns`, `most_ns`: waiting for these messages; only the longest wait of a call that completes several counts.
  void add(const std::vector<Message>& messages, double least_ns, double most_ns, const Whole& whole);

  /// Adds time of other calls: their share of waiting is assumed to be the same, but may be any.
  void add_rest(double ns);
  double time_ns() const { return time_ns_; }

  std::uint64_t messages() const { return messages_; }
  std::size_t numbers() const { return of_number_.size(); }
  double ns() const { return ns_; }
  /// A message has the same signs at both of its ends and everywhere. `place`: a number of this object, for doubts that
  /// concern it alone.
  run::Replicates replicates(std::int64_t place) const;

 private:
  struct OfNumber {
    double residual_ns = 0;  ///< by how much its messages waited longer than others, for the run
    double time_ns = 0;      ///< time that they stand for
  };
  std::map<std::uint64_t, OfNumber> of_number_;
  double ns_ = 0, range_ns_ = 0, time_ns_ = 0;
  double open_ns_ = 0, beside_middle_ns_ = 0;  ///< time of which nothing is known; how far its share is from half
  double unseen_time_ns_ = 0;                  ///< in calls with messages that are not in the sample
  std::uint64_t messages_ = 0;
};

}  // namespace refrain::patterns
