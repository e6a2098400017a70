#pragma once
/// Messages of a trace that were sampled one by one (events/matched_sample.hpp), where iterations were too large to be
/// kept: which send and which receive are one message, and how long the receiver waited.
///
/// A message is in the sample when at least one of its ends happened after its location had begun to sample. The other
/// end is sampled, too, or is among the events, which contain what came before. So each message of the run that has a
/// sampled end stands for 2^level messages.
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

/// One end of a message, with the call that began the send or completed the receive.
struct MessageEnd {
  std::uint32_t location = 0;
  std::int64_t enter_ns = 0, leave_ns = 0;              ///< as times of the trace
  std::uint32_t path = no_path, posted_path = no_path;  ///< posted_path: of a receive that another call posted
  std::uint64_t tags_before = 0;
  std::int32_t tag = 0;
  std::int64_t bytes = 0;
  std::uint32_t receives = 0;  ///< receives that the call completed; 0: not known, or a send
  bool is_sampled = true;      ///< false: taken from the events
};

struct MatchedMessage {
  MessageKey key;
  MessageEnd send, receive;
  /// Late sender: how long the receiver was in its call before the sender entered its own.
  std::int64_t waiting_ns() const {
    const std::int64_t until = std::min(send.enter_ns, receive.leave_ns);
    return std::max(until - receive.enter_ns, std::int64_t{0});
  }
};

/// Time waited for late senders, over all messages that the sample stands for. Of all messages that a call completes,
/// the longest wait counts, once. It is known where all receives of a call are in the sample; otherwise it lies between
/// the mean and the sum of the waits for its messages.
struct LateSenders {
  double least_ns = 0, most_ns = 0;
};
LateSenders late_senders(std::span<const MatchedMessage> messages, unsigned level);

class MatchedMessages {
 public:
  /// The trace must outlive it. `as_level`: for a trace with all events, as if one of 2^as_level messages had been
  /// sampled.
  explicit MatchedMessages(const Trace& trace, std::optional<unsigned> as_level = {});

  /// Takes every event of the trace, in order of time: it may be the other end of a message.
  void add(const Event& event);

  /// Whether messages were sampled.
  bool is_there() const { return level_.has_value(); }
  unsigned level() const { return level_.value_or(0); }
  std::uint64_t ends() const { return ends_; }  ///< ends sampled at that level
  /// Number of these ends whose other end is not known.
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
  const bool is_of_events_;  ///< all ends are taken from the events
  std::optional<unsigned> level_;
  std::uint64_t ends_ = 0, alone_ = 0, lost_ = 0;
  std::int64_t begin_ns_ = 0;
  std::vector<MatchedMessage> pairs_;
  std::unordered_map<MessageKey, Waiting, HashOfMessageKey> waiting_;
  std::vector<std::vector<OpenCall>> calls_;  ///< in progress, by location
};

}  // namespace refrain::trace
