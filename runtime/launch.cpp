#include "runtime/launch.hpp"

#include <cerrno>
#include <climits>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <initializer_list>
#include <link.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/inlined_code.hpp"
#include "platform/pages.hpp"

namespace refrain::runtime {
namespace {

constexpr char internal_prefix[] = "REFRAIN_INTERNAL_";
constexpr char preload_prefix[] = "LD_PRELOAD=";

bool is_separator(char c) { return c == ':' || c == ' '; }

/// Removes each entry `name` from a list separated by colons or blanks, in place. True when there was one.
bool remove_entry(char* list, const char* name) {
  const std::size_t length = std::strlen(name);
  bool found = false;
  for (char* at = list; *at;) {
    while (is_separator(*at)) ++at;
    char* end = at;
    while (*end && !is_separator(*end)) ++end;
    if (static_cast<std::size_t>(end - at) == length && std::memcmp(at, name, length) == 0) {
      while (is_separator(*end)) ++end;
      std::memmove(at, end, std::strlen(end) + 1);
      std::size_t rest = std::strlen(list);
      while (rest && is_separator(list[rest - 1])) list[--rest] = 0;
      found = true;
      end = at < list + rest ? at : list + rest;
    }
    at = end;
  }
  return found;
}

/// Whether an entry of the environment is Refrain's alone. Removes `library` from the list in LD_PRELOAD.
bool is_ours(char* entry, const char* library) {
  if (std::strncmp(entry, internal_prefix, sizeof internal_prefix - 1) == 0) return true;
  if (std::strncmp(entry, preload_prefix, sizeof preload_prefix - 1) != 0) return false;
  char* list = entry + sizeof preload_prefix - 1;
  return remove_entry(list, library) && !*list;
}

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

int find_mpi(dl_phdr_info* info, std::size_t, void*) {
  const char* name = base_name(info->dlpi_name);
  return std::strncmp(name, "libmpi.so", 9) == 0 || std::strncmp(name, "libmpich.so", 11) == 0;
}

/// Whether `list`, separated by blanks, has `word`.
bool is_listed(const char* list, const char* word) {
  const std::size_t length = std::strlen(word);
  while (*list) {
    const std::size_t next = std::strcspn(list, " ");
    if (next == length && std::memcmp(list, word, length) == 0) return true;
    list += list[next] ? next + 1 : next;
  }
  return false;
}

char notes_file[PATH_MAX];

/// One line, in one write; on nodes that do not have the file, nothing.
void leave_note(const char* kind, const char* text) {
  if (!*notes_file) return;
  const int saved = errno;
  char line[PATH_MAX + 16];
  const std::size_t room = sizeof line - 1, before = std::strlen(kind);
  std::size_t size = std::strlen(text);
  if (before + size > room) size = room - before;
  std::memcpy(line, kind, before);
  std::memcpy(line + before, text, size);
  line[before + size] = '\n';
  const int file = open(notes_file, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (file >= 0) {
    [[maybe_unused]] const ssize_t written = write(file, line, before + size + 1);
    close(file);
  }
  errno = saved;
}

std::string_view kept_inlined_code;

/// The program may write over its environment.
void keep_inlined_code() {
  const char* text = getenv(config::inlined_code_variable);
  const std::size_t size = text ? strnlen(text, config::longest_inlined_code) : 0;
  void* pages = size ? platform::map_pages(size) : nullptr;
  if (!pages) return;
  std::memcpy(pages, text, size);
  kept_inlined_code = {static_cast<const char*>(pages), size};
}

}  // namespace

LaunchMode launch_mode() {
  const char* mode = getenv("REFRAIN_INTERNAL_MODE");
  if (!mode) return LaunchMode::Linked;
  if (std::strcmp(mode, "script") == 0) return LaunchMode::Script;
  return std::strcmp(mode, "through") == 0 ? LaunchMode::Through : LaunchMode::Program;
}

void become_measured(char** arguments) {
  const char* tool = getenv("REFRAIN_INTERNAL_TOOL");
  const char* launchers = getenv("REFRAIN_INTERNAL_LAUNCHERS");
  if (!tool || !launchers || !arguments || !arguments[0]) return;
  const char* task = is_listed(launchers, base_name(arguments[0])) ? "run" : mpi_is_loaded() ? "exec" : nullptr;
  if (!task) return;
  platform::GrowableArray<const char*> words;
  const char* first[] = {tool, task, "--"};
  bool good = words.append(first, 3);
  for (char** word = arguments; good && *word; ++word) good = words.push_back(*word);
  if (good && words.push_back(nullptr)) syscall(SYS_execve, tool, words.data(), __environ);
}

void remember_run() {
  const char* file = getenv("REFRAIN_INTERNAL_RUN");
  if (file && std::strlen(file) < sizeof notes_file) std::memcpy(notes_file, file, std::strlen(file) + 1);
}

void note_experiment(const char* directory) { leave_note("experiment ", directory); }
void note_said() { leave_note("said", ""); }

bool mpi_is_loaded() { return dl_iterate_phdr(find_mpi, nullptr) != 0; }

int rank_by_environment() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* value = getenv(name); value && *value) return atoi(value);
  return -1;
}

std::string_view inlined_code() { return kept_inlined_code; }

void clean_environment() {
  keep_inlined_code();
  Dl_info self;
  const bool known = dladdr(reinterpret_cast<void*>(&clean_environment), &self) != 0;
  // What stays moves up. No function of the C library: the program may define it, and bash does.
  char** kept = __environ;
  for (char** entry = __environ; entry && *entry; ++entry)
    if (!is_ours(*entry, known ? self.dli_fname : "")) *kept++ = *entry;
  if (kept) *kept = nullptr;
}

}  // namespace refrain::runtime
