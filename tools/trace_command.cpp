#include "tools/trace_command.hpp"

#include "offline/report/report.hpp"
#include "tools/complaints.hpp"
#include "tools/exit_codes.hpp"
#include "tools/rank_list.hpp"

namespace refrain::tools {

int with_trace(const char* command, const std::string& experiment, const std::vector<std::string>& ranks,
               const std::function<void(const trace::Trace& trace)>& use) {
  try {
    report::Options chosen;
    chosen.ranks = parse_ranks(ranks);
    const auto opened = experiment::Experiment::open(experiment);
    report::check_ranks(*opened, chosen.ranks);
    const auto trace = trace::Trace::open(opened, [&](std::int32_t rank) { return chosen.chosen(rank); });
    if (!trace)
      return complain(command, exit_usage,
                      experiment + " has no events; REFRAIN_TRACE=all keeps them when it is measured");
    use(*trace);
    if (opened->damages() == 0) return exit_ok;
    tell_damage(command, *opened);
    return exit_damaged;
  } catch (const experiment::ReadError& error) {
    return complain(command, exit_unreadable, error.what());
  } catch (const std::exception& error) {
    return complain(command, exit_usage, error.what());
  }
}

}  // namespace refrain::tools
