#pragma once
/// What `refrain exec` puts into the environment of a program besides LD_PRELOAD, and the runtime takes out again.

namespace refrain::config {

/// How the image is to be taken: guest/launch.hpp has the modes.
inline constexpr const char* mode_variable = "REFRAIN_INTERNAL_MODE";
/// Libraries that stand before the runtime in LD_PRELOAD, separated by colons: the shared runtimes of sanitizers, which
/// refuse to work when they do not come first. They go when the runtime goes.
inline constexpr const char* first_variable = "REFRAIN_INTERNAL_FIRST";
/// Set when `asan_option` was put into `asan_variable`. A program with a shared libasan that a script starts inherits
/// the runtime in front of libasan; by this option it runs nevertheless.
inline constexpr const char* asan_added_variable = "REFRAIN_INTERNAL_ASAN";
inline constexpr const char* asan_variable = "ASAN_OPTIONS";
inline constexpr const char* asan_option = "verify_asan_link_order=0";

}  // namespace refrain::config
