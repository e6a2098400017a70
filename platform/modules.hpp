#pragma once
/// Which executable images (modules) are mapped where, now and earlier in the run.
///
/// A module is identified by its build-id, or by its name if it has none. Addresses are reused after dlclose. Every
/// unload increments a process-wide generation, and every *mapping* (a module at one address) remembers from which
/// generation to which it was there *first*; no two overlapping mappings share a generation. Code found at an address
/// is remembered as (address, generation of its mapping), and `code_at` says which generations mean the code that lies
/// there now. When the same module comes back to the same address, these are again the generations of its first stay.
/// So a plug-in that is loaded and unloaded forever has one record, and its code one set of call paths.
///
/// Records never move and are never freed: `module_limit` of them, in chunks that are mapped as they are needed.
///
/// Thread safety: `refresh_modules` takes a lock and calls dl_iterate_phdr, so it is for ordinary context only, never
/// for a handler. Everything else may be called at any time, while other threads refresh, load and unload.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <sys/stat.h>

#include "platform/hot.hpp"
#include "platform/segments.hpp"

namespace refrain::platform {

inline constexpr std::uint32_t still_loaded = 0xffffffffu;

inline constexpr std::uint32_t module_limit = 16'384;

/// Tells whether a file was written to or replaced.
struct FileStamp {
  FileStamp() = default;
  explicit FileStamp(const struct stat& status);
  bool operator==(const FileStamp&) const = default;

  std::uint64_t device = 0, inode = 0, size = 0;  ///< size 0: there is no file
  std::int64_t changed_s = 0, changed_ns = 0;
};

struct Module {
  std::uintptr_t base;        ///< load bias: run-time address minus address in the file
  std::uintptr_t begin;       ///< lowest mapped address
  std::uintptr_t end;         ///< one past the highest mapped address
  Segments segments;          ///< the ranges that are mapped between the two
  std::uint32_t loaded;       ///< generation since which no other known module has been there
  std::uint32_t unloaded;     ///< generation at which it was gone for the first time, or `still_loaded`
  bool mapped;                ///< whether it was there at the last refresh
  std::uint8_t build_id[20];  ///< first `build_id_size` bytes
  std::uint8_t build_id_size;
  FileStamp file;  ///< for a module without a build-id
  char path[511];  ///< absolute, zero-terminated; "[vdso]" for the kernel's page

  bool covers(std::uintptr_t address) const { return begin <= address && address < end && segments.contains(address); }
};

/// The generations [first, end) mean one and the same code at an address; `now` is one of them.
struct CodeLife {
  std::uint32_t first, end, now;
};

REFRAIN_OF_THIS_LIBRARY extern std::atomic<std::uint32_t> unload_count;

/// Is incremented before and after every unload. Async-signal-safe.
inline std::uint32_t module_generation() { return unload_count.load(std::memory_order_acquire); }

/// Takes notice of every module that is mapped now, and of those that are gone. True: a module was unloaded since the
/// last call, so the generation has changed, and cached knowledge about code is void.
bool refresh_modules();

/// Like refresh_modules(), but does nothing instead of waiting for another thread that refreshes, perhaps forever.
/// Takes the loader's lock all the same.
void try_refresh_modules();

/// While an object lives, a module may go away at any moment and another one take its address before anybody is told,
/// so code is recognised anew each time. Ordinary context. The modules must be refreshed before it is made and while it
/// lives.
class Unloading {
 public:
  Unloading();
  ~Unloading();
  Unloading(const Unloading&) = delete;
  Unloading& operator=(const Unloading&) = delete;
};

/// Whether the answer of `code_at` may change without a change of generation. Async-signal-safe.
bool is_unloading();

/// Copies the modules seen so far one by one, in the order of discovery. False: there is no module of that index.
bool copy_module(std::size_t index, Module& copy);

/// The number of modules that got no record, at most at any one time. Their code has no names.
std::uint32_t modules_left_out();

/// Index of the module that `generation` means at `address`, or -1.
int find_module(std::uintptr_t address, std::uint32_t generation);

/// The code that lies at `address` now. A module that was loaded since the last refresh is recognised if it has been
/// there before. Async-signal-safe.
CodeLife code_at(std::uintptr_t address);

}  // namespace refrain::platform
