/// A library that calls back. Built twice with frames of different size, otherwise byte for byte as large: the second
/// can take the first one's place in memory.

extern "C" int through(int (*callback)(void*), void* argument) {
  volatile char space[UNWIND_PLUGIN_FRAME];
  space[0] = 1;
  space[sizeof space - 1] = 2;
  const int result = callback(argument);
  return result + space[0] + space[sizeof space - 1];
}
