#pragma once
/// What the subcommands on events share: the trace is opened, and what goes wrong is said.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "offline/trace/trace.hpp"

namespace refrain::tools {

/// Runs `use` on the events of the experiment's ranks that `ranks` lists. Returns the exit code; `command` stands in
/// messages.
int with_trace(const char* command, const std::string& experiment, const std::vector<std::string>& ranks,
               const std::function<void(const trace::Trace& trace)>& use);
/// The same, where `path` may also be an OTF2 archive. `as`: what a sample would have kept; only of experiments.
int with_trace_or_archive(const char* command, const std::string& path, const std::vector<std::string>& ranks,
                          const std::function<void(const trace::Trace& trace)>& use,
                          const std::optional<trace::AsSampled>& as = std::nullopt);
/// Says that `path` is an archive of another tool, where a command needs an experiment. False: it is none.
bool is_archive(const char* command, const std::string& path);

/// What is wrong with a number of 0 or more; empty: nothing.
std::string wrong_as_amount(const std::string& text);

}  // namespace refrain::tools
