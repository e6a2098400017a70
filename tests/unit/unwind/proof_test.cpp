/// Unwinding tried on files that are not loaded.

#include "unwind/proof.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <link.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "unwind/rule.hpp"
#include "unwind/walker.hpp"

namespace refrain::unwind {
namespace {

std::vector<char> bytes_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Proof, frames_of_programs_are_left) {
  for (const char* path : {"/proc/self/exe", "/usr/bin/env"}) {
    const UnwindProof proof = prove_unwinding(path);
    EXPECT_TRUE(proof.is_mapped) << path;
    EXPECT_GT(proof.covered, proof.tried / 2) << path;
    EXPECT_GT(proof.unwound, proof.covered * 3 / 4) << path;
  }
  Rule rule;
  ASSERT_TRUE(start_rule_cache());
  EXPECT_TRUE(read_rule(reinterpret_cast<std::uintptr_t>(&prove_unwinding), true, rule))
      << "afterwards the tables are those of what is loaded";
}

TEST(Proof, without_tables_or_with_nonsense_there_is_none) {
  const auto scratch = std::filesystem::temp_directory_path() / ("proof_test." + std::to_string(getpid()));
  auto write = [&](const std::vector<char>& bytes) {
    std::ofstream(scratch, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return prove_unwinding(scratch.c_str());
  };
  EXPECT_FALSE(prove_unwinding("/nonexistent").is_mapped);
  EXPECT_FALSE(write({'#', '!'}).is_mapped);
  std::vector<char> bytes = bytes_of("/proc/self/exe");
  ElfW(Ehdr) header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::vector<char> shortened(bytes.begin(), bytes.begin() + 8192);
  EXPECT_FALSE(write(shortened).is_mapped);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    char* at = bytes.data() + header.e_phoff + i * sizeof segment;
    std::memcpy(&segment, at, sizeof segment);
    if (segment.p_type != PT_GNU_EH_FRAME) continue;
    segment.p_type = PT_NULL;
    std::memcpy(at, &segment, sizeof segment);
  }
  const UnwindProof proof = write(bytes);
  EXPECT_TRUE(proof.is_mapped);
  EXPECT_GT(proof.tried, 0u);
  EXPECT_EQ(proof.covered, 0u);
  std::filesystem::remove(scratch);
}

}  // namespace
}  // namespace refrain::unwind
