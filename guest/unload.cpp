/// Notices unloaded modules. Only dlclose is interposed: a wrapper around dlopen would break the search of the caller's
/// RUNPATH, and new modules are found when they are needed.

#include <dlfcn.h>

#include "guest/guest.hpp"
#include "platform/modules.hpp"
#include "platform/next_definition.hpp"

namespace {
refrain::platform::NextDefinition<int(void*)> next_dlclose{"dlclose"};
}

extern "C" REFRAIN_EXPORT int dlclose(void* handle) noexcept {
  auto* next = next_dlclose.get();
  if (!next) return -1;
  if (!refrain::guest::callbacks.is_measured()) return next(handle);
  refrain::platform::refresh_modules();  // the module may have been loaded since the last look
  const refrain::platform::Unloading unloading;
  const int result = next(handle);
  if (refrain::platform::refresh_modules()) refrain::guest::callbacks.module_unloaded();
  return result;
}
