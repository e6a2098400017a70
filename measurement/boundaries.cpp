#include "measurement/boundaries.hpp"

namespace refrain::measurement {

using platform::Ticks;

namespace {

struct KeptSpan {
  std::atomic<Ticks> begin, outside;
  std::atomic<IterationId> iteration;
};
constinit KeptSpan spans[kept_spans]{};

KeptSpan& kept(std::uint64_t index) { return spans[index % kept_spans]; }

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

Span span_at(std::uint64_t index) {
  const KeptSpan& span = kept(index);
  return {span.begin.load(relaxed), span.outside.load(relaxed), span.iteration.load(relaxed)};
}

bool spans_are_kept_since(std::uint64_t index) {
  std::atomic_thread_fence(std::memory_order_acquire);
  // end_span() may be overwriting the oldest one now.
  return published_epoch.load(relaxed) - index < kept_spans - 1;
}

void end_span(Ticks now, IterationId iteration) {
  const std::uint64_t epoch = published_epoch.load(relaxed);
  KeptSpan& ended = kept(epoch);
  KeptSpan& next = kept(epoch + 1);
  std::atomic_thread_fence(std::memory_order_release);  // a reader that sees the next slot change sees this epoch, too
  ended.iteration.store(iteration, relaxed);
  const Ticks outside = iteration == outside_of_iterations ? now - ended.begin.load(relaxed) : 0;
  next.begin.store(now, relaxed);
  next.outside.store(ended.outside.load(relaxed) + outside, relaxed);
  published_epoch.store(epoch + 1, std::memory_order_release);
}

}  // namespace refrain::measurement
