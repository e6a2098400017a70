#include "record/file_identity.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/errno_keeper.hpp"

namespace refrain::record {
namespace {

bool is_as_loaded(int file, const platform::FileStamp& loaded) {
  struct stat status;
  return fstat(file, &status) == 0 && platform::FileStamp(status) == loaded;
}

}  // namespace

std::span<const std::uint8_t> identify(const platform::Module& module, FileIdentity& identity) {
  if (module.file.size == 0) return {};
  const platform::ErrnoKeeper errno_keeper;
  const int file = open(module.path, O_RDONLY | O_CLOEXEC);
  const bool is_good = file >= 0 && is_as_loaded(file, module.file) &&
                       format::identify_file(
                           module.file.size,
                           [&](std::uint64_t offset, std::byte* bytes, std::size_t size) {
                             return syscall(SYS_pread64, file, bytes, size, offset) == static_cast<long>(size);
                           },
                           identity);
  if (file >= 0) close(file);
  if (is_good) return identity;
  // Two modules whose files are gone must not look like one.
  format::put_file_identity(format::checksum(&module.file, sizeof module.file), identity);
  return identity;
}

}  // namespace refrain::record
