#pragma once
/// The samples of single iterations, as they were recorded. What they say of one iteration is mostly chance; over many
/// iterations they add up to what is true.

#include <cstdint>
#include <vector>

#include "offline/experiment/iteration_frames_reader.hpp"
#include "offline/experiment/sample_reader.hpp"

namespace refrain::run {

struct SampledPath {
  std::uint32_t path;  ///< of the profile
  std::int64_t samples;
};

/// Of one loop of one location. Not thread-safe.
class IterationSamples {
 public:
  /// Reads them from the file. There are none when they are damaged.
  IterationSamples(const experiment::ProfileDefinitions& profile, const experiment::Rank& rank,
                   const experiment::Loop& loop);
  // The reader looks into the data.
  IterationSamples(const IterationSamples&) = delete;
  IterationSamples& operator=(const IterationSamples&) = delete;

  bool any() const { return !stored_.data.empty(); }
  /// One in so many iterations may be here.
  std::uint64_t stride() const { return stored_.kept.stride(); }
  /// Ascending by path; null: those of this iteration were not kept. Valid until the next call; cheap when iterations
  /// ascend from call to call.
  const std::vector<SampledPath>* of(std::int64_t iteration);
  /// Whether they were kept; as cheap, and what of() has returned stays valid.
  bool keeps(std::int64_t iteration);

 private:
  void restart();
  bool take();

  const experiment::ProfileDefinitions& profile_;
  experiment::StoredSamples stored_;
  experiment::SampleReader reader_;
  std::size_t samples_column_ = 0;
  bool open_ = false, here_ = false;
  std::vector<SampledPath> paths_;
};

}  // namespace refrain::run
