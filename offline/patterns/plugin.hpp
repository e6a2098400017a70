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
/// Plug-ins use the interface of the patterns that come with Refrain: pattern.hpp and compound_events.hpp. If a
/// callback throws a std::exception, only that pattern ends.
///
/// A plug-in must be compiled by the same compiler against the same headers; otherwise it is refused.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "offline/patterns/pattern.hpp"

namespace refrain::patterns {

/// What a plug-in is given. Valid as long as its patterns exist.
struct PluginRequest {
  const trace::Trace& trace;
  std::string file;                             ///< the plug-in
  std::string trace_path;                       ///< what `trace` was opened from ...
  std::optional<std::set<std::int32_t>> ranks;  ///< ... and its ranks; nullopt: all
  std::map<std::string, std::string> settings;  ///< --set NAME=VALUE
};

}  // namespace refrain::patterns

/// To be changed by hand when the classes that a plug-in sees change; also changes with the compiler.
#define REFRAIN_PLUGIN_INTERFACE "refrain patterns 1, " __VERSION__

namespace refrain::patterns {

/// Changes with the sizes of these classes.
constexpr std::uint64_t plugin_layout() {
  std::uint64_t layout = 0;
  for (const std::size_t size : {sizeof(Pattern), sizeof(Search), sizeof(trace::Trace), sizeof(Call), sizeof(Receiving),
                                 sizeof(Received), sizeof(Sending), sizeof(trace::CollectivePart),
                                 sizeof(trace::LocationOfTrace), sizeof(trace::Event), sizeof(PluginRequest)})
    layout = layout * 1099511628211 + size;
  return layout;
}

}  // namespace refrain::patterns

#define REFRAIN_PLUGIN(make)                                                                    \
  extern "C" __attribute__((visibility("default"))) const char* refrain_plugin_interface() {    \
    return REFRAIN_PLUGIN_INTERFACE;                                                            \
  }                                                                                             \
  extern "C" __attribute__((visibility("default"))) std::uint64_t refrain_plugin_layout() {     \
    return refrain::patterns::plugin_layout();                                                  \
  }                                                                                             \
  extern "C" __attribute__((visibility("default"))) void refrain_plugin(                        \
      const refrain::patterns::PluginRequest& request, refrain::patterns::Patterns& patterns) { \
    make(request, patterns);                                                                    \
  }
