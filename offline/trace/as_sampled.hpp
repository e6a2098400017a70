#pragma once
/// What a sample would have kept of a run in which all events were kept. The code that chooses during a run
/// (events/span_store.hpp) makes the choice, so one run provides both the truth and the estimate.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "offline/experiment/events_reader.hpp"
#include "offline/trace/event_stream.hpp"

namespace refrain::trace {

/// Corresponds to REFRAIN_TRACE=sampled, REFRAIN_TRACE_MEMORY and REFRAIN_TRACE_SLOWEST.
struct AsSampled {
  std::size_t bytes;  ///< memory of each location
  unsigned slowest = 16;
};

/// An iteration, or time outside of iterations, of one location.
struct SpanOfLocation {
  std::uint32_t region = 0;  ///< in the numbering of the rank; 0: outside of iterations
  std::uint64_t number = 0;  ///< of the iteration; outside of iterations, the span's index among those of the location
};

/// What one location would have kept.
struct SampleOfLocation {
  std::vector<SpanOfLocation> spans;  ///< all spans, in order of time
  struct Level {
    std::uint32_t region;
    unsigned level;   ///< one of 2^level is kept
    unsigned sparse;  ///< one of 2^sparse kept iterations has its predecessor kept, too
  };
  std::vector<Level> levels;
  std::vector<SpanOfLocation> slowest;
};

/// Reads all events of the thread and skips damaged ones.
SampleOfLocation sample_of(const experiment::EventFile& file, std::int32_t thread, const AsSampled& as);
/// As above, for a sample that has one of 2^level iterations of each loop, the predecessors of some of them, and no
/// slow ones.
SampleOfLocation sample_of(const experiment::EventFile& file, std::int32_t thread, unsigned level);

/// The events of a location without those of hidden spans. `hidden` is by span, in order of time.
class SampledStream final : public EventSource {
 public:
  SampledStream(std::unique_ptr<EventSource> all, const std::vector<bool>& hidden)
      : all_(std::move(all)), hidden_(hidden) {}

 private:
  void make_some() override;

  std::unique_ptr<EventSource> all_;
  const std::vector<bool>& hidden_;
  std::size_t span_ = 0;  ///< index of the span in progress
};

}  // namespace refrain::trace
