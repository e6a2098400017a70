#pragma once
/// The listener to what happens on a location, beside its profile: it keeps events (event_log.hpp).
///
/// One byte of the location says whether it listens there: these functions are to be called where
/// `Location::keeps_events` is set. Each is called inside a scope, on the location's thread, in its ticks, or by the
/// thread that has paused it; all are async-signal-safe and write to what belongs to the location alone.
///
/// Records are made on the stack where something happens. Order, on one location: what a call has sent, received, begun
/// and completed comes before the record of the call. Nothing is kept of calls that begin while the measurement is
/// stopped. A call that was left by a jump, or is in progress when its thread or the measurement ends, has a record
/// that is not whole.

#include "events/message_numbers.hpp"
#include "measurement/span.hpp"

namespace refrain::measurement {

/// Events are kept, of locations that have memory for them: so messages have sequence numbers. Constant after the first
/// location was made.
bool events_are_kept();

/// The call in progress ends at `end`.
void keep_call(Location& location, platform::Ticks end, bool is_whole);
/// A sample, a mark, or what the call in progress has done, without a sequence number.
void keep(Location& location, const events::Record& record);
/// A message or collective operation of the call in progress that has a sequence number (events::has_number).
void keep(Location& location, events::Record& record, const events::MessageNumber& number);
/// The call in progress is a blocking collective operation on the communicator of all processes with this identity
/// (definitions.hpp).
void keep_synchronization_of_all(Location& location, std::uint64_t identity);
/// The metrics of REFRAIN_METRICS were read at `at`. `in_call`: at the end of a call, whose record is yet to come.
void keep_reading(Location& location, platform::Ticks at, bool in_call);
/// The unit in progress has ended: an iteration, or time outside of iterations. `in_call`: a call is in progress, which
/// goes on and has one record, at its end. The metrics have been read; there is no keep_reading() of it. On a thread
/// that follows the iterations of another, spans in which nothing has happened come one by one, too.
void keep_span(Location& location, SpanOf of, platform::Ticks end, bool in_call);
/// The thread ends; the next one goes on with the location.
void keep_end_of_thread(Location& location);
/// The thread has left Refrain's bookkeeping by a jump: any of these functions may have been left at any instruction.
void mend_events(Location& location);

}  // namespace refrain::measurement
