#pragma once
/// Functions and source lines of addresses: those that experiments keep, else from the program's files (elfutils), else
/// `module+0x1234`. Nothing is fetched over a network: DEBUGINFOD_URLS is removed from the environment.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "offline/symbols/named_module.hpp"
#include "offline/symbols/source_frame.hpp"

namespace refrain::symbols {

/// Not thread-safe. Every answer is kept, so references stay valid until experiment_names.hpp adds what it has.
class Symbolizer {
 public:
  /// `debug_directory`: where separate debug files are looked for, beside the module's own folder.
  explicit Symbolizer(std::string debug_directory = "/usr/lib/debug");

  /// Frames at `address` (an address in the module's file), innermost first; never empty.
  const std::vector<SourceFrame>& resolve(const std::string& path, const std::string& build_id, std::uint64_t address,
                                          Lookup lookup);
  /// Why modules that were looked up have no names, one line each.
  std::vector<std::string> notes() const;

  /// The names of a module, without looking up any.
  NamedModule& module(const std::string& path, const std::string& build_id);

 private:
  struct Module {
    NamedModule names;
    bool is_asked = false;
  };
  Module& find(const std::string& path, const std::string& build_id);

  std::string debug_directory_;
  std::unordered_map<std::string, Module> modules_;  ///< by path and build-id
};

}  // namespace refrain::symbols
