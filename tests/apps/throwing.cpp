// Throws and catches, from functions of different depth. For mains of C, C++ and Fortran.
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <unwind.h>

namespace {

struct Counted {
  explicit Counted(long& count) : count(count) {}
  ~Counted() { ++count; }
  long& count;
};

[[gnu::noinline]] long descend(int depth, long value, long& unwound) {
  Counted counted(unwound);
  if (depth == 0) throw value;
  return descend(depth - 1, value, unwound) + 1;
}

}  // namespace

/// Throws `times` exceptions through up to eight frames. A sum over what was caught and what was destroyed.
extern "C" long throw_and_catch(long times) {
  long sum = 0, unwound = 0;
  for (long i = 0; i < times; ++i) {
    try {
      sum += descend(static_cast<int>(i % 8), i, unwound);
    } catch (long value) {
      sum += value;
    }
  }
  return sum + unwound;
}

/// CPU seconds that this takes.
extern "C" double throwing_seconds(long times) {
  const std::clock_t begin = std::clock();
  throw_and_catch(times);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// 1 when this module's exceptions are raised by libgcc's unwinder.
extern "C" int raises_by_libgcc() {
  Dl_info info;
  return dladdr(reinterpret_cast<void*>(&_Unwind_RaiseException), &info) && std::strstr(info.dli_fname, "libgcc_s.so");
}
