#include "offline/trace/clock_bounds.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "offline/trace/trace.hpp"

namespace refrain::trace {

ClockBounds::ClockBounds(const Trace& trace, Take take)
    : trace_(trace),
      take_(std::move(take)),
      pairing_(pairing_of(trace,
                          [this](const MessagePair& pair) {
                            const std::uint32_t from = machines_[pair.send.location];
                            const std::uint32_t to = machines_[pair.receive.location];
                            if (from != to) take_({from, pair.send.time_ns, to, pair.receive.time_ns});
                          })),
      collectives_(trace, [this](const CollectiveOperation& operation) { tell(operation); }),
      several_(!trace.archive() && trace.clocks().machines() > 1),
      enter_ns_(trace.locations().size()) {
  for (const LocationOfTrace& of : trace.locations())
    machines_.push_back(several_ ? trace.clocks().machine_of(of.rank) : 0);
}

void ClockBounds::add(const Event& event) {
  pairing_.add(event);
  if (!several_) return;
  if (event.type == Type::Communication && event.record.kind == events::Kind::Collective)
    collectives_.add(event, {enter_ns_[event.location], event.path});
  else if (event.type == Type::Enter) enter_ns_[event.location] = event.time_ns;
  else if (event.type == Type::Leave) collectives_.leave(event, enter_ns_[event.location]);
}

namespace {

struct Side {
  std::optional<std::int64_t> last_enter, first_leave;
};

/// In these functions a process need not wait for a peer that sends it nothing.
bool is_irregular(std::string_view function) {
  return function.find("lltoallv") != std::string_view::npos || function.find("lltoallw") != std::string_view::npos;
}

}  // namespace

/// Compares each machine with the first one, and with the one before it.
void ClockBounds::tell(const CollectiveOperation& operation) const {
  const bool is_barrier = operation.exchange == Exchange::Barrier;
  if (!is_barrier && operation.exchange != Exchange::AllToAll) return;
  if (is_irregular(trace_.regions()[operation.region].name)) return;
  std::map<std::uint32_t, Side> machines;
  for (const CollectivePart& part : operation.parts) {
    Side& side = machines[machines_[part.location]];
    if (is_barrier || part.bytes_sent > 0)
      side.last_enter = std::max(side.last_enter.value_or(part.begin_ns), part.begin_ns);
    if (is_barrier || part.bytes_received > 0)
      side.first_leave = std::min(side.first_leave.value_or(part.leave_ns), part.leave_ns);
  }
  const auto both = [&](const auto& one, const auto& other) {
    for (const auto& [before, after] : {std::pair{&one, &other}, std::pair{&other, &one}})
      if (before->second.last_enter && after->second.first_leave)
        take_({before->first, *before->second.last_enter, after->first, *after->second.first_leave});
  };
  for (auto at = std::next(machines.begin()); at != machines.end(); ++at) {
    both(*machines.begin(), *at);
    if (const auto before = std::prev(at); before != machines.begin()) both(*before, *at);
  }
}

void ClockBounds::finish() {
  pairing_.finish();
  collectives_.finish();
}

ClockCorrection correction_of(const Trace& trace) {
  ClockCorrection correction = trace.clocks().correction(trace.end_ns());
  ClockBounds bounds(trace, [&](const ClockBound& of) {
    correction.add(of.before_machine, of.before_ns, of.after_machine, of.after_ns);
  });
  auto reader = trace.read();
  while (const Event* event = reader.next()) bounds.add(*event);
  bounds.finish();
  correction.solve();
  return correction;
}

}  // namespace refrain::trace
