#include "tests/fuzz/archive/mutations.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "record/writer.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/thread_peers.hpp"

namespace refrain::testing {

std::string sample_file(int ranks) {
  ScratchDirectory directory;
  EXPECT_TRUE(write_job(directory.path, ranks, [ranks](int rank) {
    SampleRank sample = rank == 0 ? sample_rank(rank, ranks, 2, 12) : sample_rank_with_loops(rank, ranks, 2, 12);
    if (rank == 0) sample.add_extra_metrics();
    sample.add_communicator({1, 0, 3, 0, rank, ranks, 0, "", {}, 70}, {0, 1});
    sample.add_window({1, format::WindowKind::Shared, "fuzzed", 9}, {{0, 0, 1, 20, 300, 4000}, {0, 1, 1, 2, 3, 4}});
    sample.add_window({0, format::WindowKind::Dynamic, ""}, {});
    return sample;
  }));
  return read_file(directory.path + "/profile.refrain");
}

std::string mutate(std::string bytes, Random& random) {
  const auto somewhere = [&] { return bytes.empty() ? 0 : random() % bytes.size(); };
  for (std::uint64_t n = 1 + random() % 3; n > 0; --n) {
    if (bytes.empty()) break;
    switch (random() % 8) {
      case 0: bytes[somewhere()] ^= static_cast<char>(1 << random() % 8); break;
      case 1: bytes[somewhere()] = static_cast<char>(random()); break;
      case 2: bytes[somewhere()] = "\x00\x01\x7f\x80\xff"[random() % 5]; break;
      case 3: bytes.resize(somewhere()); break;
      case 4: bytes.erase(somewhere(), 1 + random() % 16); break;
      case 5: bytes.insert(somewhere(), std::string(1 + random() % 16, static_cast<char>(random()))); break;
      case 6: {  // a field of a size or a count
        const std::uint64_t value = std::uint64_t{1} << random() % 64;
        const std::size_t at = somewhere() / 4 * 4;
        for (std::size_t i = 0; i < 8 && at + i < bytes.size(); ++i) bytes[at + i] = static_cast<char>(value >> 8 * i);
        break;
      }
      default: {  // a piece of the file somewhere else
        const std::string piece = bytes.substr(somewhere(), 1 + random() % 64);
        const std::size_t at = somewhere();
        bytes.replace(at, piece.size(), piece);
      }
    }
  }
  return bytes;
}

void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit memory{std::uint64_t{4} << 30, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &memory);
#endif
}

}  // namespace refrain::testing
