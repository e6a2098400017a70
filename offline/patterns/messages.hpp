#pragma once
/// The messages of a search: turns sends and receives, and what becomes known of each later, into Received, Receiving
/// and Sending.
///
/// A call that moved messages is a node here until everything about it is known: the send of each message that it
/// received and, for each send that it completed, when the receive was posted.

#include <cstdint>
#include <vector>

#include "offline/patterns/in_flight.hpp"
#include "offline/patterns/search.hpp"
#include "offline/trace/open_requests.hpp"

namespace refrain::patterns {

/// In a distributed search, a send whose receiver belongs to another process, as sent to that process. Call paths are
/// not sent: only causes need to know which call it was.
struct RemoteSend {
  std::uint64_t number;  ///< sequence number among the sends from process to process, from 0 on
  std::int64_t time_ns, enter_ns;
  std::int64_t bytes;
  std::uint64_t request, ordinal, tags_before;
  std::uint32_t location;
  std::int32_t tag, communicator, peer;
  events::Phase phase;
  std::uint64_t iteration;  ///< see Search::iteration_of()
};
/// What became of a RemoteSend.
struct Answer {
  std::uint64_t number;
  std::int64_t posted_ns;
  std::uint32_t receiver;
  bool is_paired, is_crossing, is_posted_unseen;  ///< as in Operation
};
/// A send was cancelled.
struct Cancelled {
  std::int64_t sent_ns;
  std::uint32_t sender;
  std::int32_t to;  ///< rank of the job
};

class Search::Messages {
 public:
  explicit Messages(Search& search);

  // For a distributed search. All sends to own ranks must come in order of time, from whichever process.
  void add(const RemoteSend& send, int from_process);
  void take(const Answer& answer, int from_process);
  void take(const Cancelled& cancelled);
  /// The rank of the job at the other end of the event's message.
  std::int32_t other_end(const trace::Event& event) { return pairing_.ends_of(event).other; }
  /// What is sent to another process; for_others() is by process.
  struct ForOthers {
    std::vector<Answer> answers;
    std::vector<Cancelled> cancelled;
  };
  std::vector<ForOthers>& for_others() { return for_others_; }

  /// Adds a Communication event of a message within a call. `node`: the node of the call, created if it is 0.
  void add(const trace::Event& event, const Call& call, std::uint32_t& node);
  /// The call is left.
  void leave(const Call& call, std::uint32_t node);
  /// From here on events of the location are missing ...
  void begin_gap(std::uint32_t location);
  /// ... until then.
  void end_gap(std::uint32_t location, std::int64_t ns);
  void finish();
  trace::MessageCounts counts() const {
    trace::MessageCounts counts = pairing_.counts();
    counts.left_out[static_cast<std::size_t>(trace::LeftOut::Forgotten)] += forgotten_;
    return counts;
  }
  std::uint64_t violations() const { return violations_; }

