#pragma once
/// Functions of a module by its unwind tables (.eh_frame), which a stripped program still has.

#include <cstdint>
#include <libelf.h>
#include <optional>
#include <vector>

namespace refrain::symbols {

class FrameEntries {
 public:
  /// Reads every entry that can be read. `elf` must outlive this object.
  explicit FrameEntries(Elf* elf);

  /// First address of the function that contains `address`. Code that compilers split from its function (.cold) has an
  /// entry of its own, but belongs to the function that jumps there.
  std::optional<std::uint64_t> function_at(std::uint64_t address) const;

 private:
  struct Entry {
    std::uint64_t begin, end;
    bool is_part;            ///< does not begin like a function that is called
    std::uint64_t function;  ///< `begin`, or that of the function which jumps into this part
  };

  const Entry* find(std::uint64_t address) const;
  void find_functions_of_parts(Elf* elf);

  std::vector<Entry> entries_;  ///< by `begin`
};

}  // namespace refrain::symbols
