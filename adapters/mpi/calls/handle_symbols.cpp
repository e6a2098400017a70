#include "adapters/mpi/calls/handle_symbols.hpp"

#include <atomic>
#include <cstring>
#include <dlfcn.h>

#include "adapters/mpi/calls/fortran.hpp"
#include "adapters/mpi/calls/fortran_symbols.hpp"
#include "adapters/mpi/library.hpp"
#include "platform/errno_keeper.hpp"
#include "platform/symbols.hpp"

namespace refrain::adapters::mpi {
namespace {

enum class Language { None, C, Fortran };

/// By the beginning of the name. Profiling names are excluded: a caller that asks for one wants MPI's own function.
Language language_of(const char* name) {
  if (!name) return Language::None;
  for (const char* begin : {"MPI_", "MPIX_"})
    if (std::strncmp(name, begin, std::strlen(begin)) == 0) return Language::C;
  for (const char* begin : {"mpi_", "mpix_"})
    if (std::strncmp(name, begin, std::strlen(begin)) == 0) return Language::Fortran;
  return Language::None;
}

/// Whether the wrapper of this name leads to where `found` lies. If another tool comes after this one, the wrapper
/// leads to that tool, which may be the caller and would call itself forever.
bool wrapper_leads_there(Language language, const char* name, const void* found) {
  if (language == Language::C) return is_in_library(found) && is_in_library(next_function(name));
  return is_in_fortran_library(found) && next_fortran_function(name) == found;
}

/// Leaves errno and dlerror() as they were after a successful look-up.
void* wrapper_of(Language language, const char* name, void* found) {
  const platform::ErrnoKeeper errno_keeper;
  void* wrapper = platform::function_of(platform::own_object(), name);
  if (wrapper && wrapper != found) {
    if (!wrapper_leads_there(language, name, found)) wrapper = nullptr;
    dlerror();
  }
  return wrapper;
}

void* as_measured(void* found, const char* name) {
  const Language language = found ? language_of(name) : Language::None;
  if (language == Language::None) return found;
  void* wrapper = wrapper_of(language, name, found);
  return wrapper ? wrapper : found;
}

}  // namespace
}  // namespace refrain::adapters::mpi

extern "C" {

// Shared with the assembly code (x86_64/handle_stubs.cpp).
std::atomic<void*> refrain_next_dlsym{nullptr};
std::atomic<void*> refrain_next_dlvsym{nullptr};

void* refrain_find_dlsym() {
  void* found = refrain::platform::next_function_of_process("dlsym");
  refrain_next_dlsym.store(found, std::memory_order_relaxed);
  return found;
}
void* refrain_find_dlvsym() {
  void* found = refrain::platform::next_function_of_process("dlvsym");
  refrain_next_dlvsym.store(found, std::memory_order_relaxed);
  return found;
}

/// dlsym() and dlvsym() with a handle.
void* refrain_symbol_of_handle(void* handle, const char* name) {
  void* next = refrain_next_dlsym.load(std::memory_order_relaxed);
  if (!next) next = refrain_find_dlsym();
  void* found = reinterpret_cast<decltype(&::dlsym)>(next)(handle, name);
  return refrain::adapters::mpi::as_measured(found, name);
}
void* refrain_versioned_symbol_of_handle(void* handle, const char* name, const char* version) {
  void* next = refrain_next_dlvsym.load(std::memory_order_relaxed);
  if (!next) next = refrain_find_dlvsym();
  void* found = reinterpret_cast<decltype(&::dlvsym)>(next)(handle, name, version);
  return refrain::adapters::mpi::as_measured(found, name);
}

}  // extern "C"
