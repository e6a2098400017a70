#pragma once
/// The compound events that a search publishes: each combines several events of a trace. Patterns subscribe to them,
/// and publish further ones.
///
/// Primitive: an event of the trace, before the compound events that are made from it.
/// Call: a call is left.
/// Received: a call that received messages is left; published once for each message.
/// Receiving: a call that received messages is left, and the send of each message is known.
/// Sending: a call that completed sends is left, and it is known when their receives were posted.
/// Collective: the last process has left a collective operation.
/// JobWide: all processes have left MPI_Init or MPI_Finalize.
/// WindowWait: a call waited for what another process does with a window.
/// IdleThreads, in archives: for some time the first thread of a process was at a call path while others were idle.
/// Waited, published by Waits: a call of any kind waited for something that another process began later.
/// Sampled: a tick found the program's own code, outside of MPI.
/// Break: nothing is known of what happened on a location before.
/// LateSender, published by late_sender: a Receiving that waited.
/// LateReceiver, published by late_receiver: a Sending that waited.
///
/// References in compound events are valid during the callback.

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
  std::uint32_t span = 0;  ///< number of the location's span in which the call was entered
  std::int64_t enter_ns = 0, leave_ns = 0;
  std::int64_t inner_ns = 0;    ///< part of that in nested calls
  std::int64_t off_cpu_ns = 0;  ///< part of it in which the thread did not run, as far as its event says
  std::int64_t time_ns() const { return leave_ns - enter_ns; }
};

/// A message, as its receiver sees it.
struct Received {
  const Call& call;  ///< the call that received it or completed its receive
  std::uint32_t sender = 0;
  std::uint32_t send_path = trace::no_path;
  std::int64_t send_enter_ns = 0;  ///< when the call that began the send was entered
  std::int64_t sent_ns = 0;        ///< time of the send event in that call
  std::int64_t posted_ns = 0;      ///< when the call that posted the receive was entered
  std::int64_t bytes = 0;
  std::int32_t tag = 0;
  bool older_of_source = false,
       older_of_others = false;  ///< earlier messages to the same process are still in flight
};

/// A call that received messages.
struct Receiving {
  const Call& call;
  const Received& latest;   ///< the message whose send began last
  std::int64_t waiting_ns;  ///< until that send began, at most until the call was left; 0: none
  std::int64_t told_ns;     ///< waiting for a receiver that a Sending has already reported for this call
};

/// A call that sent messages or completed their sends.
struct Sending {
  const Call& call;
  std::uint32_t receiver;       ///< the receiver that posted its receive last
  std::uint32_t receiver_path;  ///< call path of the call that posted it
  std::int64_t posted_ns;
  std::int64_t waiting_ns;  ///< until then; 0: it was posted before the call, or after the call was left
  std::int64_t told_ns;     ///< waiting for a sender that a Receiving has already reported for this call
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

/// The time at which a call is entered on a location.
struct Moment {
  std::uint32_t location;
  std::int64_t ns;
  std::uint32_t path;  ///< call path of the call
};
inline Moment begin_of(const Call& call) { return {call.location, call.enter_ns, call.path}; }

struct WindowWait {
  enum class Of : std::uint8_t {
    Fence,     ///< waits for the last process to enter the fence
    Post,      ///< waits until the target begins its exposure
    Complete,  ///< waits until the origin ends its access
    Unlock     ///< waits until another process releases the lock
  } of;
  const Call& call;
  Moment delayer;           ///< start of what the call waited for
  std::int64_t waiting_ns;  ///< until then
  std::int64_t idle_ns;     ///< for Complete: part of `waiting_ns` after the origin's last operation
};

struct IdleThreads {
  const Call& first;                    ///< of the first thread, limited to the interval in which none of this changed
  std::span<const std::uint32_t> idle;  ///< locations of idle threads
  bool are_all;                         ///< no other thread of the process works
};

struct Waited {
  Moment waiter;            ///< when the waiting call was entered
  Moment delayer;           ///< start of what it waited for
  std::int64_t waiting_ns;  ///< until then, at most until the call was left
};

/// An event and its position in the trace, as in trace::EventModel.
struct Primitive {
  const trace::Event& event;
  std::uint64_t position;
};

struct Sampled {
  std::uint32_t location;
  std::uint32_t path;
  std::int64_t ns;
  std::int64_t cpu_ns;  ///< CPU time that the sample stands for; 0: not known
};

struct Break {
  std::uint32_t location;
  std::int64_t ns;
};

}  // namespace refrain::patterns
