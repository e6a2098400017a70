#include "runtime/launch.hpp"

#include <cstring>
#include <dlfcn.h>
#include <initializer_list>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

namespace refrain::runtime {
namespace {

constexpr char internal_prefix[] = "REFRAIN_INTERNAL_";

bool is_separator(char c) { return c == ':' || c == ' '; }

/// Removes the entry `name` from a list separated by colons or blanks, in place. True when it was there.
bool remove_entry(char* list, const char* name) {
  const std::size_t length = std::strlen(name);
  for (char* at = list; *at;) {
    while (is_separator(*at)) ++at;
    char* end = at;
    while (*end && !is_separator(*end)) ++end;
    if (static_cast<std::size_t>(end - at) == length && std::memcmp(at, name, length) == 0) {
      while (is_separator(*end)) ++end;
      std::memmove(at, end, std::strlen(end) + 1);
      std::size_t rest = std::strlen(list);
      while (rest && is_separator(list[rest - 1])) list[--rest] = 0;
      return true;
    }
    at = end;
  }
  return false;
}

int find_mpi(dl_phdr_info* info, std::size_t, void*) {
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* name = slash ? slash + 1 : info->dlpi_name;
  return std::strncmp(name, "libmpi.so", 9) == 0 || std::strncmp(name, "libmpich.so", 11) == 0;
}

}  // namespace

LaunchMode launch_mode() {
  const char* mode = getenv("REFRAIN_INTERNAL_MODE");
  if (!mode) return LaunchMode::Linked;
  return std::strcmp(mode, "through") == 0 ? LaunchMode::Through : LaunchMode::Program;
}

bool mpi_is_loaded() { return dl_iterate_phdr(find_mpi, nullptr) != 0; }

int rank_by_environment() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* value = getenv(name); value && *value) return atoi(value);
  return -1;
}

void clean_environment() {
  if (char* preload = getenv("LD_PRELOAD")) {
    Dl_info self;
    if (dladdr(reinterpret_cast<void*>(&clean_environment), &self) && remove_entry(preload, self.dli_fname) &&
        !*preload)
      unsetenv("LD_PRELOAD");
  }
  for (char** entry = environ; entry && *entry;) {
    if (std::strncmp(*entry, internal_prefix, sizeof internal_prefix - 1) == 0) {
      char name[128];
      const char* equals = std::strchr(*entry, '=');
      const std::size_t n = equals ? static_cast<std::size_t>(equals - *entry) : 0;
      if (n && n < sizeof name) {
        std::memcpy(name, *entry, n);
        name[n] = 0;
        unsetenv(name);
        continue;
      }
    }
    ++entry;
  }
}

}  // namespace refrain::runtime
