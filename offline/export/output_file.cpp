#include "offline/export/output_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace refrain::exports {

void must_not_exist(const std::filesystem::path& path) {
  if (path != "-" && std::filesystem::exists(std::filesystem::symlink_status(path)))
    throw ExportError(path.string() + " exists; nothing is overwritten");
}

void fail_scratch(int error) {
  throw ExportError("a scratch file for values: " + std::generic_category().message(error));
}

OutputFile::OutputFile(const std::filesystem::path& path) : NewFile((must_not_exist(path), path)) {}

void OutputFile::finish() {
  must_not_exist(path());
  NewFile::finish();
}

int OutputFile::open_scratch() const {
  std::string name = (is_standard_output() ? std::filesystem::temp_directory_path() / "refrain" : path()).string();
  name += ".XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) fail(errno);
  ::unlink(name.c_str());
  return descriptor;
}

}  // namespace refrain::exports
