// The part of `endings` that C cannot do: an exception that nobody catches.
#include <stdexcept>

extern "C" void throw_and_never_catch() { throw std::runtime_error("nobody catches this"); }
