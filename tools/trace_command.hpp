#pragma once
/// Common part of the subcommands on events: opens the trace and reports what goes wrong.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "offline/trace/trace.hpp"

namespace refrain::tools {

/// Runs `use` on the events of the ranks that `ranks` lists. Returns the exit code; messages name `command`.
int with_trace(const char* command, const std::string& experiment, const std::vector<std::string>& ranks,
               const std::function<void(const trace::Trace& trace)>& use);
/// Like with_trace(), but `path` may also be an OTF2 archive. `as`: only the events that such a sample would have kept;
/// experiments only.
int with_trace_or_archive(const char* command, const std::string& path, const std::vector<std::string>& ranks,
                          const std::function<void(const trace::Trace& trace)>& use,
                          const std::optional<trace::AsSampled>& as = std::nullopt);
/// If `path` is an archive of another tool, complains that the command needs an experiment and returns true.
bool is_archive(const char* command, const std::string& path);

/// Why `text` is not a number of 0 or more; empty: it is one.
std::string wrong_as_amount(const std::string& text);

}  // namespace refrain::tools
