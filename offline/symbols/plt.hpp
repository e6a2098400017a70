#pragma once
/// Names of PLT stubs: which imported function a stub jumps to, found by decoding its indirect jump (x86-64).

#include <cstdint>
#include <libelf.h>
#include <string>
#include <utility>
#include <vector>

namespace refrain::symbols {

/// (address of the stub, "name@plt"), ascending; each stub is 16 bytes, in .plt.got 8 or 16.
std::vector<std::pair<std::uint64_t, std::string>> plt_stubs(Elf* elf);

}  // namespace refrain::symbols
