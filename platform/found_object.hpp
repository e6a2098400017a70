#pragma once
/// The result of glibc's `_dl_find_object` (since 2.35), the only function of the loader that a handler may call.
/// Declared like <dlfcn.h> does for x86-64, so that we can build with older headers.

namespace refrain::platform {

struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  void* link_map;
  void* eh_frame;
  unsigned long long reserved[7];
};
/// 0: found. Async-signal-safe.
using FindObject = int (*)(void* address, FoundObject* result);

}  // namespace refrain::platform
