#pragma once
/// The report of a profile or an archive of another tool (database/profile_run.hpp).

#include <string>

#include "offline/database/run_source.hpp"
#include "offline/report/foreign_run.hpp"
#include "offline/report/request.hpp"
#include "offline/report/terminal.hpp"

namespace refrain::report {

/// Of `request` it uses the ranks and threads. Throws UsageError when the run has none of them.
ForeignRun foreign_run(database::RunSource& source, const std::string& path, const Request& request);

/// Throws experiment::ReadError when the request is for what only experiments can tell.
void check_foreign_request(const ForeignRun& run, const Request& request);

/// Throws what check_foreign_request() does, and UsageError when the request does not fit itself.
void render_foreign(const ForeignRun& run, const Request& request, const Terminal& terminal, const Sink& out);

}  // namespace refrain::report
