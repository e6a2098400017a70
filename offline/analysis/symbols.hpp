#pragma once
/// Functions and source lines of addresses, found after the run in the program's files (elfutils).
///
/// Sources, best first: DWARF of the module or of its separate debug file (by build-id, then by .gnu_debuglink),
/// .symtab, .gnu_debugdata, .dynsym, and at last `module+0x1234`. A file whose build-id is not that of the run gives no
/// names at all, and a note. Nothing is fetched over a network: DEBUGINFOD_URLS is removed from the environment.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace refrain::analysis {

struct SourceFrame {
  std::string function;
  std::string file;      ///< empty: unknown
  int line = 0;          ///< 0: unknown; of the call when there is an inner frame
  bool inlined = false;  ///< expanded into the next frame of the list
  bool part = false;     ///< the rest of a function inlined in part: see FunctionName
  bool named = true;     ///< false: `function` is module+0x...
  bool full = true;      ///< false: without the parameters that the linker's name has
};

enum class Lookup : std::uint8_t {
  ReturnAddress,  ///< of a call in progress: the call is just before it
  Entry,          ///< a function as a whole: inlined functions are not expanded
};

class ModuleSymbols;

/// Not thread-safe. Every answer is kept, so references stay valid.
class Symbolizer {
 public:
  /// Where separate debug files are looked for, beside the module's own folder.
  explicit Symbolizer(std::string debug_directory = "/usr/lib/debug");
  ~Symbolizer();

  /// Frames at `address` (an address in the module's file), innermost first; never empty.
  const std::vector<SourceFrame>& resolve(const std::string& path, const std::string& build_id, std::uint64_t address,
                                          Lookup lookup);
  /// What the reader has to know about modules without names, one line each.
  std::vector<std::string> notes() const;

 private:
  struct Module {
    std::unique_ptr<ModuleSymbols> symbols;
    std::unordered_map<std::uint64_t, std::vector<SourceFrame>> answers[2];
  };
  std::string debug_directory_;
  std::unordered_map<std::string, Module> modules_;  ///< by path and build-id
};

}  // namespace refrain::analysis
