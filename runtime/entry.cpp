/// Where the dynamic linker enters and leaves the library.

#include "runtime/runtime.hpp"

namespace {

/// With the arguments of main, as the dynamic linker of glibc does.
[[gnu::constructor]] void loaded(int, char** arguments) { refrain::runtime::start_process(arguments); }
[[gnu::destructor]] void unloaded() { refrain::runtime::end_process(); }

}  // namespace
