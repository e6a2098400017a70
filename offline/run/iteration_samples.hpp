#pragma once
/// The samples of single iterations, as recorded. The samples of one iteration are mostly chance; over many iterations
/// they add up to the true distribution.

#include <cstdint>
#include <vector>

#include "offline/experiment/iteration_frames_reader.hpp"
#include "offline/experiment/sample_reader.hpp"

namespace refrain::run {

struct SampledPath {
  std::uint32_t path;  ///< of the profile
  std::int64_t samples;
};

/// The samples of one loop of one location. Not thread-safe.
class IterationSamples {
 public:
  /// Reads the samples from the file. Damaged samples count as none.
  IterationSamples(const experiment::ProfileDefinitions& profile, const experiment::Rank& rank,
                   const experiment::Loop& loop);
  // Not copied: the reader refers to the data.
  IterationSamples(const IterationSamples&) = delete;
  IterationSamples& operator=(const IterationSamples&) = delete;

  bool any() const { return !stored_.data.empty(); }
  /// The samples of at most one in so many iterations were kept.
  std::uint64_t stride() const { return stored_.kept.stride(); }
  /// The samples of an iteration, ascending by path; null: they were not kept. Valid until the next call. Cheap if
  /// iterations ascend from call to call.
  const std::vector<SampledPath>* of(std::int64_t iteration);
  /// Whether the samples of an iteration were kept. As cheap as of(), whose last result stays valid.
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
