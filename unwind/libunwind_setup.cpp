#include <dlfcn.h>
#include <type_traits>

#include "platform/symbols.hpp"
#include "unwind/calling_frame.hpp"
#include "unwind/libunwind_backend.hpp"

namespace refrain::unwind {

bool load_libunwind() {
  if (libunwind.init_local2) return true;
  void* library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(platform::find_symbol(library, name));
    return function != nullptr;
  };
  LibunwindLibrary found{};
  if (!bind(found.init_local2, "_ULx86_64_init_local2") || !bind(found.step, "_ULx86_64_step") ||
      !bind(found.get_register, "_ULx86_64_get_reg") || !bind(found.is_signal_frame, "_ULx86_64_is_signal_frame"))
    return false;
  libunwind = found;
  return true;
}

[[gnu::noinline]] bool warm_up_libunwind(Walker& walker) { return walker.walk(calling_frame()).depth > 0; }

}  // namespace refrain::unwind
