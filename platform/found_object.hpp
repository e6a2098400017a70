#pragma once
/// What glibc's `_dl_find_object` tells (since 2.35): the only function of the loader that a handler may call. As
/// <dlfcn.h> defines it for x86-64; ours so that we also build with older headers.

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
