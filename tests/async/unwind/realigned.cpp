/// A frame whose CFA is found through a word of the stack: gcc realigns so when the frame pointer is free (unwind.cmake
/// has the options).

#include <alloca.h>

void call_from_realigned_frame(void (*function)(unsigned, void*), unsigned depth, void* argument) {
  alignas(64) volatile char block[64];
  auto* space = static_cast<volatile char*>(alloca(16 + depth));
  block[0] = static_cast<char>(depth);
  space[0] = block[0];
  function(depth, argument);
  block[1] = space[0];
  space[1] = block[1];
}
