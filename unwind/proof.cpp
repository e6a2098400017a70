#include "unwind/proof.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <iterator>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "platform/mapped_file.hpp"
#include "unwind/frame_entry.hpp"
#include "unwind/table_source.hpp"
#include "unwind/walker.hpp"

namespace refrain::unwind {
namespace {

constexpr std::uintptr_t page_size = 4096;
constexpr unsigned points_per_segment = 64;

std::uintptr_t page_of(std::uintptr_t address) { return address & ~(page_size - 1); }

/// The segments of a file, mapped at the distances from each other that they will have.
class MappedImage {
 public:
  explicit MappedImage(const char* path) {
    platform::MappedFile file;
    if (!file.open(path) || !read_headers(file)) return;
    std::uintptr_t low = ~std::uintptr_t{0}, high = 0;
    for (const ElfW(Phdr) & header : headers_) {
      if (header.p_type != PT_LOAD || header.p_memsz == 0) continue;
      if (header.p_vaddr + header.p_memsz < header.p_vaddr) return;
      low = std::min(low, page_of(header.p_vaddr));
      high = std::max(high, header.p_vaddr + header.p_memsz);
    }
    constexpr std::uintptr_t largest = std::uintptr_t{1} << 44;
    if (low >= high || high - low > largest) return;
    size_ = high - low;
    // Other objects may be mapped behind this one or in its holes, so nothing there may be read.
    base_ = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base_ == MAP_FAILED) return;
    bias_ = reinterpret_cast<std::uintptr_t>(base_) - low;
    is_whole_ = map_segments(path, file.bytes().size());
  }
  ~MappedImage() {
    if (base_ != MAP_FAILED) munmap(base_, size_);
  }
  MappedImage(const MappedImage&) = delete;
  MappedImage& operator=(const MappedImage&) = delete;

  bool is_whole() const { return is_whole_; }
  dl_phdr_info info() const {
    dl_phdr_info result{};
    result.dlpi_addr = bias_;
    result.dlpi_phdr = headers_.data();
    result.dlpi_phnum = static_cast<ElfW(Half)>(headers_.size());
    return result;
  }

 private:
  bool read_headers(const platform::MappedFile& file) {
    const auto bytes = file.bytes();
    ElfW(Ehdr) header;
    if (bytes.size() < sizeof header) return false;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phoff > bytes.size() ||
        header.e_phnum > (bytes.size() - header.e_phoff) / sizeof(ElfW(Phdr)))
      return false;
    headers_.resize(header.e_phnum);
    std::memcpy(headers_.data(), bytes.data() + header.e_phoff, headers_.size() * sizeof(ElfW(Phdr)));
    return true;
  }

  bool map_segments(const char* path, std::size_t file_size) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool mapped = true;
    for (const ElfW(Phdr) & header : headers_) {
      if (header.p_type != PT_LOAD || header.p_filesz == 0) continue;
      const std::uintptr_t within = header.p_vaddr - page_of(header.p_vaddr);
      mapped = mapped && within == header.p_offset - page_of(header.p_offset) && header.p_filesz <= header.p_memsz &&
               header.p_offset <= file_size && header.p_filesz <= file_size - header.p_offset &&
               mmap(reinterpret_cast<void*>(bias_ + page_of(header.p_vaddr)), within + header.p_filesz, PROT_READ,
                    MAP_PRIVATE | MAP_FIXED, file, static_cast<off_t>(page_of(header.p_offset))) != MAP_FAILED;
    }
    close(file);
    return mapped;
  }

  std::vector<ElfW(Phdr)> headers_;
  void* base_ = MAP_FAILED;
  std::size_t size_ = 0;
  std::uintptr_t bias_ = 0;
  bool is_whole_ = false;
};

/// Whether the walker steps from the first instruction of a function to its caller, which is the outermost frame.
bool leaves(Walker& walker, std::uintptr_t function, std::uintptr_t* stack_pointer) {
  *stack_pointer = 0;
  const auto sp = reinterpret_cast<std::uintptr_t>(stack_pointer);
  const Walk walk = walker.walk({{function, sp, sp}, true, nullptr});
  return walk.end == WalkEnd::Complete && walk.depth == 1 && walk.frames[0].function == function;
}

void try_segment(Walker& walker, const ElfW(Phdr) & header, std::uintptr_t bias, std::uintptr_t* stack_pointer,
                 UnwindProof& proof) {
  for (unsigned i = 0; i < points_per_segment; ++i) {
    const std::uintptr_t address =
        bias + header.p_vaddr + header.p_filesz / points_per_segment * i + header.p_filesz / points_per_segment / 2;
    ++proof.tried;
    Table table;
    FrameEntry entry;
    if (!find_table(address, table) || !find_frame_entry(table, address, entry)) continue;
    ++proof.covered;
    if (leaves(walker, entry.begin, stack_pointer)) ++proof.unwound;
  }
}

}  // namespace

UnwindProof prove_unwinding(const char* path) {
  UnwindProof proof;
  const MappedImage image(path);
  if (!image.is_whole() || !start_rule_cache()) return proof;
  const dl_phdr_info info = image.info();
  use_tables_of(info);
  forget_rules();
  std::uintptr_t stack[64] = {};
  const WalkerMemory memory = map_walker_memory(8, 0);
  Walker walker;
  const StackBounds bounds{reinterpret_cast<std::uintptr_t>(stack), reinterpret_cast<std::uintptr_t>(std::end(stack))};
  if (memory.base && walker.create(bounds, memory, Backend::Incremental)) {
    proof.is_mapped = true;
    for (int i = 0; i < info.dlpi_phnum; ++i)
      if (info.dlpi_phdr[i].p_type == PT_LOAD && info.dlpi_phdr[i].p_flags & PF_X)
        try_segment(walker, info.dlpi_phdr[i], info.dlpi_addr, stack + std::size(stack) / 2, proof);
  }
  unmap_walker_memory(memory);
  use_tables_of(best_table_source());
  forget_rules();
  return proof;
}

}  // namespace refrain::unwind
