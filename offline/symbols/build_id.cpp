#include "offline/symbols/build_id.hpp"

#include <cstdio>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

#include "format/file_identity.hpp"

namespace refrain::symbols {

std::string hexadecimal(const unsigned char* bytes, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", bytes[i]);
    text += two;
  }
  return text;
}

bool is_by_contents(const std::string& build_id) {
  return build_id.starts_with(
      hexadecimal(format::file_identity_mark, static_cast<int>(std::size(format::file_identity_mark))));
}

std::string identity_of_file(int file) {
  struct stat status;
  std::uint8_t identity[format::file_identity_size];
  const auto read = [&](std::uint64_t offset, std::byte* bytes, std::size_t size) {
    return pread(file, bytes, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  };
  if (fstat(file, &status) != 0 || !format::identify_file(static_cast<std::uint64_t>(status.st_size), read, identity))
    return {};
  return hexadecimal(identity, static_cast<int>(std::size(identity)));
}

}  // namespace refrain::symbols
