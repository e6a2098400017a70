#pragma once
/// Threads that the program makes, from their begin to their end.

namespace refrain::guest {

/// Before the first thread is measured. False: no memory. Ordinary context, once.
bool watch_threads();

}  // namespace refrain::guest
