#pragma once
/// Which process waits for which in a collective operation: the semantics of the MPI standard for each kind of
/// operation (chapter "Collective Communication"), for patterns of waiting and the causes of waiting.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "offline/patterns/compound_events.hpp"
#include "offline/trace/collectives.hpp"

namespace refrain::patterns {

/// Calls `take(part, last)` for each part of the operation that needs others: `last` is the part that began last among
/// those that it needs (the part itself, if all others began before).
template <class Take>
void for_each_dependence(const trace::CollectiveOperation& operation, const Take& take) {
  using trace::CollectivePart;
  using trace::Exchange;
  const auto& parts = operation.parts;
  if (parts.empty()) return;
  const auto last_of_all = [&] { return std::ranges::max_element(parts, {}, &CollectivePart::begin_ns); };
  const auto root = [&] { return std::ranges::find(parts, true, &CollectivePart::is_root); };
  switch (operation.exchange) {
    case Exchange::None: return;
    case Exchange::Barrier:
    case Exchange::AllToAll: {
      const auto last = last_of_all();
      for (const CollectivePart& part : parts) take(part, *last);
      return;
    }
    case Exchange::OneToAll: {
      const auto of = root();
      if (of == parts.end()) return;
      for (const CollectivePart& part : parts) take(part, *of);
      return;
    }
    case Exchange::AllToOne:
      if (const auto of = root(); of != parts.end()) take(*of, *last_of_all());
      return;
    case Exchange::Prefix: {
      std::vector<const CollectivePart*> by_position;
      for (const CollectivePart& part : parts) by_position.push_back(&part);
      std::ranges::sort(by_position, {}, &CollectivePart::position);
      const CollectivePart* last = by_position.front();
      for (const CollectivePart* part : by_position) {
        take(*part, *last);
        if (part->begin_ns > last->begin_ns) last = part;
      }
    }
  }
}

/// The call in which a process took its part. The region and class of the call are not known.
inline Call call_of(const trace::CollectivePart& part) {
  Call call;
  call.location = part.location;
  call.path = part.path;
  call.span = part.span;
  call.enter_ns = part.enter_ns;
  call.leave_ns = part.leave_ns;
  call.inner_ns = part.inner_ns;
  return call;
}

/// Time that a part spends in its call until `until_ns`, in ns; 0 if that is before the call.
inline std::int64_t time_in_call_until(const trace::CollectivePart& part, std::int64_t until_ns) {
  return std::max(std::min(until_ns, part.leave_ns) - part.enter_ns, std::int64_t{0});
}

}  // namespace refrain::patterns
