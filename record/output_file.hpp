#pragma once
/// Files of the experiment directory, written with system calls only. Runtime half.
///
/// Every result is checked; EINTR is retried, partial writes are continued. Descriptors are close-on-exec and never 0,
/// 1 or 2: the program may have closed those and still write to them. Errors: false, and `error` has the errno value.

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "platform/errno_keeper.hpp"
#include "platform/mapped_file.hpp"
#include "platform/own_signal.hpp"

namespace refrain::record {

/// Keeps the experiment directory open. From here on its files are reached by this descriptor, so the program may
/// change its root, or somebody the directory's name. Where the program has closed the descriptor they are reached by
/// name. One directory for a process; ordinary context.
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
  /// What is behind `size` goes, as far as the file system lets it.
  void cut_at(std::uint64_t size);
  /// Network file systems report a full disk only here.
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

/// Renames a file of one directory to one of another. Returns 0 or the errno value; on failure nothing has changed.
int rename_between(const char* directory, const char* name, const char* other_directory, const char* other_name);
void remove_from(const char* directory, const char* name);
/// Writes a file of the directory, pieces one behind the other. It is NAME.new until it is complete: whoever reads sees
/// all of it, and a launcher may kill the process at any instruction. `flags`: O_TRUNC replaces what is there; O_EXCL
/// fails with EEXIST when it is there, or another process is writing it. Returns 0 or the errno value; on failure
/// nothing of it is left.
int write_whole(const char* directory, const char* name, int flags,
                std::initializer_list<std::span<const std::byte>> pieces);

/// While it lives, writing beyond RLIMIT_FSIZE gives EFBIG instead of killing the program.
struct FileSizeSignalBlocker : platform::OwnSignalBlocker {
  FileSizeSignalBlocker() : OwnSignalBlocker(SIGXFSZ) {}
};

using platform::ErrnoKeeper;

}  // namespace refrain::record
