#pragma once
/// Errors while files are written for other tools.

#include <filesystem>
#include <stdexcept>

namespace refrain::exports {

class ExportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Nothing is overwritten: throws ExportError when `path` exists, even as a dangling symbolic link. "-" is standard
/// output, and never exists.
void must_not_exist(const std::filesystem::path& path);

}  // namespace refrain::exports
