#pragma once
/// The files of one module: finds them, then asks DWARF, symbol tables and PLT in turn.
///
/// Sources, best first: DWARF of the module or of its separate debug file (by build-id, then by .gnu_debuglink),
/// .symtab, .gnu_debugdata, .dynsym. A file whose build-id is not that of the run gives no names at all, and a note.

#include <cstdint>
#include <elfutils/libdwfl.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offline/symbols/frame_entries.hpp"
#include "offline/symbols/inline_frames.hpp"
#include "offline/symbols/source_frame.hpp"

namespace refrain::symbols {

/// The separate debug file of a build-id, whether or not it exists. Empty: a module without a build-id has none.
std::string debug_file_of(const std::string& directory, const std::string& build_id);

class ModuleSymbols {
 public:
  ModuleSymbols(const std::string& path, const std::string& build_id, const std::string& debug_directory);
  ModuleSymbols(const ModuleSymbols&) = delete;
  ModuleSymbols& operator=(const ModuleSymbols&) = delete;
  ~ModuleSymbols();

  /// The best source among the files.
  NameSource source() const { return source_; }
  /// Frames of a place, innermost first; never empty. A function without a name has no text: `named` is false, and
  /// `begin` says where it is.
  std::vector<SourceFrame> frames(const Place& place);
  /// Message why there are no names; empty: there are.
  const std::string& note() const { return note_; }

 private:
  struct Symbol {
    std::uint64_t begin, end;  ///< equal: the table does not have its size
    std::uint64_t limit;       ///< end of its section
    std::uint64_t reach;       ///< largest `end` of this and all symbols before it
    const char* name;
    int rank;  ///< among symbols of equal address the lowest is the best name
  };

  bool open(const std::string& file, const std::string& build_id);
  NameSource find_source();
  void load();
  void load_symbols();
  const Symbol* find_symbol(std::uint64_t address) const;
  /// Where the function begins, by the unwind tables.
  std::optional<std::uint64_t> function_at(std::uint64_t instruction);
  void name_by_unwind_tables(SourceFrame& frame, std::uint64_t address, std::uint64_t instruction);

  std::string path_;
  std::string note_;
  std::string debug_path_;
  char* debug_path_pointer_ = nullptr;
  Dwfl_Callbacks callbacks_{};
  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  Dwarf* debug_ = nullptr;
  NameSource source_ = NameSource::None;
  bool is_loaded_ = false;
  std::vector<Symbol> symbols_;
  std::vector<std::pair<std::uint64_t, std::string>> stubs_;  ///< PLT entries: address, name
  std::uint64_t entry_ = 0;                                   ///< of an executable, else 0
  std::optional<FrameEntries> entries_;                       ///< read when a function without a name is met
  std::optional<InlineFrames> dwarf_;
};

}  // namespace refrain::symbols
