#pragma once
/// What happened on a location, one record each: a call, what it communicated, a sample of user code, a mark. Records
/// are made on the stack and handed over at once (consumers.hpp); the profile has what it needs of them already.
///
/// Times are ticks of the clock (platform/clock.hpp), ranks are those in the communicator or window.

#include <cstdint>

#include "events/message_numbers.hpp"
#include "measurement/open_call.hpp"
#include "measurement/span.hpp"

namespace refrain::measurement {

/// A call that has ended.
struct CallRecord {
  RegionId region;
  ClassOfTime time;
  bool is_whole;  ///< false: it was left by a jump, or still in progress when the measurement ended; `end` is till when
                  ///< it was seen
  bool is_within;  ///< another call, which goes on
  NodeId node;     ///< call path
  platform::Ticks begin, end;
};

/// Where an operation was begun that another call completes, perhaps on another thread.
struct BegunAt {
  std::int32_t thread;  ///< Location::thread
  NodeId node;          ///< call path there
};

/// An operation on a request that has no number: there is none, or it could not be tracked.
inline constexpr std::uint64_t no_request = 0;

using events::any_peer, events::no_peer, events::this_side, events::any_tag, events::exclusive_lock;
inline constexpr std::int32_t unknown_communicator = -1;

/// What a call has sent, received, begun or completed: one record per message, collective operation, one-sided
/// operation, access to a file, or synchronization of a window.
struct Communication {
  enum class Kind : std::uint8_t {
    Send,
    Receive,
    Collective,
    OneSided,
    Read,
    Write,
    Communicator,
    Generalized,
    Synchronization = 16  ///< always whole
  };
  enum class Phase : std::uint8_t {
    Whole,      ///< begun and completed by this call
    Begun,      ///< completed by another, under the number `request`
    Completed,  ///< begun by another: `begun`
    Cancelled,  ///< likewise, and nothing was moved
  };
  Kind kind;
  Phase phase;
  /// Source, destination, root or target; any_peer: a receive that takes any, of which the source is not known yet;
  /// no_peer: an operation without one. Of a rooted operation on an intercommunicator the root has this_side, the
  /// others on its side no_peer.
  std::int32_t peer;
  /// Of messages; any_tag as above. Of Synchronization exclusive_lock or any_tag.
  std::int32_t tag;
  std::int32_t communicator;                ///< its id (definitions.hpp); of OneSided and Synchronization the window's
  std::uint64_t request;                    ///< number of the request: never used again in this process
  BegunAt begun;                            ///< of Completed and Cancelled
  std::int64_t bytes_sent, bytes_received;  ///< also put and got, written and read
  events::MessageNumber number{};           ///< of records that have one (events::has_number()), when they are numbered
  std::uint64_t of_all = 0;  ///< of Collective on a communicator of all processes: its identity (definitions.hpp)
};

/// A tick that found the program's own code.
struct SampleRecord {
  NodeId node;
  std::int64_t weight_ns;  ///< CPU time that it stands for
  platform::Ticks at;
};

/// A loop or region of the program begins or ends.
struct MarkRecord {
  enum class Kind : std::uint8_t { Begin, End };
  Kind kind;
  bool is_loop;
  bool is_whole;  ///< false: it was left without its end
  RegionId region;
  NodeId node;
  platform::Ticks at;
};

/// The metrics that the user has asked for were read: `Location::extra` has what was read, counted_of() what was
/// counted.
struct ReadingRecord {
  platform::Ticks at;
  bool in_call;  ///< at the end of a call, whose record is yet to come
};

/// The unit in progress of a location has ended: an iteration, or time outside of iterations. Of a thread that follows
/// the iterations of another, spans in which nothing has happened there come one by one, too.
struct CutRecord {
  SpanOf of;
  platform::Ticks end;
  bool in_call;  ///< a call is in progress then
};

}  // namespace refrain::measurement
