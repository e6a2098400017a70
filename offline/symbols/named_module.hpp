#pragma once
/// The names of one module: those that an experiment has kept come first, and its files are only opened for what they
/// could add.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "offline/symbols/names_file.hpp"

namespace refrain::symbols {

struct FunctionTable;
class ModuleSymbols;

/// Of the path of a module: generated code and [vdso] have none.
bool has_file(const std::string& path);

/// Not thread-safe. Every answer is kept, so references to frames of one place stay valid.
class NamedModule {
 public:
  NamedModule(std::string path, std::string build_id, std::string debug_directory);
  NamedModule(NamedModule&&) noexcept;
  ~NamedModule();

  /// Frames of the module that an experiment has kept; a better source replaces what is known.
  void take(const ModuleNames& kept);
  /// A table of the module's functions, for where its files tell less.
  void take(std::shared_ptr<const FunctionTable> table);
  /// Never empty. Looks into the files where nothing is known of the place.
  const std::vector<SourceFrame>& frames(const Place& place);
  /// Names all `places` as well as it can be done here. The files are opened when one of the places is unknown, has no
  /// name, or may have a better one in them. True: they have told something new. `step` is called now and then.
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
