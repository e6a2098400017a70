#pragma once
/// The report of a profile or an archive of another tool (database/profile_run.hpp).

#include <cstdint>
#include <string>

#include "offline/database/run_source.hpp"
#include "offline/report/foreign_run.hpp"
#include "offline/report/request.hpp"
#include "offline/report/terminal.hpp"

namespace refrain::report {

/// Of `request` it uses the ranks and threads. Throws UsageError when the run has none of them.
ForeignRun foreign_run(database::RunSource& source, const std::string& path, const Request& request);

enum class Together : std::uint8_t {
  One,     ///< a report of the run alone
  Several  ///< of it and others, whose request was checked by check_compared_request()
};
/// Throws experiment::ReadError when the request is for what only experiments can tell.
void check_foreign_request(const ForeignRun& run, const Request& request, Together together);

/// Throws what check_foreign_request() does of one run, and UsageError when the request does not fit itself.
void render_foreign(const ForeignRun& run, const Request& request, const Terminal& terminal, const Sink& out);

}  // namespace refrain::report
