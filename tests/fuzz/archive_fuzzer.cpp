// libFuzzer entry of the profile and manifest readers. The first byte chooses: profile as it is, profile with its
// checksums made right, manifest. A corpus to start from: tests/golden/*/profile.refrain with a byte '1' before it.

#include <cstddef>
#include <cstdint>

#include "offline/experiment/experiment.hpp"
#include "offline/experiment/iteration_frames_reader.hpp"
#include "offline/experiment/manifest_reader.hpp"
#include "tests/fuzz/archive/file_surgery.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain;
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] % 3 == 2) {
      experiment::parse_manifest(experiment::InputFile("f", std::as_bytes(std::span(bytes))));
      return 0;
    }
    if (data[0] % 3 == 1) testing::reseal(bytes);
    const auto experiment = experiment::Experiment::of_file("f", std::as_bytes(std::span(bytes)));
    for (std::size_t place = 0; place < experiment->ranks().size(); ++place)
      if (const auto rank = experiment->rank(place, experiment::Depth::Whole))
        for (const auto& location : rank->locations)
          for (const auto& loop : location.loops) {
            for (const auto& frame : loop.log) experiment::read_frame(frame);
            for (const auto& frame : loop.merges) experiment::read_merges(frame);
            experiment::read_samples(*rank, loop);
          }
  } catch (const experiment::ReadError&) {
  }
  return 0;
}
