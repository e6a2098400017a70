#pragma once
/// The compound events that a search publishes: what several events of a trace are together. Patterns subscribe to
/// these, and publish further ones.
///
/// Primitive: each event of the trace, before what is made of it.
/// Call: a call is left.
/// Received: a call is left that has received messages; once for each of them.
/// Receiving: such a call is left, and the send of each message is known.
/// Sending: a call is left that has completed sends, and it is known when their receives were posted.
/// Collective: the last process has left a collective operation.
/// JobWide: all processes have left MPI_Init, or MPI_Finalize.
/// WindowWait: a call has waited for what another process does with a window.
/// IdleThreads, of archives: for a time the first thread of a process was at a call path, and others had nothing to do.
/// Waited, by Waits: a call has waited for what another process has begun later, whatever kind of call it is.
/// Sampled: a tick has found the program's own code, outside of MPI.
/// Break: on a location nothing is known of what was before.
/// LateSender, by late_sender: a Receiving that has waited.
/// LateReceiver, by late_receiver: a Sending that has waited.
///
/// References in them are valid during the callback.

#include <cstdint>
#include <span>

#include "offline/trace/collectives.hpp"
#include "offline/trace/functions.hpp"

namespace refrain::patterns {

/// An instance of a region, from its Enter to its Leave.
struct Call {
  std::uint32_t location = 0;
  std::uint32_t path = trace::no_path;
  std::uint32_t region = 0;  ///< index into Trace::regions()
  trace::CallClass call_class{};
  std::uint32_t span = 0;  ///< which one of the location's it was entered in
  std::int64_t enter_ns = 0, leave_ns = 0;
  std::int64_t inner_ns = 0;  ///< of that in calls within it
  std::int64_t off_ns = 0;    ///< of that the thread did not run; see LocationOfTrace::tells_off_cpu
  std::int64_t time_ns() const { return leave_ns - enter_ns; }
};

/// A message, as its receiver sees it.
struct Received {
  const Call& call;  ///< has received it, or completed its receive
  std::uint32_t sender = 0;
  std::uint32_t send_path = trace::no_path;
  std::int64_t send_enter_ns = 0;  ///< of the call that has begun the send
  std::int64_t sent_ns = 0;        ///< of the event in it
  std::int64_t posted_ns = 0;      ///< the call was entered that has posted the receive
  std::int64_t bytes = 0;
  std::int32_t tag = 0;
  bool older_of_source = false,
       older_of_others = false;  ///< messages to the same process that were sent earlier are on their way
};

/// A call that has received messages.
struct Receiving {
  const Call& call;
  const Received& latest;   ///< the message whose send has begun last
  std::int64_t waiting_ns;  ///< until that, at most until the call was left; 0: none
  std::int64_t told_ns;     ///< that this call has waited for a receiver, as a Sending has told before
};

/// A call that has sent messages, or completed their sends.
struct Sending {
  const Call& call;
  std::uint32_t receiver;       ///< that has posted its receive last
  std::uint32_t receiver_path;  ///< of the call that has posted it
  std::int64_t posted_ns;
  std::int64_t waiting_ns;  ///< until that; 0: it was posted after all, or before the call
  std::int64_t told_ns;     ///< that this call has waited for a sender, as a Receiving has told before
};

struct LateSender {
  const Receiving& receiving;
};
struct LateReceiver {
  const Sending& sending;
};

struct Collective {
  const trace::CollectiveOperation& operation;
  std::int64_t last_enter_ns, first_leave_ns;  ///< of all parts
};

/// MPI_Init or MPI_Finalize of all processes.
struct JobWide {
  bool is_init;
  std::span<const Call> calls;
  std::int64_t last_enter_ns;
};

/// A point in time of a location, where a call is entered.
struct Moment {
  std::uint32_t location;
  std::int64_t ns;
  std::uint32_t path;  ///< of the call
};
inline Moment begin_of(const Call& call) { return {call.location, call.enter_ns, call.path}; }

struct WindowWait {
  enum class Of : std::uint8_t {
    Fence,     ///< the last process to enter it
    Post,      ///< that the target begins its exposure
    Complete,  ///< that the origin ends its access
    Unlock     ///< that another process gives back the lock
  } of;
  const Call& call;
  Moment delayer;           ///< what it has waited for begins
  std::int64_t waiting_ns;  ///< until that
  std::int64_t idle_ns;     ///< of Complete: of that, after the origin's last operation
};

struct IdleThreads {
  const Call& first;                    ///< of the first thread, the piece of time in which nothing of this changed
  std::span<const std::uint32_t> idle;  ///< locations of others
  bool are_all;                         ///< no other thread of the process works
};

struct Waited {
  Moment waiter;            ///< the call that waits is entered
  Moment delayer;           ///< what it waits for begins
  std::int64_t waiting_ns;  ///< until that, at most until the call was left
};

/// An event, and which one of the trace it is, as in trace::EventModel.
struct Primitive {
  const trace::Event& event;
  std::uint64_t position;
};

struct Sampled {
  std::uint32_t location;
  std::uint32_t path;
  std::int64_t ns;
  std::int64_t cpu_ns;  ///< that it stands for; 0: not known
};

struct Break {
  std::uint32_t location;
  std::int64_t ns;
};

}  // namespace refrain::patterns
