#include "offline/symbols/plt.hpp"

#include <algorithm>
#include <cstring>
#include <gelf.h>
#include <string_view>
#include <unordered_map>

#include "offline/symbols/names.hpp"

namespace refrain::symbols {
namespace {

/// Imported symbol by the address of the table slot that the loader fills in.
std::unordered_map<std::uint64_t, std::string> imported_slots(Elf* elf) {
  std::unordered_map<std::uint64_t, std::string> slots;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header, symbols_header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_RELA || header.sh_entsize == 0) continue;
    Elf_Scn* symbols_section = elf_getscn(elf, header.sh_link);
    Elf_Data* relocations = elf_getdata(section, nullptr);
    Elf_Data* symbols = symbols_section != nullptr ? elf_getdata(symbols_section, nullptr) : nullptr;
    if (relocations == nullptr || symbols == nullptr || gelf_getshdr(symbols_section, &symbols_header) == nullptr)
      continue;
    for (std::size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
      GElf_Rela relocation;
      GElf_Sym symbol;
      if (gelf_getrela(relocations, static_cast<int>(i), &relocation) == nullptr) break;
      const auto type = GELF_R_TYPE(relocation.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
      if (gelf_getsym(symbols, static_cast<int>(GELF_R_SYM(relocation.r_info)), &symbol) == nullptr) continue;
      const char* name = elf_strptr(elf, symbols_header.sh_link, symbol.st_name);
      if (name != nullptr && *name != '\0') slots.emplace(relocation.r_offset, name);
    }
  }
  return slots;
}

}  // namespace

std::vector<std::pair<std::uint64_t, std::string>> plt_stubs(Elf* elf) {
  std::vector<std::pair<std::uint64_t, std::string>> stubs;
  GElf_Ehdr elf_header;
  std::size_t names = 0;
  if (gelf_getehdr(elf, &elf_header) == nullptr || elf_header.e_machine != EM_X86_64) return stubs;
  if (elf_getshdrstrndx(elf, &names) != 0) return stubs;
  const auto slots = imported_slots(elf);
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_PROGBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || !std::string_view(name).starts_with(".plt")) continue;
    const Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    const auto* bytes = static_cast<const unsigned char*>(data->d_buf);
    const std::size_t stride = std::string_view(name) == ".plt.got" && header.sh_entsize == 8 ? 8 : 16;
    for (std::size_t at = 0; at + stride <= data->d_size; at += stride) {
      for (std::size_t i = at; i + 6 <= at + stride; ++i) {  // jmp *displacement(%rip)
        if (bytes[i] != 0xff || bytes[i + 1] != 0x25) continue;
        std::int32_t displacement;
        std::memcpy(&displacement, bytes + i + 2, sizeof displacement);
        const auto slot = slots.find(header.sh_addr + i + 6 + static_cast<std::int64_t>(displacement));
        if (slot != slots.end()) stubs.emplace_back(header.sh_addr + at, function_name(slot->second).text + "@plt");
        break;
      }
    }
  }
  std::sort(stubs.begin(), stubs.end());
  return stubs;
}

}  // namespace refrain::symbols
