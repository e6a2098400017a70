#include "offline/symbols/symbols.hpp"

#include <algorithm>
#include <cstdlib>

namespace refrain::symbols {

Symbolizer::Symbolizer(std::string debug_directory) : debug_directory_(std::move(debug_directory)) {
  unsetenv("DEBUGINFOD_URLS");
}

Symbolizer::Module& Symbolizer::find(const std::string& path, const std::string& build_id) {
  const std::string key = path + '\n' + build_id;
  if (const auto at = modules_.find(key); at != modules_.end()) return at->second;
  return modules_.emplace(key, Module{NamedModule(path, build_id, debug_directory_)}).first->second;
}

NamedModule& Symbolizer::module(const std::string& path, const std::string& build_id) {
  return find(path, build_id).names;
}

const std::vector<SourceFrame>& Symbolizer::resolve(const std::string& path, const std::string& build_id,
                                                    std::uint64_t address, Lookup lookup) {
  Module& module = find(path, build_id);
  module.is_asked = true;
  return module.names.frames({address, lookup});
}

std::vector<std::string> Symbolizer::notes() const {
  std::vector<std::string> notes;
  for (const auto& [key, module] : modules_)
    if (module.is_asked && !module.names.names().why.empty()) notes.push_back(module.names.names().why);
  std::sort(notes.begin(), notes.end());
  return notes;
}

}  // namespace refrain::symbols
