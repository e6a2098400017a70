// libFuzzer entry of the profile and manifest readers. The first byte chooses: profile as it is, profile with its
// checksums made right, manifest. A corpus to start from: tests/golden/*/profile.refrain with a byte '1' before it.

#include <cstddef>
#include <cstdint>

#include "archive/manifest_reader.hpp"
#include "archive/profile_merger.hpp"
#include "archive/profile_parser.hpp"
#include "archive/reader.hpp"
#include "tests/fuzz/archive/file_surgery.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain;
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] % 3 == 2) {
      archive::parse_manifest(archive::InputFile("f", std::as_bytes(std::span(bytes))));
      return 0;
    }
    if (data[0] % 3 == 1) testing::reseal(bytes);
    archive::ProfileMerger merger;
    merger.add(archive::parse_profile(archive::InputFile("f", std::as_bytes(std::span(bytes)))), "f");
    const archive::Profile profile = merger.take();
    for (const auto& rank : profile.ranks)
      for (const auto& location : rank.locations)
        for (const auto& loop : location.loops) {
          for (const auto& place : loop.log) archive::read_frame(place);
          for (const auto& place : loop.merges) archive::read_merges(place);
          archive::read_samples(rank, loop);
        }
  } catch (const archive::ReadError&) {
  }
  return 0;
}
