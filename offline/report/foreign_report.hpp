#pragma once
/// The report of a profile or an archive of another tool (database/profile_run.hpp).

#include <cstdint>
#include <string>

#include "offline/database/run_source.hpp"
#include "offline/report/foreign_run.hpp"
#include "offline/report/request.hpp"
#include "offline/report/terminal.hpp"

namespace refrain::report {

/// Reads the ranks and threads of `request`. Throws UsageError when the run lacks one of the ranks or has none of the
/// threads, and experiment::ReadError when it has no values of any thread.
ForeignRun foreign_run(database::RunSource& source, const std::string& path, const Request& request);

enum class Together : std::uint8_t {
  One,     ///< a report of the run alone
  Several  ///< of the run and others; check_compared_request() has accepted the request
};
/// Throws experiment::ReadError for a request that only an experiment can answer.
void check_foreign_request(const ForeignRun& run, const Request& request, Together together);

/// Throws what check_foreign_request() throws for one run, and what check_options() throws.
void render_foreign(const ForeignRun& run, const Request& request, const Terminal& terminal, const Sink& out);

}  // namespace refrain::report
