#include "measurement/stretches.hpp"

#include "format/hashing.hpp"

namespace refrain::measurement {

Stretches::Class& Stretches::class_of(std::uint32_t opened, std::uint32_t closed) {
  constexpr std::size_t places = 2 * most_classes;
  for (std::size_t at = format::mixed(std::uint64_t{opened} << 32 | closed) % places;; at = (at + 1) % places) {
    Class& of = classes_[at];
    if (of.count > 0 && (of.opened != opened || of.closed != closed)) continue;
    if (of.count > 0) return of;
    if (classes_used_ == most_classes) {
      classes_[places].opened = classes_[places].closed = events::no_node;
      return classes_[places];
    }
    ++classes_used_;
    of.opened = opened;
    of.closed = closed;
    return of;
  }
}

events::Record Stretches::close(const events::CallRecord& call, platform::Ticks begin) {
  hash_ = format::mixed(hash_ ^ format::mixed(communicator_ ^ std::uint64_t{call.region}));
  Class& of = class_of(opened_, call.node);
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
