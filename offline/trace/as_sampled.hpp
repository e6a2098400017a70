#pragma once
/// What a sample would have kept of a run of which all events were kept: by the code that chooses in a run
/// (events/span_store.hpp), so that one run has the truth and the estimate.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "offline/experiment/events_reader.hpp"
#include "offline/trace/event_stream.hpp"

namespace refrain::trace {

/// As REFRAIN_TRACE=sampled, REFRAIN_TRACE_MEMORY and REFRAIN_TRACE_SLOWEST.
struct AsSampled {
  std::size_t bytes;  ///< of each location
  unsigned slowest = 16;
};

/// An iteration, or time outside of iterations, of one location.
struct SpanOfLocation {
  std::uint32_t region = 0;  ///< of its rank; 0: outside
  std::uint64_t number = 0;  ///< of the iteration; of time outside, which one of the location's
};

/// What one location would have kept.
struct SampleOfLocation {
  std::vector<SpanOfLocation> spans;  ///< all, in order of time
  struct Level {
    std::uint32_t region;
    unsigned level;   ///< one of 2^level is kept
    unsigned sparse;  ///< before one of 2^sparse of these the one before is kept, too
  };
  std::vector<Level> levels;
  std::vector<SpanOfLocation> slowest;
};

/// Reads all events of the thread; what is damaged is left out.
SampleOfLocation sample_of(const experiment::EventFile& file, std::int32_t thread, const AsSampled& as);
/// The same, of a sample that has one of 2^level iterations of each loop, before a part of them the one before, and no
/// slow ones.
SampleOfLocation sample_of(const experiment::EventFile& file, std::int32_t thread, unsigned level);

/// The events of a location without those of hidden spans, which are numbered in order of time.
class SampledStream final : public EventSource {
 public:
  SampledStream(std::unique_ptr<EventSource> all, const std::vector<bool>& hidden)
      : all_(std::move(all)), hidden_(hidden) {}

 private:
  void make_some() override;

  std::unique_ptr<EventSource> all_;
  const std::vector<bool>& hidden_;
  std::size_t span_ = 0;  ///< in progress
};

}  // namespace refrain::trace
