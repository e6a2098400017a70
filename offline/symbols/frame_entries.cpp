#include "offline/symbols/frame_entries.hpp"

#include <algorithm>
#include <cstring>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <span>
#include <string_view>
#include <unordered_map>

namespace refrain::symbols {
namespace {

using Bytes = std::span<const unsigned char>;

/// Bytes of a module, and the address to which they will be mapped.
struct PlacedBytes {
  std::uint64_t address = 0;
  Bytes bytes;
};

template <class T>
bool read(Bytes& from, T& value) {
  if (from.size() < sizeof value) return false;
  std::memcpy(&value, from.data(), sizeof value);
  from = from.subspan(sizeof value);
  return true;
}

template <class T>
bool read_as(Bytes& from, std::uint64_t& value) {
  T plain;
  if (!read(from, plain)) return false;
  value = static_cast<std::uint64_t>(static_cast<std::int64_t>(plain));
  return true;
}

/// Reads a pointer in an encoding that tables of code addresses use; `address`: where the pointer itself is.
bool read_pointer(Bytes& from, unsigned encoding, std::uint64_t address, std::uint64_t& value) {
  switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      if (!read(from, value)) return false;
      break;
    case DW_EH_PE_udata2:
      if (!read_as<std::uint16_t>(from, value)) return false;
      break;
    case DW_EH_PE_udata4:
      if (!read_as<std::uint32_t>(from, value)) return false;
      break;
    case DW_EH_PE_sdata2:
      if (!read_as<std::int16_t>(from, value)) return false;
      break;
    case DW_EH_PE_sdata4:
      if (!read_as<std::int32_t>(from, value)) return false;
      break;
    default: return false;
  }
  if ((encoding & 0x70) == DW_EH_PE_pcrel) value += address;
  else if ((encoding & 0x70) != 0) return false;
  return true;
}

/// The encoding of pointers in the entries of a CIE; nullopt if the CIE is not understood.
std::optional<unsigned> pointer_encoding(const Dwarf_CIE& cie) {
  unsigned encoding = DW_EH_PE_absptr;
  if (cie.augmentation == nullptr || *cie.augmentation == 0) return encoding;
  if (*cie.augmentation != 'z' || cie.augmentation_data == nullptr) return std::nullopt;
  Bytes data(cie.augmentation_data, cie.augmentation_data_size);
  for (const char* a = cie.augmentation + 1; *a != 0; ++a) {
    std::uint8_t byte = 0;
    std::uint64_t ignored = 0;
    if (*a == 'S' || *a == 'B') continue;
    if (!read(data, byte)) return std::nullopt;
    if (*a == 'R') encoding = byte;
    else if (*a == 'P' && !read_pointer(data, byte & 0x0f, 0, ignored)) return std::nullopt;
    else if (*a != 'P' && *a != 'L') return std::nullopt;
  }
  return encoding;
}

/// Whether the first instruction of an entry says that the stack already has something beside the return address.
bool is_of_part(Bytes instructions) {
  for (const unsigned char instruction : instructions) {
    if (instruction == DW_CFA_nop) continue;
    return instruction == DW_CFA_def_cfa || instruction == DW_CFA_def_cfa_register ||
           instruction == DW_CFA_def_cfa_offset || instruction == DW_CFA_def_cfa_expression ||
           instruction == DW_CFA_expression || (instruction & 0xc0) == DW_CFA_offset;
  }
  return false;
}

template <class Visit>
void for_each_section(Elf* elf, Visit visit) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const bool is_code = (header.sh_flags & SHF_EXECINSTR) != 0;
    const char* name = elf_strptr(elf, names, header.sh_name);
    const bool is_table = name != nullptr && std::string_view(name) == ".eh_frame";
    if (!is_code && !is_table) continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    visit(PlacedBytes{header.sh_addr, Bytes(static_cast<const unsigned char*>(data->d_buf), data->d_size)}, is_code);
  }
}

