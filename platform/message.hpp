#pragma once
/// The few lines that Refrain prints in somebody else's process: one unbuffered `write` to stderr each.

namespace refrain::platform {

/// Lines go to the file that is standard error now. Once the program has replaced or closed it, nothing more is
/// printed.
void remember_stderr();

/// Prints "refrain: ", the formatted text and a newline, truncated at 1 KiB. Preserves errno.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

}  // namespace refrain::platform
