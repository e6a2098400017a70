#pragma once
/// Patterns that users write in C++: a shared object that `refrain analyze --plugin FILE.so` loads.
///
///     #include "offline/patterns/plugin.hpp"
///     namespace {
///     class MyPattern : public refrain::patterns::Pattern { ... };
///     void make(const refrain::patterns::PluginRequest& request, refrain::patterns::Patterns& patterns) {
///       patterns.push_back(std::make_unique<MyPattern>());
///     }
///     }  // namespace
///     REFRAIN_PLUGIN(make)
///
/// The interface is that of the patterns that come with Refrain: pattern.hpp and compound_events.hpp. What a callback
/// throws, as std::exception, ends that pattern alone.
///
/// A plug-in must be compiled by the same compiler against the same version of Refrain; another one is refused.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "offline/patterns/pattern.hpp"

namespace refrain::patterns {

/// What a plug-in may want to know. Valid as long as its patterns.
struct PluginRequest {
  const trace::Trace& trace;
  std::string file;                             ///< the plug-in
  std::string trace_path;                       ///< what `trace` was opened from ...
  std::optional<std::set<std::int32_t>> ranks;  ///< ... and of which ranks; nothing: of all
  std::map<std::string, std::string> settings;  ///< --set NAME=VALUE
};

}  // namespace refrain::patterns

/// Changes with the classes that a plug-in sees.
#define REFRAIN_PLUGIN_INTERFACE "refrain patterns 1, " __VERSION__

#define REFRAIN_PLUGIN(make)                                                                    \
  extern "C" __attribute__((visibility("default"))) const char* refrain_plugin_interface() {    \
    return REFRAIN_PLUGIN_INTERFACE;                                                            \
  }                                                                                             \
  extern "C" __attribute__((visibility("default"))) void refrain_plugin(                        \
      const refrain::patterns::PluginRequest& request, refrain::patterns::Patterns& patterns) { \
    make(request, patterns);                                                                    \
  }
