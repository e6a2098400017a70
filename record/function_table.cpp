#include "record/function_table.hpp"

#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/function_table.hpp"
#include "config/line.hpp"
#include "format/names_file.hpp"
#include "record/output_file.hpp"

namespace refrain::record {
namespace {

const void* table = nullptr;
std::size_t table_size = 0;
char executable_id[config::longest_executable_id + 1];

bool is_hexadecimal_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/// Parses "DESCRIPTOR:NAME" from the environment. Returns the descriptor; -1: the text is malformed.
int read_setting(const char* text) {
  int descriptor = 0;
  const char* at = text;
  constexpr int largest_before_a_digit = 100'000'000;
  for (; *at >= '0' && *at <= '9' && descriptor < largest_before_a_digit; ++at)
    descriptor = descriptor * 10 + (*at - '0');
  if (at == text || *at != ':') return -1;
  const std::size_t size = std::strlen(++at);
  if (size == 0 || size > config::longest_executable_id) return -1;
  for (std::size_t i = 0; i < size; ++i)
    if (!is_hexadecimal_digit(at[i])) return -1;
  std::memcpy(executable_id, at, size + 1);
  return descriptor;
}

}  // namespace

void take_function_table() {
  const char* text = getenv(config::function_table_variable);
  if (!text || table) return;
  const ErrnoKeeper errno_keeper;
  const int descriptor = read_setting(text);
  struct stat file;
  // Only a file in memory has seals, so no descriptor of another kind is ever mapped or closed.
  const int seals = descriptor < 0 ? -1 : fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & config::function_table_seals) != config::function_table_seals) return;
  if (fstat(descriptor, &file) == 0 && file.st_size > 0 &&
      file.st_size <= static_cast<off_t>(config::largest_function_table)) {
    void* const pages = mmap(nullptr, static_cast<std::size_t>(file.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (pages != MAP_FAILED) table = pages, table_size = static_cast<std::size_t>(file.st_size);
  }
  close(descriptor);
}

void keep_function_table(const char* directory) {
  if (!table || !*directory) return;
  const ErrnoKeeper errno_keeper;
  const FileSizeSignalBlocker no_signal;
  char name[config::longest_executable_id + 32];
  config::Line(name, sizeof name) << format::functions_name_begin << executable_id << format::functions_name_end;
  write_whole(directory, name, O_EXCL, {std::span(static_cast<const std::byte*>(table), table_size)});
  munmap(const_cast<void*>(table), table_size);
  table = nullptr;
}

}  // namespace refrain::record
