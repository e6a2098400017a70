#include "offline/symbols/inline_frames.hpp"

#include <algorithm>
#include <dwarf.h>
#include <filesystem>
#include <string_view>

#include "offline/experiment/clean_text.hpp"
#include "offline/symbols/debug_units.hpp"
#include "offline/symbols/names.hpp"

namespace refrain::symbols {
namespace {

bool is_fortran(int language) {
  switch (language) {
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08: return true;
    default: return false;
  }
}

bool is_c(int language) {
  switch (language) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11: return true;
    default: return false;
  }
}

bool is_cplusplus(int language) {
  switch (language) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14: return true;
    default: return false;
  }
}

const char* text_attribute(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr_integrate(&die, name, &attribute));
}

std::string clean_path(const char* path) {
  return path == nullptr ? std::string()
                         : experiment::clean_text(std::filesystem::path(path).lexically_normal().string());
}

/// The chain of inlined functions at `address` below `parent`, outermost first.
void find_inlined(Dwarf_Die& parent, std::uint64_t address, std::vector<Dwarf_Die>& chain) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    const bool inlined = tag == DW_TAG_inlined_subroutine;
    if (!inlined && tag != DW_TAG_lexical_block && tag != DW_TAG_try_block && tag != DW_TAG_catch_block) continue;
    if (dwarf_haspc(&child, address) != 1) continue;
    if (inlined) chain.push_back(child);
    find_inlined(child, address, chain);
    return;
  } while (dwarf_siblingof(&child, &child) == 0);
}

std::string call_file(Dwarf_Die& unit, Dwarf_Die& inlined) {
  Dwarf_Attribute attribute;
  Dwarf_Word index = 0;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_file, &attribute), &index) != 0) return {};
  if (dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count) return {};
  return clean_path(dwarf_filesrc(files, index, nullptr, nullptr));
}

int call_line(Dwarf_Die& inlined) {
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0;
  if (dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_line, &attribute), &line) != 0) return 0;
  return static_cast<int>(line);
}

}  // namespace

InlineFrames::InlineFrames(Dwarf* dwarf) {
  for_each_unit(dwarf, [&](Dwarf_Die& die, Dwarf_Die& code) {
    units_.push_back({die, code, dwarf_srclang(&code)});
    bool ranged = false;
    for_each_range(die, [&](std::uint64_t begin, std::uint64_t end) {
      ranges_.push_back({begin, end, units_.size() - 1});
      ranged = true;
    });
    if (!ranged && dwarf_hasattr(&die, DW_AT_low_pc) == 0 && dwarf_hasattr(&die, DW_AT_ranges) == 0)
      unranged_.push_back(units_.size() - 1);
  });
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

InlineFrames::Unit* InlineFrames::find_unit(std::uint64_t address) {
  auto at = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                             [](std::uint64_t a, const Range& range) { return a < range.begin; });
  if (at != ranges_.begin() && address < (--at)->end) return &units_[at->unit];
  for (const std::size_t index : unranged_) {
    Unit& unit = units_[index];
    list_functions(unit);
    for (const Function& function : unit.functions)
      if (function.begin <= address && address < function.end) return &unit;
  }
  return nullptr;
}

void InlineFrames::list_functions(Unit& unit) {
  if (unit.listed) return;
  unit.listed = true;
  list_below(unit, unit.code_die, "");
  std::sort(unit.functions.begin(), unit.functions.end(),
            [](const Function& a, const Function& b) { return a.begin < b.begin; });
}

void InlineFrames::list_below(Unit& unit, Dwarf_Die& parent, const std::string& scope) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
        for_each_range(child, [&](std::uint64_t begin, std::uint64_t end) {
          unit.functions.push_back({begin, end, child});
        });
        if (!scope.empty()) unit.scopes.emplace(dwarf_dieoffset(&child), scope);
        list_below(unit, child, scope);  // contained procedures
        break;
      case DW_TAG_lexical_block: list_below(unit, child, scope); break;
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type: {
        const char* name = dwarf_diename(&child);
        list_below(unit, child, scope + (name != nullptr ? name : "(anonymous namespace)") + "::");
        break;
      }
      default: break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

std::string InlineFrames::name_of(const Unit& unit, Dwarf_Die& function, bool& full) {
  full = true;
  const char* linkage = text_attribute(function, DW_AT_linkage_name);
  if (linkage == nullptr) linkage = text_attribute(function, DW_AT_MIPS_linkage_name);
  const char* plain = text_attribute(function, DW_AT_name);
  if (linkage != nullptr && is_fortran(unit.language)) {
    // A Fortran procedure outside a module is called by its plain name, not by `name_`.
    FunctionName name = function_name(linkage);
    return plain != nullptr && name.text == linkage ? plain : name.text;
  }
  // The linker's name of a C function may be one that people do not know, such as glibc's __GI_exit.
  if (linkage != nullptr && (plain == nullptr || !is_c(unit.language))) return function_name(linkage).text;
  if (plain == nullptr) return {};
  if (!is_cplusplus(unit.language)) return plain;
  full = std::string_view(plain) == "main";
  // The scope of the name is that of the declaration that this entry was made from.
  Dwarf_Die at = function;
  for (int hops = 0; hops < 8; ++hops) {
    const auto scope = unit.scopes.find(dwarf_dieoffset(&at));
    if (scope != unit.scopes.end()) return scope->second + plain;
    Dwarf_Attribute attribute;
    Dwarf_Attribute* origin = dwarf_attr(&at, DW_AT_abstract_origin, &attribute);
    if (origin == nullptr) origin = dwarf_attr(&at, DW_AT_specification, &attribute);
    Dwarf_Die next;
    if (dwarf_formref_die(origin, &next) == nullptr) break;
    at = next;
  }
  return plain;
}

bool InlineFrames::line(std::uint64_t address, std::string& file, int& line) {
  Unit* unit = find_unit(address);
  if (unit == nullptr) return false;
  Dwarf_Line* at = dwarf_getsrc_die(&unit->line_die, address);
  if (at == nullptr) return false;
  dwarf_lineno(at, &line);
  file = clean_path(dwarf_linesrc(at, nullptr, nullptr));
  return true;
}

std::vector<SourceFrame> InlineFrames::frames(std::uint64_t address, bool expand_inlined) {
  std::vector<SourceFrame> result;
  Unit* unit = find_unit(address);
  if (unit == nullptr) return result;
  list_functions(*unit);
  auto at = std::upper_bound(unit->functions.begin(), unit->functions.end(), address,
                             [](std::uint64_t a, const Function& function) { return a < function.begin; });
  if (at == unit->functions.begin() || address >= (--at)->end) return result;

  std::vector<Dwarf_Die> chain{at->die};
  if (expand_inlined) find_inlined(at->die, address, chain);
  SourceFrame frame;
  line(address, frame.file, frame.line);
  for (std::size_t i = chain.size(); i-- > 0;) {
    frame.function = experiment::clean_text(name_of(*unit, chain[i], frame.full));
    frame.inlined = i > 0;
    result.push_back(frame);
    if (i == 0) break;
    frame.file = call_file(unit->code_die, chain[i]);
    frame.line = call_line(chain[i]);
  }
  return result;
}

}  // namespace refrain::symbols
