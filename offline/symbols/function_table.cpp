#include "offline/symbols/function_table.hpp"

#include <algorithm>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>
#include <utility>

#include "offline/symbols/build_id.hpp"
#include "offline/symbols/names.hpp"
#include "offline/symbols/names_container.hpp"

namespace refrain::symbols {
namespace {

/// An open file and its libelf handle.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    elf_version(EV_CURRENT);
    if (descriptor_ >= 0) elf_ = elf_begin(descriptor_, ELF_C_READ_MMAP, nullptr);
    if (elf_ != nullptr && elf_kind(elf_) != ELF_K_ELF) elf_end(std::exchange(elf_, nullptr));
  }
  ~ElfFile() {
    if (elf_ != nullptr) elf_end(elf_);
    if (descriptor_ >= 0) close(descriptor_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  Elf* elf() const { return elf_; }
  int descriptor() const { return descriptor_; }
  /// Calls visit(section, header) until `visit` returns true.
  template <class Visit>
  bool any_section(Visit visit) const {
    for (Elf_Scn* section = nullptr; elf_ != nullptr && (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) != nullptr && visit(section, header)) return true;
    }
    return false;
  }

 private:
  int descriptor_;
  Elf* elf_ = nullptr;
};

/// The build-id in the notes of the program headers, where the runtime finds it in the mapped file.
std::string build_id_of_file(const ElfFile& file) {
  std::size_t count = 0;
  if (elf_getphdrnum(file.elf(), &count) != 0) return {};
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(file.elf(), static_cast<int>(i), &segment) == nullptr || segment.p_type != PT_NOTE) continue;
    Elf_Data* data = elf_getdata_rawchunk(file.elf(), static_cast<std::int64_t>(segment.p_offset), segment.p_filesz,
                                          segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    GElf_Nhdr note;
    std::size_t name = 0, contents = 0;
    for (std::size_t at = 0; data != nullptr && (at = gelf_getnote(data, at, &note, &name, &contents)) > 0;) {
      const auto* bytes = static_cast<const unsigned char*>(data->d_buf);
      constexpr std::string_view gnu("GNU", sizeof "GNU");
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != gnu.size() ||
          std::string_view(reinterpret_cast<const char*>(bytes) + name, gnu.size()) != gnu)
        continue;
      return hexadecimal(bytes + contents, static_cast<int>(note.n_descsz));
    }
  }
  return {};
}

/// More than any MPI library has; reading this many takes a tenth of a second.
constexpr std::uint64_t most_symbols = 1'000'000;

struct TableSymbol {
  std::uint64_t begin, size;
  int rank;
  const char* name;
};

std::vector<TableSymbol> symbols_in(const ElfFile& file, Elf_Scn* section, const GElf_Shdr& header) {
  std::vector<TableSymbol> symbols;
  Elf_Data* data = elf_getdata(section, nullptr);
  const std::uint64_t count = header.sh_entsize == 0 || data == nullptr ? 0 : header.sh_size / header.sh_entsize;
  if (count > most_symbols) return symbols;
  for (std::uint64_t i = 1; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    const int type = GELF_ST_TYPE(symbol.st_info), binding = GELF_ST_BIND(symbol.st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
    const char* name = elf_strptr(file.elf(), header.sh_link, symbol.st_name);
    if (name == nullptr || *name == '\0') continue;
    const int rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
    symbols.push_back({symbol.st_value, symbol.st_size, rank, name});
  }
  return symbols;
}

void add_table(ByteList& to, const FunctionTable& table, TextsToWrite& texts) {
  to.add_varint(texts.number_of(table.path));
  to.add_varint(texts.number_of(table.build_id));
  to.add_varint(table.functions.size());
  std::uint64_t last = 0;
  for (const FunctionTable::Function& of : table.functions) {
    to.add_varint(of.begin - last);
    last = of.begin;
    to.add_varint(of.size);
    to.add_varint(texts.number_of(of.name));
  }
}

std::vector<std::byte> bytes_of_tables(std::span<const FunctionTable> tables) {
  constexpr int level = 1;  // a program waits for it
  TextsToWrite texts;
  ByteList contents;
  contents.add_varint(tables.size());
  for (const FunctionTable& table : tables) add_table(contents, table, texts);
  return container_of(texts, format::Section::Functions, contents, level);
}

}  // namespace

