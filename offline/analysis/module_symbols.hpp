#pragma once
/// The names of one module: finds its files, then asks DWARF, symbol tables and PLT in turn.

#include <cstdint>
#include <elfutils/libdwfl.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offline/analysis/frame_entries.hpp"
#include "offline/analysis/inline_frames.hpp"
#include "offline/analysis/symbols.hpp"

namespace refrain::analysis {

class ModuleSymbols {
 public:
  ModuleSymbols(const std::string& path, const std::string& build_id, const std::string& debug_directory);
  ModuleSymbols(const ModuleSymbols&) = delete;
  ModuleSymbols& operator=(const ModuleSymbols&) = delete;
  ~ModuleSymbols();

  std::vector<SourceFrame> frames(std::uint64_t address, Lookup lookup);
  const std::string& note() const { return note_; }

 private:
  struct Symbol {
    std::uint64_t begin, end;  ///< equal: the table does not say how long it is
    std::uint64_t limit;       ///< end of its section
    std::uint64_t reach;       ///< largest `end` of this and all symbols before it
    const char* name;
    int rank;  ///< among symbols of equal address the lowest is the best name
  };

  bool open(const std::string& file, const std::string& build_id);
  void load_symbols();
  const Symbol* find_symbol(std::uint64_t address) const;
  /// Where the function begins, by the unwind tables.
  std::optional<std::uint64_t> function_at(std::uint64_t instruction);
  std::string name_at(std::uint64_t address) const;
  void name_by_unwind_tables(SourceFrame& frame, std::uint64_t address, std::uint64_t instruction);

  std::string path_;
  std::string note_;
  std::string debug_path_;
  char* debug_path_pointer_ = nullptr;
  Dwfl_Callbacks callbacks_{};
  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  std::vector<Symbol> symbols_;
  std::vector<std::pair<std::uint64_t, std::string>> stubs_;  ///< PLT entries: address, name
  std::uint64_t entry_ = 0;                                   ///< of an executable, else 0
  std::optional<FrameEntries> entries_;                       ///< read when a function without a name is met
  std::optional<InlineFrames> dwarf_;
};

}  // namespace refrain::analysis
