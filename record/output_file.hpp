#pragma once
/// Files of the experiment directory, written with system calls only. Runtime half.
///
/// Every result is checked; EINTR is retried, partial writes are continued. Descriptors are close-on-exec and never 0,
/// 1 or 2, since the program may have closed those and still write to them. Errors: false, and `error` is the errno
/// value.

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "platform/errno_keeper.hpp"
#include "platform/mapped_file.hpp"
#include "platform/own_signal.hpp"

namespace refrain::record {

/// Keeps the experiment directory open, so that its files are reached by this descriptor even if the program changes
/// its root, or somebody renames the directory. If the program closes the descriptor, they are reached by name. One
/// directory per process; ordinary context.
void hold_directory(const char* directory);

class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() { (void)close(); }

  /// `flags` as for open(2), to which O_WRONLY and O_CLOEXEC are added; mode 0666 before the umask.
  [[nodiscard]] bool open(const char* directory, const char* name, int flags);
  [[nodiscard]] bool write_at(const void* data, std::size_t size, std::uint64_t offset);
  /// Truncates the file to `size` bytes, if the file system allows it.
  void cut_at(std::uint64_t size);
  /// Must be checked: network file systems report a full disk only here.
  bool close();

  int error = 0;

 private:
  int descriptor_ = -1;
};

/// The name of a file of a rank: "part-3.refrain".
struct RankFileName {
  char text[48];
  RankFileName(const char* begin, std::int32_t rank);
};

/// Maps a file of the directory. False: `file.error` has the errno value.
[[nodiscard]] bool map_file(const char* directory, const char* name, platform::MappedFile& file);

/// Renames a file, from one directory into another. Returns 0 or the errno value; on failure nothing has changed.
int rename_between(const char* directory, const char* name, const char* other_directory, const char* other_name);
void remove_from(const char* directory, const char* name);
/// Writes a file of the directory from `pieces`, one behind the other. It is called NAME.new until it is complete, so
/// that a reader sees all of it even though a launcher may kill the process at any instruction. `flags`: O_TRUNC
/// replaces an existing file; O_EXCL fails with EEXIST if the file exists or another process is writing it. Returns 0
/// or the errno value; on failure no part of the file is left.
int write_whole(const char* directory, const char* name, int flags,
                std::initializer_list<std::span<const std::byte>> pieces);

/// While an object lives, writing beyond RLIMIT_FSIZE gives EFBIG instead of killing the program.
struct FileSizeSignalBlocker : platform::OwnSignalBlocker {
  FileSizeSignalBlocker() : OwnSignalBlocker(SIGXFSZ) {}
};

using platform::ErrnoKeeper;

}  // namespace refrain::record
