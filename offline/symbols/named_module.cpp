#include "offline/symbols/named_module.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "offline/symbols/function_table.hpp"
#include "offline/symbols/module_symbols.hpp"
#include "offline/symbols/names.hpp"

namespace refrain::symbols {
namespace {

constexpr std::string_view vdso = "[vdso]";

/// The substitute for the name of a function that has none.
std::string name_by_address(const std::string& path, std::uint64_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return path.empty() ? text : std::string(base_name(path)) + "+" + text;
}

}  // namespace

bool has_file(const std::string& path) { return !path.empty() && path != vdso; }

NamedModule::NamedModule(std::string path, std::string build_id, std::string debug_directory)
    : debug_directory_(std::move(debug_directory)) {
  names_.path = std::move(path);
  names_.build_id = std::move(build_id);
}
NamedModule::NamedModule(NamedModule&&) noexcept = default;
NamedModule::~NamedModule() = default;

void NamedModule::put(const Place& place, std::vector<SourceFrame> frames) {
  for (SourceFrame& frame : frames)
    if (!frame.named) frame.function = name_by_address(names_.path, frame.begin);
  names_.frames.insert_or_assign(place, std::move(frames));
}

void NamedModule::take(const ModuleNames& kept) {
  const bool is_better = kept.source > names_.source;
  for (const auto& [place, frames] : kept.frames)
    if (is_better || !names_.frames.contains(place)) put(place, frames);
  if (is_better || (names_.why.empty() && names_.source == kept.source)) names_.why = kept.why;
  names_.source = std::max(names_.source, kept.source);
}

ModuleSymbols& NamedModule::files() {
  if (!files_) files_ = std::make_unique<ModuleSymbols>(names_.path, names_.build_id, debug_directory_);
  return *files_;
}

void NamedModule::take(std::shared_ptr<const FunctionTable> table) { table_ = std::move(table); }

/// The best source among the files on this machine and the table.
NameSource NamedModule::source_here() {
  const NameSource of_files = files().source();
  return table_ ? std::max(of_files, NameSource::Functions) : of_files;
}

std::vector<SourceFrame> NamedModule::look_up(const Place& place) {
  if (names_.path == vdso) return {{.function = std::string(vdso)}};
  if (!has_file(names_.path)) return {{.named = false, .begin = place.address}};
  return source_here() == NameSource::Functions ? std::vector{frame_in(*table_, place)} : files().frames(place);
}

/// A reason that an experiment has kept stays until something better is found: it applies to the machine of the run.
void NamedModule::take_source() {
  if (!has_file(names_.path)) return;
  if (source_here() > names_.source) {
    names_.source = source_here();
    names_.why.clear();
  } else if (names_.source == NameSource::None && names_.why.empty()) {
    names_.why = files().note();
  }
}

const std::vector<SourceFrame>& NamedModule::frames(const Place& place) {
  const auto at = names_.frames.find(place);
  if (at != names_.frames.end()) return at->second;
  put(place, look_up(place));
  take_source();
  return names_.frames.at(place);
}

bool NamedModule::may_know_more(std::span<const Place> places) const {
  const auto is_known = [&](const Place& place) { return names_.frames.contains(place); };
  const auto has_name = [&](const Place& place) { return names_.frames.at(place).back().named; };
  if (!std::ranges::all_of(places, is_known)) return true;
  if (names_.source == NameSource::Debug) return false;
  if (names_.source == NameSource::Functions || !std::ranges::all_of(places, has_name)) return true;
  const std::string debug_file = debug_file_of(debug_directory_, names_.build_id);
  return !debug_file.empty() && access(debug_file.c_str(), R_OK) == 0;
}

bool NamedModule::complete(std::span<const Place> places, const std::function<void()>& step) {
  if (!has_file(names_.path) || !may_know_more(places)) return false;
  const bool is_better = source_here() > names_.source;
  bool has_new = false;
  for (const Place& place : places) {
    step();
    if (!is_better && names_.frames.contains(place)) continue;
    put(place, look_up(place));
    has_new = source_here() != NameSource::None;
  }
  take_source();
  return has_new;
}

}  // namespace refrain::symbols
