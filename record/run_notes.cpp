#include "record/run_notes.hpp"

#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <stdlib.h>
#include <unistd.h>

#include "config/line.hpp"
#include "platform/errno_keeper.hpp"

namespace refrain::record {
namespace {

char notes[PATH_MAX];
int forks = 0;  ///< forks of this process and of its ancestors up to exec

/// Appends one line in one write; does nothing on nodes that do not have the file. `refrain run` takes "\n" and "\\" in
/// the text for the characters (tools/run_notes.cpp).
void leave_note(const char* kind, const char* text) {
  if (!*notes) return;
  const platform::ErrnoKeeper errno_keeper;
  char line[2 * PATH_MAX + 16];
  std::size_t size = std::strlen(kind);
  std::memcpy(line, kind, size);
  for (; *text && size + 3 < sizeof line; ++text) {
    if (*text == '\n' || *text == '\\') line[size++] = '\\';
    line[size++] = *text == '\n' ? 'n' : *text;
  }
  line[size++] = '\n';
  const int file = open(notes, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (file >= 0) {
    [[maybe_unused]] const ssize_t written = write(file, line, size);
    close(file);
  }
}

}  // namespace

Executable::Executable() {
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  path[n > 0 ? n : 0] = 0;
}

int rank_by_environment() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* value = getenv(name); value && *value) return atoi(value);
  return -1;
}

void remember_run() {
  const char* file = getenv("REFRAIN_INTERNAL_RUN");
  if (file && std::strlen(file) < sizeof notes) std::memcpy(notes, file, std::strlen(file) + 1);
}
const char* notes_file() { return notes; }

void note_replacement(const char* file) { leave_note("replaced ", file); }
void note_experiment(const char* directory) { leave_note("experiment ", directory); }
void note_said() { leave_note("said ", ""); }

void count_fork() { ++forks; }

void note_forked() {
  constexpr int most = 32;
  if (!*notes || forks > most) return;
  const Executable executable;
  if (!*executable.path) return;
  char text[PATH_MAX + 16];
  config::Line line(text, sizeof text);
  line << std::int64_t{getpid()} << " " << executable.path;
  leave_note("forked ", text);
}

void note_mpi_unseen() {
  if (const Executable executable; *executable.path) leave_note("unseen ", executable.path);
}

}  // namespace refrain::record
