#pragma once
/// The few lines that Refrain says in somebody else's process: one `write` to stderr each, never buffered.

namespace refrain::platform {

/// The file that is standard error now is where lines go. When the program has put another one in its place, or none,
/// nothing is said any more.
void remember_stderr();

/// "refrain: " + the formatted text + newline, truncated at 1 KiB. Keeps errno.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

}  // namespace refrain::platform
