#include "offline/symbols/module_symbols.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

#include "offline/symbols/build_id.hpp"
#include "offline/symbols/names.hpp"
#include "offline/symbols/plt.hpp"

namespace refrain::symbols {
namespace {

constexpr std::uint64_t plt_stub_bytes = 16;
/// Longest start-up code that is taken for `_start` when the executable has no symbols; that of glibc has 34 bytes.
constexpr std::uint64_t start_code_bytes = 48;

bool has_symbol_table(Elf* elf) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_SYMTAB) return true;
  }
  return false;
}

bool has_soname(Elf* elf) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNAMIC || header.sh_entsize == 0) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    for (std::size_t i = 0; data != nullptr && i < header.sh_size / header.sh_entsize; ++i) {
      GElf_Dyn entry;
      if (gelf_getdyn(data, static_cast<int>(i), &entry) != nullptr && entry.d_tag == DT_SONAME) return true;
    }
  }
  return false;
}

}  // namespace

std::string debug_file_of(const std::string& directory, const std::string& build_id) {
  if (build_id.size() < 3 || is_by_contents(build_id)) return {};
  return directory + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
}

ModuleSymbols::ModuleSymbols(const std::string& path, const std::string& build_id, const std::string& debug_directory)
    : path_(path), debug_path_(":.debug:" + debug_directory), debug_path_pointer_(debug_path_.data()) {
  callbacks_.find_elf = dwfl_build_id_find_elf;
  callbacks_.find_debuginfo = dwfl_standard_find_debuginfo;
  callbacks_.section_address = dwfl_offline_section_address;
  callbacks_.debuginfo_path = &debug_path_pointer_;
  if (!open(path, build_id)) {
    // The debug file of that very build still has the names when the module itself was rebuilt or removed.
    const std::string why = note_, debug_file = debug_file_of(debug_directory, build_id);
    if (debug_file.empty() || !open(debug_file, build_id)) {
      note_ = why;
      return;
    }
    note_.clear();
  }
  source_ = find_source();
}

ModuleSymbols::~ModuleSymbols() {
  dwarf_.reset();
  if (dwfl_ != nullptr) dwfl_end(dwfl_);
}

bool ModuleSymbols::open(const std::string& file, const std::string& build_id) {
  const std::string name(base_name(path_));
  if (dwfl_ != nullptr) dwfl_end(dwfl_);
  module_ = nullptr;
  dwfl_ = dwfl_begin(&callbacks_);
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    note_ =
        name + ": " + file + " cannot be opened (" + std::strerror(errno) + "); its functions are shown as addresses";
    return false;
  }
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor);
    note_ = name + ": " + file + " is not a file; its functions are shown as addresses";
    return false;
  }
  const bool by_contents = is_by_contents(build_id);
  if (by_contents && identity_of_file(descriptor) != build_id) {
    close(descriptor);
    note_ =
        name + ": " + file + " is not the file that ran, which had no build-id; its functions are shown as addresses";
    return false;
  }
  // Base 0: addresses are those of the file. The descriptor now belongs to the module.
  dwfl_report_begin(dwfl_);
  module_ = dwfl_report_elf(dwfl_, name.c_str(), file.c_str(), descriptor, 0, true);
  dwfl_report_end(dwfl_, nullptr, nullptr);
  GElf_Addr bias = 0;
  if (module_ == nullptr) close(descriptor);
  if (module_ == nullptr || dwfl_module_getelf(module_, &bias) == nullptr) {
    note_ = name + ": " + file + " is no ELF file (" + dwfl_errmsg(-1) + "); its functions are shown as addresses";
    module_ = nullptr;
    return false;
  }
  const unsigned char* bits = nullptr;
  GElf_Addr at = 0;
  const int size = dwfl_module_build_id(module_, &bits, &at);
  const std::string found = size > 0 ? hexadecimal(bits, size) : std::string();
  if (!build_id.empty() && !by_contents && found != build_id) {
    note_ = name + ": " + file + " is not the file that ran (build-id " + build_id.substr(0, 12) + " then, " +
            (found.empty() ? "none" : found.substr(0, 12)) + " now); its functions are shown as addresses";
    module_ = nullptr;
    return false;
  }
  return true;
}

NameSource ModuleSymbols::find_source() {
  Dwarf_Addr bias = 0;
  if (Dwarf* debug = dwfl_module_getdwarf(module_, &bias); debug != nullptr && bias == 0) {
    debug_ = debug;
    return NameSource::Debug;
  }
  const int count = dwfl_module_getsymtab(module_);
  Elf* last_file = nullptr;
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    Elf* file = nullptr;
    dwfl_module_getsym_info(module_, i, &symbol, &address, nullptr, &file, nullptr);
    if (file == nullptr || file == last_file) continue;
    if (has_symbol_table(last_file = file)) return NameSource::Symbols;
  }
  return NameSource::Exported;
}

