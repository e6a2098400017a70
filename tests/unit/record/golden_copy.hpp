#pragma once
/// A golden experiment that a test may write into. For programs that define GOLDEN.

#include <filesystem>
#include <string>

#include "tests/unit/record/sample_job.hpp"

namespace refrain::testing {

struct GoldenCopy : ScratchDirectory {
  explicit GoldenCopy(const std::string& name) {
    std::filesystem::copy(std::filesystem::path(GOLDEN) / name, path, std::filesystem::copy_options::recursive);
  }
};

}  // namespace refrain::testing
