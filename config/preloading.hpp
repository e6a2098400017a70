#pragma once
/// What `refrain exec` adds to the environment of a program besides LD_PRELOAD, and the runtime removes again.

namespace refrain::config {

/// What to do with the image: runtime/launch.hpp has the modes.
inline constexpr const char* mode_variable = "REFRAIN_INTERNAL_MODE";
/// Libraries that stand before the runtime in LD_PRELOAD, separated by colons: the shared runtimes of sanitizers, which
/// refuse to work unless they come first. The runtime removes them together with itself.
inline constexpr const char* first_variable = "REFRAIN_INTERNAL_FIRST";
/// Set if `asan_option` was added to `asan_variable`. A program with a shared libasan that is started by a script
/// inherits the runtime in front of libasan, and needs this option to run.
inline constexpr const char* asan_added_variable = "REFRAIN_INTERNAL_ASAN";
inline constexpr const char* asan_variable = "ASAN_OPTIONS";
inline constexpr const char* asan_option = "verify_asan_link_order=0";

}  // namespace refrain::config
