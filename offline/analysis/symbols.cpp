#include "offline/analysis/symbols.hpp"

#include <algorithm>
#include <cstdlib>

#include "offline/analysis/module_symbols.hpp"

namespace refrain::analysis {

Symbolizer::Symbolizer(std::string debug_directory) : debug_directory_(std::move(debug_directory)) {
  unsetenv("DEBUGINFOD_URLS");
}

Symbolizer::~Symbolizer() = default;

const std::vector<SourceFrame>& Symbolizer::resolve(const std::string& path, const std::string& build_id,
                                                    std::uint64_t address, Lookup lookup) {
  Module& module = modules_[path + '\n' + build_id];
  if (!module.symbols) module.symbols = std::make_unique<ModuleSymbols>(path, build_id, debug_directory_);
  auto [at, fresh] = module.answers[static_cast<int>(lookup)].try_emplace(address);
  if (fresh) at->second = module.symbols->frames(address, lookup);
  return at->second;
}

std::vector<std::string> Symbolizer::notes() const {
  std::vector<std::string> notes;
  for (const auto& [key, module] : modules_)
    if (!module.symbols->note().empty()) notes.push_back(module.symbols->note());
  std::sort(notes.begin(), notes.end());
  return notes;
}

}  // namespace refrain::analysis
