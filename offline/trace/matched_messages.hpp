#pragma once
/// Messages of a trace that were sampled one by one (events/matched_sample.hpp), where iterations were too large to be
/// kept: which send and which receive are one message, and how long the receiver has waited.
///
/// A message is in the sample when at least one of its ends happened after the sample of that location had begun. The
/// other end is sampled, too, or it is among the events, which have what came before. So each message of the run of
/// which an end was sampled stands for 2^level.
///
/// Memory: all pairs, as many as the locations have sampled. Belongs to one thread.

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "offline/trace/pairing.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::trace {

/// One end of a message, with the call that has begun the send or completed the receive.
struct MessageEnd {
  std::uint32_t location = 0;
  std::int64_t enter_ns = 0, leave_ns = 0;              ///< as times of the trace
  std::uint32_t path = no_path, posted_path = no_path;  ///< the latter of a receive that another call has posted
  std::uint64_t tags_before = 0;
  std::int32_t tag = 0;
  std::int64_t bytes = 0;
  std::uint32_t receives = 0;  ///< that the call has completed; 0: not known, or it is a send
  bool is_sampled = true;      ///< else it is among the events
};

struct MatchedMessage {
  MessageKey key;
  MessageEnd send, receive;
  /// Late sender: for so long the receiver was in its call and the sender not yet.
  std::int64_t waiting_ns() const {
    const std::int64_t until = std::min(send.enter_ns, receive.leave_ns);
    return std::max(until - receive.enter_ns, std::int64_t{0});
  }
};

/// Waiting for late senders, of all messages for which the sample stands. Of what one call completes the longest
/// waiting counts, once. Where all receives of a call are in the sample it is known; otherwise it lies between the mean
/// and the sum of the waiting for its messages.
struct LateSenders {
  double least_ns = 0, most_ns = 0;
};
LateSenders late_senders(std::span<const MatchedMessage> messages, unsigned level);

class MatchedMessages {
 public:
  /// The trace must outlive it. `as_level`: of a trace with all events, as if one of 2^as_level messages had been
  /// sampled.
  explicit MatchedMessages(const Trace& trace, std::optional<unsigned> as_level = {});

  /// With every event of the trace, in order of time: it may have the other end of a message.
  void add(const Event& event);

  /// Messages were sampled.
  bool is_there() const { return level_.has_value(); }
  unsigned level() const { return level_.value_or(0); }
  std::uint64_t ends() const { return ends_; }  ///< that were sampled at that level
  /// Of these, those whose other end is known, as often as messages have them; the rest is alone.
  std::uint64_t alone() const { return alone_ + waiting_.size(); }
  std::uint64_t lost() const { return lost_; }         ///< messages that could not be sampled: they have no number
  std::int64_t begin_ns() const { return begin_ns_; }  ///< when the first location began to sample
  const std::vector<MatchedMessage>& pairs() const { return pairs_; }

 private:
  struct Waiting {
    bool is_send;
    MessageEnd end;
  };
  struct EndOfCall {
    MessageKey key;
    bool is_send;
    MessageEnd end;
  };
  struct OpenCall {
    std::int64_t enter_ns;
    std::uint32_t receives = 0;
    std::vector<EndOfCall> ends = {};
  };
  void add_sampled(std::uint32_t location, const events::SampledMessage& message);
  MessageKey key_of(std::uint32_t location, const events::Record& message) const;
  void match(const MessageKey& key, bool is_send, const MessageEnd& end);
  void add_message(const Event& event, OpenCall& call);
  void end_call(const Event& event, OpenCall& call);

  const Trace& trace_;
  const bool is_of_events_;  ///< all ends are taken from them
  std::optional<unsigned> level_;
  std::uint64_t ends_ = 0, alone_ = 0, lost_ = 0;
  std::int64_t begin_ns_ = 0;
  std::vector<MatchedMessage> pairs_;
  std::unordered_map<MessageKey, Waiting, HashOfMessageKey> waiting_;
  std::vector<std::vector<OpenCall>> calls_;  ///< in progress, by location
};

}  // namespace refrain::trace
