/// Where the dynamic linker enters and leaves the library.

#include "runtime/runtime.hpp"

namespace {

/// The dynamic linker of glibc calls it with the arguments of main.
[[gnu::constructor]] void loaded(int, char** arguments) { refrain::runtime::start_process(arguments); }
[[gnu::destructor]] void unloaded() { refrain::runtime::end_process(); }

}  // namespace
