#pragma once
/// DWARF of one module: which functions, inlined ones included, are active at an address, and on which lines.
///
/// Compilation units are found by the ranges of their own entries (not every compiler writes .debug_aranges); the
/// functions of a unit are listed when the first address in it is looked up.

#include <cstdint>
#include <elfutils/libdw.h>
#include <string>
#include <unordered_map>
#include <vector>

#include "offline/symbols/source_frame.hpp"

namespace refrain::symbols {

class InlineFrames {
 public:
  explicit InlineFrames(Dwarf* dwarf);

  /// Frames at `address`, innermost first; without `expand_inlined` only that of the function with code of its own.
  /// Empty: DWARF knows no function here. A function without a name of its own in DWARF has an empty `function`.
  std::vector<SourceFrame> frames(std::uint64_t address, bool expand_inlined);
  /// Gives the file and line by the line table only. False: they are not known.
  bool line(std::uint64_t address, std::string& file, int& line);

 private:
  struct Function {
    std::uint64_t begin, end;
    Dwarf_Die die;
  };
  struct Unit {
    Dwarf_Die line_die;  ///< has the line table
    Dwarf_Die code_die;  ///< has the functions; differs with split DWARF
    int language;
    bool listed = false;
    std::vector<Function> functions;                        ///< by begin
    std::unordered_map<std::uint64_t, std::string> scopes;  ///< entry offset -> enclosing namespaces and classes
  };
  struct Range {
    std::uint64_t begin, end;
    std::size_t unit;
  };

  Unit* find_unit(std::uint64_t address);
  void list_functions(Unit& unit);
  void list_below(Unit& unit, Dwarf_Die& parent, const std::string& scope);
  std::string name_of(const Unit& unit, Dwarf_Die& function, bool& full);

  std::vector<Unit> units_;
  std::vector<Range> ranges_;          ///< by begin
  std::vector<std::size_t> unranged_;  ///< units that do not say where their code is
};

}  // namespace refrain::symbols