/// Slow work is done when the first address is looked up.
void ModuleSymbols::load() {
  if (is_loaded_) return;
  is_loaded_ = true;
  load_symbols();
  if (debug_ != nullptr) dwarf_.emplace(debug_);
}

void ModuleSymbols::load_symbols() {
  GElf_Addr bias = 0;
  Elf* main_file = dwfl_module_getelf(module_, &bias);
  GElf_Ehdr header;
  if (gelf_getehdr(main_file, &header) != nullptr && !has_soname(main_file)) entry_ = header.e_entry;
  stubs_ = plt_stubs(main_file);

  const int count = dwfl_module_getsymtab(module_);
  Elf* last_file = nullptr;
  bool full_table = false;
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section_index = 0;
    Elf* file = nullptr;
    Dwarf_Addr file_bias = 0;
    const char* name = dwfl_module_getsym_info(module_, i, &symbol, &address, &section_index, &file, &file_bias);
    if (name == nullptr || *name == '\0' || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) continue;
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
    GElf_Shdr section{};
    if (gelf_getshdr(elf_getscn(file, section_index), &section) == nullptr || !(section.sh_flags & SHF_EXECINSTR))
      continue;
    if (file != last_file) full_table = has_symbol_table(last_file = file);
    // Hidden functions lie between exported ones, so a .dynsym symbol without a size does not say where it ends.
    if ((symbol.st_size == 0 || type == STT_NOTYPE) && !full_table) continue;
    const int binding = GELF_ST_BIND(symbol.st_info);
    const int rank = (type == STT_NOTYPE ? 4 : 0) + (binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2);
    const std::uint64_t limit = section.sh_addr + section.sh_size;
    symbols_.push_back({address, std::min(address + symbol.st_size, limit), limit, 0, name, rank});
  }
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    // The last of several symbols at one address wins, so the best is last.
    return std::tuple(a.begin, a.end != a.begin, order_of_names(b.rank, b.name)) <
           std::tuple(b.begin, b.end != b.begin, order_of_names(a.rank, a.name));
  });
  std::uint64_t reach = 0;
  for (Symbol& symbol : symbols_) symbol.reach = reach = std::max(reach, symbol.end);
}

const ModuleSymbols::Symbol* ModuleSymbols::find_symbol(std::uint64_t address) const {
  const auto after = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                      [](std::uint64_t a, const Symbol& symbol) { return a < symbol.begin; });
  for (auto at = after; at != symbols_.begin() && (at - 1)->reach > address; --at)
    if (address < (at - 1)->end) return &*(at - 1);
  if (after == symbols_.begin()) return nullptr;
  const Symbol& nearest = *(after - 1);
  return nearest.end == nearest.begin && address < nearest.limit ? &nearest : nullptr;
}

std::optional<std::uint64_t> ModuleSymbols::function_at(std::uint64_t instruction) {
  GElf_Addr bias = 0;
  if (!entries_) entries_.emplace(dwfl_module_getelf(module_, &bias));
  return entries_->function_at(instruction);
}

/// Gives all code of a function the same name: that of its first address.
void ModuleSymbols::name_by_unwind_tables(SourceFrame& frame, std::uint64_t address, std::uint64_t instruction) {
  const std::optional<std::uint64_t> begin = function_at(instruction);
  if (const Symbol* symbol = begin ? find_symbol(*begin) : nullptr; symbol != nullptr) {
    const FunctionName name = function_name(symbol->name);
    frame.function = name.text;
    frame.part = name.part;
    return;
  }
  frame.begin = begin.value_or(address);
  frame.named = false;
}

std::vector<SourceFrame> ModuleSymbols::frames(const Place& place) {
  const auto [address, lookup] = place;
  const std::uint64_t instruction = lookup == Lookup::ReturnAddress && address > 0 ? address - 1 : address;
  if (module_ == nullptr) return {{.named = false, .begin = address}};
  load();

  std::vector<SourceFrame> result;
  if (dwarf_) result = dwarf_->frames(instruction, lookup != Lookup::Entry);
  if (result.empty()) {
    result.emplace_back();
    if (dwarf_) dwarf_->line(instruction, result[0].file, result[0].line);
  }
  SourceFrame& outermost = result.back();
  if (const Symbol* symbol = find_symbol(instruction); symbol != nullptr) {
    const FunctionName name = function_name(symbol->name);
    outermost.part = name.part;
    if (outermost.function.empty() || !outermost.full) outermost.function = name.text;
  }
  if (!outermost.function.empty()) return result;

  auto stub = std::upper_bound(stubs_.begin(), stubs_.end(), instruction,
                               [](std::uint64_t a, const auto& s) { return a < s.first; });
  if (stub != stubs_.begin() && instruction < (--stub)->first + plt_stub_bytes) {
    outermost.function = stub->second;
  } else if (entry_ != 0 && instruction >= entry_ && instruction < entry_ + start_code_bytes) {
    outermost.function = "_start";
  } else {
    name_by_unwind_tables(outermost, address, instruction);
  }
  return result;
}

}  // namespace refrain::symbols
