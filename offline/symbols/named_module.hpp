#pragma once
/// The names of one module: those that an experiment has kept come first, and the module's files are opened only for
/// what they could add.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "offline/symbols/names_file.hpp"

namespace refrain::symbols {

struct FunctionTable;
class ModuleSymbols;

/// Whether a module with this path has a file: generated code and [vdso] have none.
bool has_file(const std::string& path);

/// Not thread-safe. Every answer is kept, so references to frames of one place stay valid.
class NamedModule {
 public:
  NamedModule(std::string path, std::string build_id, std::string debug_directory);
  NamedModule(NamedModule&&) noexcept;
  ~NamedModule();

  /// Takes frames of the module that an experiment has kept; a better source replaces what is known.
  void take(const ModuleNames& kept);
  /// Takes a table of the module's functions, which is used where its files tell less.
  void take(std::shared_ptr<const FunctionTable> table);
  /// The frames of a place; never empty. Looks into the files if nothing is known of the place.
  const std::vector<SourceFrame>& frames(const Place& place);
  /// Names all `places` as well as possible on this machine. The files are opened if one of the places is unknown, has
  /// no name, or may have a better one in them. True: they have told something new. `step` is called for each place.
  bool complete(std::span<const Place> places, const std::function<void()>& step);

  /// What is known; of a module without a file (generated code, [vdso]) nothing.
  const ModuleNames& names() const { return names_; }

 private:
  bool may_know_more(std::span<const Place> places) const;
  ModuleSymbols& files();
  NameSource source_here();
  std::vector<SourceFrame> look_up(const Place& place);
  void put(const Place& place, std::vector<SourceFrame> frames);
  void take_source();

  ModuleNames names_;
  std::string debug_directory_;
  std::unique_ptr<ModuleSymbols> files_;
  std::shared_ptr<const FunctionTable> table_;
};

}  // namespace refrain::symbols
