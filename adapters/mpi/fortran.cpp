#include "adapters/mpi/fortran.hpp"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <string_view>

#include "adapters/mpi/library.hpp"
#include "regions.hpp"

namespace refrain::adapters::mpi {

std::atomic<std::uint64_t> known_call_sites[1u << known_call_site_bits];
static_assert(region_count <= 1u << 10, "a region has 10 bits in known_call_sites");

namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool equal_but_for_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

bool strip_front(std::string_view& name, std::string_view prefix) {
  if (name.size() <= prefix.size() || !equal_but_for_case(name.substr(0, prefix.size()), prefix)) return false;
  name.remove_prefix(prefix.size());
  return true;
}

void strip_back(std::string_view& name, std::string_view suffix) {
  if (name.size() > suffix.size() && name.ends_with(suffix)) name.remove_suffix(suffix.size());
}

/// "mpi_send_f08ts_large_", "PMPI_SEND", "ompi_send_f", "mpi_alloc_mem_cptr_" -> what stands after "mpi_".
std::string_view bare_name(std::string_view name) {
  while (name.ends_with('_')) name.remove_suffix(1);
  for (std::string_view suffix : {"_large", "_f", "_f08", "_f08ts", "_cptr"}) strip_back(name, suffix);
  for (std::string_view prefix :
       {"mpi_", "mpix_", "pmpi_", "pmpix_", "ompi_", "ompix_", "mpir_", "mpixr_", "pmpir_", "pmpixr_"})
    if (strip_front(name, prefix)) break;
  return name;
}

bool is_fortran_library(const char* path) {
  const char* slash = std::strrchr(path, '/');
  const std::string_view name = slash ? slash + 1 : path;
  for (const char* const* library = fortran_library_names; *library; ++library)
    if (name.starts_with(*library)) return true;
  return false;
}

}  // namespace

bool is_fortran_form(const char* symbol, const char* function) {
  std::string_view name = function;
  strip_back(name, "_c");
  return equal_but_for_case(bare_name(symbol), bare_name(name));
}

bool judge_call_site(measurement::RegionId region, const void* return_address, std::uint64_t key) {
  const int saved_errno = errno;
  Dl_info caller{};
  const void* call = static_cast<const char*>(return_address) - 1;
  const bool verdict = dladdr(call, &caller) && caller.dli_fname && caller.dli_sname &&
                       is_fortran_library(caller.dli_fname) &&
                       is_fortran_form(caller.dli_sname, region_names[static_cast<unsigned>(region)]);
  known_call_sites[spread(key) >> (64 - known_call_site_bits)].store(key | verdict, std::memory_order_relaxed);
  errno = saved_errno;
  return verdict;
}

}  // namespace refrain::adapters::mpi
