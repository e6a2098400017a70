#include "offline/symbols/inlined_code.hpp"

#include <algorithm>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

#include "config/function_name.hpp"
#include "offline/symbols/build_id.hpp"
#include "offline/symbols/debug_units.hpp"

namespace refrain::symbols {
namespace {

using Range = CodeOfFunction::Range;

bool is_named(Dwarf_Die& die, std::string_view function) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name})
    if (const char* text = dwarf_formstring(dwarf_attr_integrate(&die, name, &attribute)))
      if (config::is_function(text, function)) return true;
  return false;
}

void add_ranges(Dwarf_Die& die, std::vector<Range>& ranges) {
  for_each_range(die, [&](Dwarf_Addr begin, Dwarf_Addr end) { ranges.push_back({begin, end}); });
}

void look_below(Dwarf_Die& parent, std::string_view function, std::vector<Range>& ranges) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
      case DW_TAG_inlined_subroutine:
        if (is_named(child, function)) add_ranges(child, ranges);
        look_below(child, function, ranges);
        break;
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type: look_below(child, function, ranges); break;
      default: break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

void join(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    if (joined.empty() || joined.back().end < range.begin) joined.push_back(range);
    else joined.back().end = std::max(joined.back().end, range.end);
  }
  ranges = std::move(joined);
}

std::string build_id_of(Dwfl_Module* module) {
  const unsigned char* bits = nullptr;
  GElf_Addr at = 0;
  const int size = dwfl_module_build_id(module, &bits, &at);
  return hexadecimal(bits, size);
}

}  // namespace

CodeOfFunction code_of_function(const std::string& path, std::string_view function) {
  char debug_path[] = ":.debug:/usr/lib/debug";
  char* debug_path_pointer = debug_path;
  Dwfl_Callbacks callbacks{};
  callbacks.find_elf = dwfl_build_id_find_elf;
  callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
  callbacks.section_address = dwfl_offline_section_address;
  callbacks.debuginfo_path = &debug_path_pointer;
  const std::unique_ptr<Dwfl, decltype(&dwfl_end)> dwfl(dwfl_begin(&callbacks), &dwfl_end);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (!dwfl || descriptor < 0) return {};
  dwfl_report_begin(dwfl.get());
  Dwfl_Module* module = dwfl_report_elf(dwfl.get(), path.c_str(), path.c_str(), descriptor, 0, true);
  dwfl_report_end(dwfl.get(), nullptr, nullptr);
  CodeOfFunction code;
  Dwarf_Addr bias = 0;
  if (module == nullptr) close(descriptor);
  Dwarf* dwarf = module == nullptr ? nullptr : dwfl_module_getdwarf(module, &bias);
  if (dwarf == nullptr || bias != 0) return code;
  code.build_id = build_id_of(module);
  for_each_unit(dwarf, [&](Dwarf_Die&, Dwarf_Die& below) { look_below(below, function, code.ranges); });
  join(code.ranges);
  return code;
}

}  // namespace refrain::symbols
