#include "tools/elf_image.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string_view>
#include <strings.h>
#include <unistd.h>

namespace refrain::tools {
namespace {

/// Closes the file that libelf reads after libelf is done with it.
struct OpenElf {
  explicit OpenElf(const std::filesystem::path& file) : descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor >= 0 && elf_version(EV_CURRENT) != EV_NONE) elf = elf_begin(descriptor, ELF_C_READ_MMAP, nullptr);
  }
  ~OpenElf() {
    if (elf) elf_end(elf);
    if (descriptor >= 0) close(descriptor);
  }
  OpenElf(const OpenElf&) = delete;
  OpenElf& operator=(const OpenElf&) = delete;

  int descriptor;
  Elf* elf = nullptr;
};

void read_dynamic(Elf* elf, const GElf_Shdr& header, Elf_Data* data, ElfImage& image) {
  if (header.sh_entsize == 0) return;
  for (std::size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
    GElf_Dyn entry;
    if (!gelf_getdyn(data, static_cast<int>(i), &entry) || entry.d_tag == DT_NULL) return;
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH)
      continue;
    const char* text = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
    if (!text) continue;
    if (entry.d_tag == DT_NEEDED) image.needed.emplace_back(text);
    if (entry.d_tag == DT_SONAME) image.soname = text;
    if (entry.d_tag == DT_RPATH) image.rpath = text;
    if (entry.d_tag == DT_RUNPATH) image.runpath = text;
  }
}

void read_needed_versions(Elf* elf, const GElf_Shdr& header, Elf_Data* data, ElfImage& image) {
  GElf_Verneed file;
  for (int at = 0; gelf_getverneed(data, at, &file); at += static_cast<int>(file.vn_next)) {
    const char* name = elf_strptr(elf, header.sh_link, file.vn_file);
    GElf_Vernaux version;
    int below = at + static_cast<int>(file.vn_aux);
    for (int i = 0; i < file.vn_cnt && gelf_getvernaux(data, below, &version); ++i) {
      const char* text = elf_strptr(elf, header.sh_link, version.vna_name);
      const bool is_weak = (version.vna_flags & VER_FLG_WEAK) != 0;
      if (name && text && !is_weak && std::strcmp(name, "libc.so.6") == 0) image.needed_versions.emplace_back(text);
      if (version.vna_next == 0) break;
      below += static_cast<int>(version.vna_next);
    }
    if (file.vn_next == 0) return;
  }
}

void read_defined_versions(Elf* elf, const GElf_Shdr& header, Elf_Data* data, ElfImage& image) {
  GElf_Verdef version;
  for (int at = 0; gelf_getverdef(data, at, &version); at += static_cast<int>(version.vd_next)) {
    GElf_Verdaux name;
    if (gelf_getverdaux(data, at + static_cast<int>(version.vd_aux), &name))
      if (const char* text = elf_strptr(elf, header.sh_link, name.vda_name)) image.defined_versions.emplace_back(text);
    if (version.vd_next == 0) return;
  }
}

bool is_mpi_name(std::string_view name) {
  if (name.starts_with('P') || name.starts_with('p')) name.remove_prefix(1);
  return name.starts_with("MPI_") || name.starts_with("mpi_");
}

void read_dynamic_symbols(Elf* elf, const GElf_Shdr& header, Elf_Data* data, ElfImage& image) {
  if (header.sh_entsize == 0) return;
  for (std::size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
    GElf_Sym symbol;
    if (!gelf_getsym(data, static_cast<int>(i), &symbol)) return;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (!name) continue;
    const auto type = GELF_ST_TYPE(symbol.st_info);
    const bool is_data = type == STT_OBJECT || type == STT_COMMON || type == STT_TLS;
    if (symbol.st_shndx == SHN_UNDEF) {
      image.loads_libraries |= std::strcmp(name, "dlopen") == 0;
      if (is_mpi_name(name) && !is_data && GELF_ST_BIND(symbol.st_info) != STB_WEAK) image.undefined.emplace_back(name);
      continue;
    }
    if (is_mpi_name(name) && !is_data) image.defined.emplace_back(name);
    if (strncasecmp(name, "mpi", 3) == 0 && type == STT_FUNC) image.functions_in_any_case.emplace_back(name);
  }
}

}  // namespace

std::optional<ElfImage> read_elf_image(const std::filesystem::path& file) {
  OpenElf open_file{file};
  GElf_Ehdr header;
  if (!open_file.elf || elf_kind(open_file.elf) != ELF_K_ELF || !gelf_getehdr(open_file.elf, &header))
    return std::nullopt;
  Elf* elf = open_file.elf;
  ElfImage image;
  image.is_64_bit = header.e_ident[EI_CLASS] == ELFCLASS64;
  image.machine = header.e_machine;
  std::size_t segments = 0;
  elf_getphdrnum(elf, &segments);
  for (std::size_t i = 0; i < segments; ++i) {
    GElf_Phdr segment;
    if (!gelf_getphdr(elf, static_cast<int>(i), &segment)) break;
    if (segment.p_type == PT_DYNAMIC) image.is_dynamic = true;
    if (segment.p_type == PT_INTERP) {
      image.has_interpreter = true;
      std::size_t size = 0;
      if (const char* raw = elf_rawfile(elf, &size); raw && segment.p_offset < size)
        image.interpreter.assign(
            raw + segment.p_offset,
            strnlen(raw + segment.p_offset, std::min<std::size_t>(segment.p_filesz, size - segment.p_offset)));
    }
    if (segment.p_type == PT_GNU_EH_FRAME) image.has_search_table = image.has_unwind_tables = true;
  }
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return image;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr section_header;
    if (!gelf_getshdr(section, &section_header)) continue;
    if (section_header.sh_type == SHT_SYMTAB) image.has_symbols = true;
    const char* text = elf_strptr(elf, names, section_header.sh_name);
    std::string name = text ? text : "";
    if (name == ".debug_info" || name == ".zdebug_info") image.has_debug_info = true;
    if (name == ".eh_frame" && section_header.sh_type != SHT_NOBITS) image.has_unwind_tables = true;
    if (name == ".gnu_debuglink" || name == ".note.gnu.build-id") image.has_debug_link = true;
    const auto read = section_header.sh_type == SHT_DYNAMIC       ? read_dynamic
                      : section_header.sh_type == SHT_DYNSYM      ? read_dynamic_symbols
                      : section_header.sh_type == SHT_GNU_verneed ? read_needed_versions
                      : section_header.sh_type == SHT_GNU_verdef  ? read_defined_versions
                                                                  : nullptr;
    if (Elf_Data* data = read ? elf_getdata(section, nullptr) : nullptr) read(elf, section_header, data, image);
  }
  return image;
}

}  // namespace refrain::tools
