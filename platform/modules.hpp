#pragma once
/// Which executable images (modules) are mapped where, now and earlier in the run.
///
/// A module is identified by its build-id, or by its path when it has none. Addresses are reused after dlclose:
/// every unload moves a process-wide generation on, and a module remembers from which generation to which it was
/// mapped. An address seen at generation g belongs to the module with `loaded <= g < unloaded` that covers it.
///
/// Thread safety: `refresh_modules` takes a lock and calls dl_iterate_phdr, so it is for ordinary context only, never
/// for a handler. `generation()` may be read anywhere.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace refrain::platform {

inline constexpr std::uint32_t still_loaded = 0xffffffffu;

struct Module {
  std::uintptr_t base;        ///< load bias: run-time address minus address in the file
  std::uintptr_t begin;       ///< lowest mapped address
  std::uintptr_t end;         ///< one past the highest mapped address
  std::uint32_t loaded;       ///< generation at which it was first seen
  std::uint32_t unloaded;     ///< generation at which it was gone, or `still_loaded`
  std::uint8_t build_id[20];  ///< first `build_id_size` bytes
  std::uint8_t build_id_size;
  char path[511];  ///< absolute, zero-terminated; "[vdso]" for the kernel's page
};

extern std::atomic<std::uint32_t> unload_count;

/// Counts unloads. Async-signal-safe.
inline std::uint32_t module_generation() { return unload_count.load(std::memory_order_acquire); }

/// Takes notice of everything mapped now and of everything gone. True when something was unloaded since the last call:
/// the generation has then moved on, and cached knowledge about code is void.
bool refresh_modules();

/// The same where waiting for a lock of this file could be for ever: nothing happens then. The loader's lock is taken.
void try_refresh_modules();

/// All modules seen so far, in order of discovery. Valid until the next refresh.
std::span<const Module> all_modules();

/// The same, one by one, where another thread may refresh. False: there are not so many.
bool copy_module(std::size_t index, Module& copy);

/// Index in `all_modules()` of the module that covered `address` at `generation`, or -1.
int find_module(std::uintptr_t address, std::uint32_t generation);

/// True when `address` was covered by a module that was unloaded after generation `since`. Async-signal-safe.
bool unloaded_since(std::uintptr_t address, std::uint32_t since);

}  // namespace refrain::platform
