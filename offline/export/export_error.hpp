#pragma once
/// What goes wrong when something is written for other tools.

#include <filesystem>
#include <stdexcept>

namespace refrain::exports {

class ExportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Nothing is overwritten: throws ExportError when `path` exists, as a link that leads nowhere does, too;
/// "-", standard output, does not.
void must_not_exist(const std::filesystem::path& path);

}  // namespace refrain::exports
