#include "runtime/launch.hpp"

#include <climits>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/inlined_code.hpp"
#include "config/line.hpp"
#include "config/preloading.hpp"
#include "config/text.hpp"
#include "platform/pages.hpp"
#include "platform/symbols.hpp"
#include "record/function_table.hpp"
#include "record/run_notes.hpp"

namespace refrain::runtime {
namespace {

constexpr char internal_prefix[] = "REFRAIN_INTERNAL_";
constexpr char preload_prefix[] = "LD_PRELOAD=";
constexpr char asan_prefix[] = "ASAN_OPTIONS=";

bool is_separator(char c) { return c == ':' || c == ' '; }

/// Removes every file called `name`, in whatever directory, from `list`, which is separated by colons or blanks, in
/// place. Returns whether there was one. The list need not spell our path as the dynamic linker knows it: it may
/// contain $LIB.
bool remove_file(char* list, std::string_view name) {
  const std::size_t length = name.size();
  bool found = false;
  for (char* at = list; *at;) {
    while (is_separator(*at)) ++at;
    char* end = at;
    while (*end && !is_separator(*end)) ++end;
    const auto size = static_cast<std::size_t>(end - at);
    if (size >= length && std::memcmp(end - length, name.data(), length) == 0 &&
        (size == length || end[-1 - static_cast<std::ptrdiff_t>(length)] == '/')) {
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

char own_file[PATH_MAX];         ///< path of this library, as the dynamic linker has found it
char first_libraries[PATH_MAX];  ///< libraries that `refrain exec` has put in front of it in LD_PRELOAD, separated by
                                 ///< colons
bool has_asan_option = false;    ///< `refrain exec` has put config::asan_option into ASAN_OPTIONS
bool was_preloaded = false;

/// Keeps what clean_environment() needs to know, because the entries that say it are among those that it removes.
void remember_traces() {
  Dl_info self;
  if (!*own_file && dladdr(reinterpret_cast<void*>(&remember_traces), &self) != 0)
    config::Line(own_file, sizeof own_file) << self.dli_fname;
  was_preloaded |= launch_mode() != LaunchMode::Linked;
  if (const char* first = getenv(config::first_variable))
    config::Line(first_libraries, sizeof first_libraries) << first;
  if (getenv(config::asan_added_variable)) has_asan_option = true;
}

/// Removes Refrain's words from the lists in LD_PRELOAD and ASAN_OPTIONS. True: the whole entry is Refrain's.
bool strip_own(char* entry) {
  if (std::strncmp(entry, internal_prefix, sizeof internal_prefix - 1) == 0) return true;
  if (std::strncmp(entry, preload_prefix, sizeof preload_prefix - 1) == 0) {
    char* list = entry + sizeof preload_prefix - 1;
    bool found = *own_file && remove_file(list, config::file_name_of(own_file));
    for (std::string_view names = first_libraries; !names.empty();)
      found |= remove_file(list, config::file_name_of(config::take_until(names, ':')));
    return found && !*list;
  }
  if (!has_asan_option || std::strncmp(entry, asan_prefix, sizeof asan_prefix - 1) != 0) return false;
  char* options = entry + sizeof asan_prefix - 1;
  return remove_file(options, config::asan_option) && !*options;
}

/// The array that the kernel has put behind the arguments; the auxiliary vector lies behind its end. Null: unknown.
char** initial_environment = nullptr;

/// Start code that reads the initial stack must find the end of the array where it was. So the entries that stay move
/// towards the end, and the slots in front of them get empty strings, which nobody takes for variables. Returns the
/// first entry that stays. Another thread that reads meanwhile may see an entry twice, but misses none.
char** clean_initial_environment() {
  char** end = initial_environment;
  while (*end) ++end;
  char** kept = end;
  char* empty = nullptr;
  for (char** entry = end; entry-- != initial_environment;) {
    if (**entry && !strip_own(*entry)) {
      *--kept = *entry;
    } else {
      empty = *entry;
      *empty = 0;
    }
  }
  for (char** unused = initial_environment; unused != kept; ++unused) *unused = empty;
  return kept;
}

/// Cleans an array that the program has made: the entries that stay move to the front. Calls no function of the C
/// library, since the program may define it, as bash does.
void clean_array(char** array) {
  char** kept = array;
  for (char** entry = array; entry && *entry; ++entry)
    if (**entry && !strip_own(*entry)) *kept++ = *entry;
  if (kept) *kept = nullptr;
}

/// Finds a library other than this one that defines PMPI_Init, whatever the library is called.
int find_mpi(dl_phdr_info* info, std::size_t, void* own) {
  const platform::LoadedObject object = platform::object_of(*info);
  return object.dynamic != static_cast<const platform::LoadedObject*>(own)->dynamic &&
         platform::function_of(object, "PMPI_Init");
}

/// Whether `list`, separated by blanks, contains `word`.
bool is_listed(std::string_view list, std::string_view word) {
  while (!list.empty())
    if (config::take_until(list, ' ') == word) return true;
  return false;
}

std::string_view kept_inlined_code;

/// Copies the text, because the program may overwrite its environment.
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
  const char* mode = getenv(config::mode_variable);
  if (!mode) return LaunchMode::Linked;
  if (std::strcmp(mode, "script") == 0) return LaunchMode::Script;
  return std::strcmp(mode, "through") == 0 ? LaunchMode::Through : LaunchMode::Program;
}

void become_measured(char** arguments) {
  const char* tool = getenv("REFRAIN_INTERNAL_TOOL");
  const char* launchers = getenv("REFRAIN_INTERNAL_LAUNCHERS");
  if (!tool || !launchers || !arguments || !arguments[0]) return;
  const char* task = is_listed(launchers, config::file_name_of(arguments[0])) ? "run"
                     : mpi_is_loaded()                                        ? "exec"
                                                                              : nullptr;
  if (!task) return;
  platform::GrowableArray<const char*> words;
  const char* first[] = {tool, task, "--"};
  bool good = words.append(first, 3);
  for (char** word = arguments; good && *word; ++word) good = words.push_back(*word);
  if (good && words.push_back(nullptr)) syscall(SYS_execve, tool, words.data(), __environ);
}

bool mpi_is_loaded() {
  platform::LoadedObject own = platform::own_object();
  return dl_iterate_phdr(find_mpi, &own) != 0;
}

std::string_view inlined_code() { return kept_inlined_code; }

void remember_initial_environment(char** arguments) {
  if (!arguments) return;
  while (*arguments) ++arguments;
  // A loader other than glibc's may pass arguments of its own.
  if (__environ == arguments + 1) initial_environment = arguments + 1;
}

void clean_environment() {
  keep_inlined_code();
  record::take_function_table();
  remember_traces();
  if (initial_environment) {
    char** rest = clean_initial_environment();
    if (__environ == initial_environment) __environ = rest;
    initial_environment = rest;
  }
  // Comes after the initial array: where both share a string, what was removed there is empty here.
  if (__environ != initial_environment) clean_array(__environ);
}

guest::Traces traces() {
  return {was_preloaded ? own_file : "", first_libraries, record::notes_file(), kept_inlined_code};
}

}  // namespace refrain::runtime
