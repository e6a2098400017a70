#pragma once
/// Loads plug-ins: C++ shared objects and, through one of these, Python modules.

#include <filesystem>
#include <stdexcept>

#include "offline/patterns/plugin.hpp"

namespace refrain::patterns {

/// One line: which plug-in, and what is wrong with it.
struct PluginError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Adds all patterns of `request.file`, or none. A file that ends in .py is passed to `python_plugins`, which is
/// itself a plug-in. Plug-ins are never unloaded. Throws PluginError, also if a pattern has the name of another one,
/// or if no pattern before it has the name of its parent. `request` must be valid as long as the patterns.
void load_plugin(const PluginRequest& request, const std::filesystem::path& python_plugins, Patterns& patterns);

}  // namespace refrain::patterns
