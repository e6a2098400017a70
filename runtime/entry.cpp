/// Where the dynamic linker enters and leaves the library.

#include "runtime/runtime.hpp"

namespace {

[[gnu::constructor]] void loaded() { refrain::runtime::start_process(); }
[[gnu::destructor]] void unloaded() { refrain::runtime::end_process(); }

}  // namespace
