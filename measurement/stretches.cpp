#include "measurement/stretches.hpp"

#include "format/hashing.hpp"

namespace refrain::measurement {

Stretches::Group& Stretches::group_of(std::uint32_t opened, std::uint32_t closed) {
  constexpr std::size_t slots = 2 * max_groups;
  for (std::size_t at = format::mixed(std::uint64_t{opened} << 32 | closed) % slots;; at = (at + 1) % slots) {
    Group& of = groups_[at];
    if (of.count > 0 && (of.opened != opened || of.closed != closed)) continue;
    if (of.count > 0) return of;
    if (groups_used_ == max_groups) {
      groups_[slots].opened = groups_[slots].closed = events::no_node;
      return groups_[slots];
    }
    ++groups_used_;
    of.opened = opened;
    of.closed = closed;
    return of;
  }
}

events::Record Stretches::close(const events::CallRecord& call, platform::Ticks begin) {
  hash_ = format::mixed(hash_ ^ format::mixed(communicator_ ^ std::uint64_t{call.region}));
  Group& of = group_of(opened_, call.node);
  ++of.count;
  of.time += static_cast<std::uint64_t>(call.time - begin);
  const events::Record record{.kind = events::Kind::Span,
                              .region = events::stretches,
                              .node = call.node,
                              .time = call.time,
                              .begin = begin,
                              .value = static_cast<std::int64_t>(count_++),
                              .begun_node = opened_,
                              .request = hash_};
  opened_ = call.node;
  communicator_ = 0;
  return record;
}

}  // namespace refrain::measurement
