#include "offline/patterns/plugin_loader.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <fmt/format.h>

#include "offline/patterns/analysis.hpp"

namespace refrain::patterns {
namespace {

template <class Function>
Function function_of(void* library, const char* name, const std::string& file) {
  void* at = dlsym(library, name);
  if (!at) throw PluginError(file + ": is no plug-in: it does not define " + name);
  return reinterpret_cast<Function>(at);
}

void check_names(const PluginRequest& request, const Patterns& before, const Patterns& loaded) {
  std::vector<std::string> names = pattern_names(before);
  for (const auto& pattern : loaded) {
    const std::string &name = pattern->about().name, &parent = pattern->about().parent;
    if (name.empty()) throw PluginError(request.file + ": a pattern needs a name");
    if (std::ranges::find(names, name) != names.end())
      throw PluginError(fmt::format("{}: the pattern {}: there is one of this name", request.file, name));
    if (std::ranges::find(names, parent) == names.end())
      throw PluginError(fmt::format("{}: the pattern {} is a part of \"{}\": there is none of this name before it",
                                    request.file, name, parent));
    names.push_back(name);
  }
}

}  // namespace

void load_plugin(const PluginRequest& request, const std::filesystem::path& python_plugins, Patterns& patterns) {
  std::error_code error;
  const std::string& file = request.file;
  if (!std::filesystem::is_regular_file(file, error))
    throw PluginError(file + ": there is no such file, or it is a directory");
  const bool is_python = std::filesystem::path(file).extension() == ".py";
  if (is_python && !std::filesystem::exists(python_plugins, error))
    throw PluginError(file + ": this Refrain was built without Python (pybind11 was missing)");
  // dlopen() would search for a file name without a slash.
  const std::filesystem::path library =
      std::filesystem::absolute(is_python ? python_plugins : std::filesystem::path(file), error);
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    throw PluginError(file + ": cannot be loaded: " + (reason ? reason : "no reason is known"));
  }
  const auto interface = function_of<const char* (*)()>(handle, "refrain_plugin_interface", file);
  if (std::string_view(interface()) != REFRAIN_PLUGIN_INTERFACE)
    throw PluginError(file + ": was compiled for \"" + interface() + "\", this is \"" + REFRAIN_PLUGIN_INTERFACE +
                      "\"");
  if (function_of<std::uint64_t (*)()>(handle, "refrain_plugin_layout", file)() != plugin_layout())
    throw PluginError(file + ": was compiled against other headers than this Refrain");
  const auto make = function_of<void (*)(const PluginRequest&, Patterns&)>(handle, "refrain_plugin", file);
  Patterns loaded;
  try {
    make(request, loaded);
  } catch (const std::exception& wrong) {
    throw PluginError(is_python ? wrong.what() : file + ": " + wrong.what());
  }
  check_names(request, patterns, loaded);
  std::ranges::move(loaded, std::back_inserter(patterns));
}

}  // namespace refrain::patterns