 private:
  static constexpr std::uint32_t none = 0;
  struct Node {
    Call call;  ///< valid once it is left
    bool is_left = false;
    std::uint32_t receives = none;  ///< first of its list, see Operation::next
    std::uint32_t receives_pending = 0, sends_pending = 0, sends = 0;
    std::uint32_t holders = 0;  ///< number of operations that refer to it, and its frame
    std::uint32_t receiver = 0, posted_path = trace::no_path;
    std::int64_t posted_ns = INT64_MIN;  ///< when the last receive of its sends was posted
    std::int64_t told_ns = 0;            ///< waiting time that was published
    bool has_receiving = false;
    // About the sends that it completed.
    bool has_unknown = false;   ///< when the receive of one was posted is not known
    bool has_crossing = false;  ///< the receive of one was completed or posted in another iteration
    bool is_untold = false;     ///< its time was added to untold_messages
  };
  /// A send or a receive.
  struct Operation {
    std::uint32_t call = none;       ///< for a send: the call that began it; for a receive: the call that completed it
    std::uint32_t completed = none;  ///< for a send: the call that completed it
    std::uint32_t next = none;       ///< for a receive: the next one of its call
    bool is_paired = false, is_alone = false, is_completed = false;
    // Only in a sample.
    std::uint64_t iteration = 0;    ///< see Search::iteration_of()
    bool is_crossing = false;       ///< received in another iteration than sent; for a send, also if posted in another
    bool is_posted_unseen = false;  ///< the receive was posted in an iteration that was not kept
    bool is_posted_before = false;  ///< for a receive: it was posted in another iteration
    std::int64_t posted_ns = 0;
    std::uint32_t posted_path = trace::no_path;
    // About the message once it is paired, or about the send.
    std::uint32_t sender = 0, send_path = trace::no_path, receiver = 0;
    std::int64_t send_enter_ns = 0, sent_ns = 0, bytes = 0;
    std::int32_t tag = 0;
    std::int32_t to = -1;       ///< for a send: destination, as a rank of the job
    std::uint64_t flight = 0;   ///< for a send: its number among the sends to that rank
    std::uint64_t number = 0;   ///< for a send from another process: RemoteSend::number
    std::int32_t process = -1;  ///< process of that send; -1: the own process
  };
  struct Flight {
    std::int64_t sent_ns;
    std::uint32_t sender;
  };
  /// Messages that were sent to a rank and not yet received, in order of time.
  struct Flights {
    InFlight<Flight> open;
    std::int64_t known_since_ns = INT64_MIN;  ///< earlier messages may have arrived unseen
    std::uint32_t gaps = 0;                   ///< number of gaps in progress, in which messages may arrive unseen
    void land(std::int64_t sent_ns, std::uint32_t sender);
  };

  std::uint32_t make_operation();
  void free_operation(std::uint32_t operation);
  std::uint32_t node_of(std::uint32_t& node);
  void let_go(std::uint32_t node);
  void pair(const trace::MessagePair& pair);
  void alone(const trace::MessageEvent& event, bool is_send);
  void land(const Operation& send);
  void answer(const Operation& send);
  int process_of(std::int32_t rank) const;
  void complete_send(std::uint32_t operation);
  void forget_unfinished();
  void forget_older();
  void add_time(std::uint32_t node, bool has_unknown, Quantity unknown, Quantity crossing);
  /// Whether some begins of sends or posts of receives are not known.
  bool misses_begins() const { return search_.counts_.is_sample || search_.counts_.gaps > 0 || forgotten_ > 0; }
  std::uint64_t iteration_of(const trace::Event& event) const;
  static bool are_apart(std::uint64_t a, std::uint64_t b) { return a != b || a == 0; }
  void tell_receiving(std::uint32_t node);
  void tell_sending(std::uint32_t node);
  void find_older(Received& received, std::int32_t to, std::int64_t since_ns);

  Search& search_;
  trace::Pairing pairing_;
  Flights& flights_to(std::int32_t rank);
  Flights& flights_to_location(std::uint32_t location) { return flights_to(search_.trace_.locations()[location].rank); }
  std::vector<Node> nodes_;            ///< the first entry stands for none
  std::vector<Operation> operations_;  ///< likewise
  std::vector<std::uint32_t> free_nodes_, free_operations_;
  trace::RequestTable<std::uint32_t> begun_;  ///< sends in progress
  struct Posted {
    std::int64_t ns = INT64_MIN;
    std::uint32_t path = trace::no_path;
    std::uint64_t iteration = 0;
  };
  trace::RequestTable<Posted> posted_;               ///< receives in progress
  std::vector<Flights> flights_;                     ///< by rank + 1; the first entry: ranks that are not in the trace
  std::vector<InFlight<std::uint32_t>> unanswered_;  ///< own sends (operations), by receiving process
  std::vector<ForOthers> for_others_;
  trace::Event remote_event_;    ///< the send of another process that was added last
  std::size_t most_open_;        ///< maximum number of requests of sends, and of receives
  std::uint64_t forgotten_ = 0;  ///< number of forgotten requests of both
  std::uint64_t violations_ = 0;
};

}  // namespace refrain::patterns