FunctionTable functions_of(const std::string& path) {
  FunctionTable table{path, {}, {}};
  const ElfFile file(path);
  if (file.elf() == nullptr) return table;
  table.build_id = build_id_of_file(file);
  if (table.build_id.empty()) table.build_id = identity_of_file(file.descriptor());
  std::vector<TableSymbol> symbols;
  for (const auto type : {SHT_SYMTAB, SHT_DYNSYM})
    if (symbols.empty())
      file.any_section([&](Elf_Scn* section, const GElf_Shdr& header) {
        if (header.sh_type != static_cast<GElf_Word>(type)) return false;
        symbols = symbols_in(file, section, header);
        return true;
      });
  std::ranges::sort(symbols, [](const TableSymbol& a, const TableSymbol& b) {
    return std::pair(a.begin, order_of_names(a.rank, a.name)) < std::pair(b.begin, order_of_names(b.rank, b.name));
  });
  for (const TableSymbol& of : symbols)
    if (table.functions.empty() || table.functions.back().begin != of.begin)
      table.functions.push_back({of.begin, of.size, of.name});
  return table;
}

FunctionTables function_tables_of(std::span<const std::string> files, std::chrono::milliseconds most_time,
                                  std::size_t most_bytes) {
  const auto deadline = std::chrono::steady_clock::now() + most_time;
  std::vector<FunctionTable> tables;
  for (const std::string& file : files) {
    if (std::chrono::steady_clock::now() > deadline) break;
    if (FunctionTable table = functions_of(file); !table.functions.empty()) tables.push_back(std::move(table));
    else if (&file == &files.front()) return {};
  }
  FunctionTables result;
  while (!tables.empty()) {
    result.bytes = bytes_of_tables(tables);
    if (result.bytes.size() <= most_bytes) break;
    tables.resize(tables.size() / 2);
  }
  if (tables.empty()) return {};
  result.id = tables.front().build_id;
  return result;
}

std::vector<FunctionTable> parse_function_tables(const experiment::InputFile& file) {
  constexpr std::size_t least_table_size = 3, least_function_size = 3;
  ContainerReader reader(file, format::Section::Functions, "functions");
  experiment::SectionReader& in = reader.in();
  std::vector<FunctionTable> tables;
  for (std::size_t left = in.count(least_table_size); left > 0; --left) {
    FunctionTable& table = tables.emplace_back();
    table.path = reader.text();
    table.build_id = reader.text();
    std::uint64_t last = 0;
    for (std::size_t functions = in.count(least_function_size); functions > 0; --functions) {
      const std::uint64_t begin = last + in.varint(), size = in.varint();
      if (begin < last) in.refuse("functions that are not in the order of their addresses");
      last = begin;
      table.functions.push_back({begin, size, reader.text()});
      in.check();
    }
    in.check();
  }
  in.finish();
  return tables;
}

SourceFrame frame_in(const FunctionTable& table, const Place& place) {
  const bool is_of_call = place.lookup == Lookup::ReturnAddress && place.address > 0;
  const std::uint64_t instruction = is_of_call ? place.address - 1 : place.address;
  const auto after = std::ranges::upper_bound(table.functions, instruction, {}, &FunctionTable::Function::begin);
  if (after == table.functions.begin()) return {.named = false, .begin = place.address};
  const FunctionTable::Function& of = *std::prev(after);
  if (instruction - of.begin >= of.size) return {.named = false, .begin = place.address};
  FunctionName name = function_name(of.name);
  return {.function = std::move(name.text), .part = name.part};
}

}  // namespace refrain::symbols
