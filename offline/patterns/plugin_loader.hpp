#pragma once
/// Loads plug-ins: shared objects of C++, and through one of these modules of Python.

#include <filesystem>
#include <stdexcept>

#include "offline/patterns/plugin.hpp"

namespace refrain::patterns {

/// One line: which plug-in, and what is wrong with it.
struct PluginError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Adds the patterns of `request.file`, all or none. A file that ends in .py goes to `python_plugins`, a plug-in
/// itself. What was loaded stays loaded. Throws PluginError, also where a pattern has the name of another one or a
/// parent that there is not before it; `request` must be valid as long as the patterns.
void load_plugin(const PluginRequest& request, const std::filesystem::path& python_plugins, Patterns& patterns);

}  // namespace refrain::patterns