/// Calls `visit(begin, end, is_part)` for each function of a .eh_frame section.
template <class Visit>
void for_each_entry(const unsigned char* ident, const PlacedBytes& table, Visit visit) {
  Elf_Data data{};
  data.d_buf = const_cast<unsigned char*>(table.bytes.data());
  data.d_size = table.bytes.size();
  data.d_type = ELF_T_BYTE;
  data.d_version = EV_CURRENT;
  std::unordered_map<Dwarf_Off, std::optional<unsigned>> encodings;
  Dwarf_CFI_Entry entry;
  for (Dwarf_Off at = 0, next = 0; dwarf_next_cfi(ident, &data, true, at, &next, &entry) == 0 && next > at; at = next) {
    if (dwarf_cfi_cie_p(&entry)) {
      encodings[at] = pointer_encoding(entry.cie);
      continue;
    }
    const auto encoding = encodings.find(entry.fde.CIE_pointer);
    if (encoding == encodings.end() || !encoding->second) continue;
    Bytes fields(entry.fde.start, entry.fde.end);
    const std::uint64_t address = table.address + static_cast<std::uint64_t>(entry.fde.start - table.bytes.data());
    std::uint64_t begin = 0, size = 0;
    if (!read_pointer(fields, *encoding->second, address, begin) ||
        !read_pointer(fields, *encoding->second & 0x0f, 0, size) || begin == 0 || begin + size <= begin)
      continue;
    // An entry of a 'z' CIE has augmentation data of its own: a length of one byte and, for C++, a pointer.
    std::uint8_t augmentation = 0;
    if (!read(fields, augmentation) || augmentation > fields.size()) continue;
    visit(begin, begin + size, is_of_part(fields.subspan(augmentation)));
  }
}

/// Calls `visit(from, to)` for what looks like a direct jump to another function: x86-64 jmp and jcc with 32 bits.
template <class Visit>
void for_each_jump(const PlacedBytes& code, Visit visit) {
  const unsigned char* bytes = code.bytes.data();
  for (std::size_t i = 0; i + 6 <= code.bytes.size(); ++i) {
    std::size_t field;
    if (bytes[i] == 0xe9) field = i + 1;
    else if (bytes[i] == 0x0f && (bytes[i + 1] & 0xf0) == 0x80) field = i + 2;
    else continue;
    std::int32_t distance;
    std::memcpy(&distance, bytes + field, sizeof distance);
    visit(code.address + i,
          code.address + field + sizeof distance + static_cast<std::uint64_t>(std::int64_t{distance}));
  }
}

}  // namespace

FrameEntries::FrameEntries(Elf* elf) {
  GElf_Ehdr header;
  if (gelf_getehdr(elf, &header) == nullptr || header.e_machine != EM_X86_64) return;
  for_each_section(elf, [&](const PlacedBytes& section, bool is_code) {
    if (is_code) return;
    for_each_entry(header.e_ident, section, [&](std::uint64_t begin, std::uint64_t end, bool is_part) {
      entries_.push_back({begin, end, is_part, begin});
    });
  });
  std::ranges::sort(entries_, {}, &Entry::begin);
  if (std::ranges::any_of(entries_, &Entry::is_part)) find_functions_of_parts(elf);
}

void FrameEntries::find_functions_of_parts(Elf* elf) {
  std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
  for (const Entry& entry : entries_) {
    if (!entry.is_part) continue;
    lowest = std::min(lowest, entry.begin);
    highest = std::max(highest, entry.end);
  }
  for_each_section(elf, [&](const PlacedBytes& section, bool is_code) {
    if (!is_code) return;
    for_each_jump(section, [&](std::uint64_t from, std::uint64_t to) {
      if (to < lowest || to >= highest) return;
      const Entry* part = find(to);
      if (part == nullptr || !part->is_part || part->function != part->begin) return;
      const Entry* function = find(from);
      if (function == nullptr || function->is_part) return;
      entries_[static_cast<std::size_t>(part - entries_.data())].function = function->begin;
    });
  });
}

const FrameEntries::Entry* FrameEntries::find(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(entries_, address, {}, &Entry::begin);
  if (after == entries_.begin() || address >= (after - 1)->end) return nullptr;
  return &*(after - 1);
}

std::optional<std::uint64_t> FrameEntries::function_at(std::uint64_t address) const {
  const Entry* entry = find(address);
  if (entry == nullptr) return std::nullopt;
  return entry->function;
}

}  // namespace refrain::symbols
