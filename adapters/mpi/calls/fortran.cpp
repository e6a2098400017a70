#include "adapters/mpi/calls/fortran.hpp"

#include <dlfcn.h>
#include <link.h>
#include <string_view>

#include "adapters/mpi/library.hpp"
#include "config/text.hpp"
#include "platform/call_target.hpp"
#include "platform/errno_keeper.hpp"
#include "platform/functions.hpp"
#include "regions.hpp"

namespace refrain::adapters::mpi {

KnownCallSite known_call_sites[1u << known_call_site_bits];
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

/// "mpi_send_f08ts_large_", "PMPI_SEND", "ompi_send_f", "mpi_alloc_mem_cptr_" -> the part after "mpi_".
std::string_view bare_name(std::string_view name) {
  while (name.ends_with('_')) name.remove_suffix(1);
  for (std::string_view suffix : {"_large", "_f", "_f08", "_f08ts", "_cptr"}) strip_back(name, suffix);
  for (std::string_view prefix :
       {"mpi_", "mpix_", "pmpi_", "pmpix_", "ompi_", "ompix_", "mpir_", "mpixr_", "pmpir_", "pmpixr_"})
    if (strip_front(name, prefix)) break;
  return name;
}

/// Whether `symbol` of a layer ("mpi_send_", "ompi_send_f", "mpi_send_f08ts_large_", "MPI_Send_c") is a form of the C
/// function `function` ("MPI_Send", "MPI_Send_c").
bool is_form_of(std::string_view symbol, std::string_view function) {
  std::string_view of_symbol = bare_name(symbol), of_function = bare_name(function);
  strip_back(of_symbol, "_c");
  strip_back(of_function, "_c");
  return equal_but_for_case(of_symbol, of_function);
}

bool begins_as_one_of(const char* path, const char* const* names) {
  const std::string_view file = config::file_name_of(path);
  for (; *names; ++names)
    if (file.starts_with(*names)) return true;
  return false;
}

bool is_fortran_library(const char* path) { return begins_as_one_of(path, fortran_library_names); }

/// Whether the letters are all small or all capital, as Fortran compilers spell names.
bool has_one_case(std::string_view name) {
  bool small = false, large = false;
  for (const char c : name) {
    small |= c >= 'a' && c <= 'z';
    large |= c >= 'A' && c <= 'Z';
  }
  return small != large;
}

/// Whether `address` is in a Fortran form of `function` that is linked into the program or into one of its libraries.
/// Such a function is seldom a dynamic symbol, so the file's own symbol table is read.
bool is_in_linked_fortran_function(const link_map& module, std::uintptr_t address, const char* function) {
  bool found = false;
  const char* path = *module.l_name ? module.l_name : "/proc/self/exe";
  platform::for_each_function(path, module.l_addr, [&](const platform::Function& candidate) {
    if (candidate.begin <= address && address < candidate.end && has_one_case(candidate.name))
      found |= is_form_of(candidate.name, function);
  });
  return found;
}

/// Whether `code` is neither MPI's own nor Refrain's.
bool is_outside_mpi(const Dl_info& code) {
  Dl_info mpi{}, own{};
  return open_library() && dladdr(reinterpret_cast<void*>(pmpi.Initialized), &mpi) && dladdr(known_call_sites, &own) &&
         code.dli_fbase != mpi.dli_fbase && code.dli_fbase != own.dli_fbase;
}

/// Whether `code` lies in a layer's form of the function.
bool is_layer(const Dl_info& code, const char* function) {
  return code.dli_fname && code.dli_sname && (is_fortran_library(code.dli_fname) || is_outside_mpi(code)) &&
         is_form_of(code.dli_sname, function);
}

/// Whether the call came from the layer, or, if the layer made a tail call, from the caller of the layer.
bool comes_through_layer(const void* return_address, const char* function) {
  const auto call = reinterpret_cast<std::uintptr_t>(return_address) - 1;
  Dl_info caller{}, target{};
  link_map* module = nullptr;
  const bool known =
      dladdr1(reinterpret_cast<void*>(call), &caller, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) &&
      caller.dli_fname;
  if (known && is_layer(caller, function)) return true;
  const void* called = platform::call_target(return_address);
  if (called && dladdr(called, &target) && target.dli_saddr == called && is_layer(target, function)) return true;
  return known && !is_fortran_library(caller.dli_fname) && !begins_as_one_of(caller.dli_fname, library_names) &&
         is_in_linked_fortran_function(*module, call, function);
}

}  // namespace

bool is_in_fortran_library(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) && info.dli_fname && is_fortran_library(info.dli_fname);
}

namespace {

/// The present value for KnownCallSite::checked.
std::uint64_t life_of(std::uintptr_t address) {
  const std::uint32_t generation = platform::module_generation();
  return std::uint64_t{platform::code_at(address).first} << 32 | generation;
}

}  // namespace

bool judge_call_site(measurement::RegionId region, const void* return_address, std::uint64_t key) {
  const platform::ErrnoKeeper errno_keeper;
  const std::uint64_t checked = life_of(reinterpret_cast<std::uintptr_t>(return_address) - 1);
  const bool verdict = comes_through_layer(return_address, region_names[static_cast<unsigned>(region)]);
  KnownCallSite* slots = slots_of_call_site(key);
  unsigned way = 0;
  while (way < known_call_site_ways && slots[way].key.load(std::memory_order_relaxed) != 0) ++way;
  if (way == known_call_site_ways) way = key >> 20 & (known_call_site_ways - 1);
  slots[way].key.store(0, std::memory_order_relaxed);
  slots[way].checked.store(checked, std::memory_order_release);
  slots[way].key.store(key | verdict, std::memory_order_release);
  return verdict;
}

bool check_call_site(KnownCallSite& site, std::uint64_t known, std::uint64_t checked) {
  const std::uint64_t now = life_of((known >> 11) - 1);
  if (now >> 32 == checked >> 32) {
    // If another site has taken the slot meanwhile, its generation stays.
    site.checked.compare_exchange_strong(checked, now, std::memory_order_relaxed);
    return true;
  }
  site.key.compare_exchange_strong(known, 0, std::memory_order_relaxed);
  return false;
}

}  // namespace refrain::adapters::mpi
