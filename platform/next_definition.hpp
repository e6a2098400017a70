#pragma once
/// The next definition of a function that the runtime interposes, looked up at the first use.

#include <atomic>
#include <dlfcn.h>

#include "platform/symbols.hpp"

namespace refrain::platform {

/// `Function` is a plain function type. Thread-safe; ordinary context only (find_symbol).
template <class Function>
class NextDefinition {
 public:
  constexpr explicit NextDefinition(const char* name) : name_(name) {}
  /// Null: no other library defines it.
  Function* get() {
    void* found = found_.load(std::memory_order_relaxed);
    if (!found) {
      found = find_symbol(RTLD_NEXT, name_);
      found_.store(found, std::memory_order_relaxed);
    }
    return reinterpret_cast<Function*>(found);
  }

 private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

}  // namespace refrain::platform
