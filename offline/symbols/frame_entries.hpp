#pragma once
/// Functions of a module by its unwind tables (.eh_frame): what a stripped program still tells of them.

#include <cstdint>
#include <libelf.h>
#include <optional>
#include <vector>

namespace refrain::symbols {

class FrameEntries {
 public:
  /// Every entry that can be read. `elf` must outlive this.
  explicit FrameEntries(Elf* elf);

  /// First address of the function that `address` lies in. Code that compilers have put apart from its function
  /// (.cold), which has an entry of its own, belongs to the function that jumps there.
  std::optional<std::uint64_t> function_at(std::uint64_t address) const;

 private:
  struct Entry {
    std::uint64_t begin, end;
    bool is_part;            ///< it does not begin as a called function does
    std::uint64_t function;  ///< `begin`, or that of the function which jumps into this part
  };

  const Entry* find(std::uint64_t address) const;
  void find_functions_of_parts(Elf* elf);

  std::vector<Entry> entries_;  ///< by `begin`
};

}  // namespace refrain::symbols
