#include "platform/functions.hpp"

#include <cstring>
#include <elf.h>

#include "platform/mapped_file.hpp"

namespace refrain::platform {
namespace {

/// A mapped file of a module. Every access is checked against its size.
class ElfFile {
 public:
  explicit ElfFile(const char* path) { (void)file_.open(path); }

  /// `count` items at `offset`; null: the file is too short.
  template <class T>
  const T* at(std::uint64_t offset, std::uint64_t count = 1) const {
    const auto bytes = file_.bytes();
    if (offset > bytes.size() || count > (bytes.size() - offset) / sizeof(T) || offset % alignof(T) != 0)
      return nullptr;
    return reinterpret_cast<const T*>(bytes.data() + offset);
  }

 private:
  MappedFile file_;
};

void visit_table(const ElfFile& file, const Elf64_Shdr& symbols, const Elf64_Shdr& names, std::uintptr_t base,
                 VisitFunction visit) {
  const std::uint64_t count = symbols.sh_size / sizeof(Elf64_Sym);
  const auto* symbol = file.at<Elf64_Sym>(symbols.sh_offset, count);
  const char* text = file.at<char>(names.sh_offset, names.sh_size);
  if (!symbol || !text) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Elf64_Sym& s = symbol[i];
    const unsigned type = ELF64_ST_TYPE(s.st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s.st_shndx == SHN_UNDEF || s.st_name >= names.sh_size) continue;
    const char* name = text + s.st_name;
    const std::size_t length = strnlen(name, names.sh_size - s.st_name);
    visit({{name, length}, base + s.st_value, base + s.st_value + (s.st_size ? s.st_size : 1)});
  }
}

}  // namespace

void for_each_function(const char* path, std::uintptr_t base, VisitFunction visit) {
  const ElfFile file(path);
  const auto* header = file.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_shentsize != sizeof(Elf64_Shdr))
    return;
  const auto* sections = file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  if (!sections) return;
  for (unsigned i = 0; i < header->e_shnum; ++i)
    if ((sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM) &&
        sections[i].sh_link < header->e_shnum)
      visit_table(file, sections[i], sections[sections[i].sh_link], base, visit);
}

}  // namespace refrain::platform
