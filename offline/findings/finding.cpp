#include "offline/findings/finding.hpp"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <string>

#include "offline/findings/facts.hpp"
#include "offline/findings/rules_of.hpp"

namespace refrain::findings {

std::string line_of(const Finding& finding) {
  constexpr double percent = 100;
  if (!(finding.share > 0)) return finding.text;
  const std::string error = finding.error > 0 ? fmt::format(" +- {:.1f}", percent * finding.error) : std::string();
  return fmt::format("{:.1f}{} % of the time: {}", percent * finding.share, error, finding.text);
}

std::span<const Rule> rules() {
  static constexpr Rule table[] = {
      {"late_rank", "Some ranks compute longer than the others, over the whole run, and in which function", late_rank},
      {"moving_hot_spot", "The slowest rank is another one as the iterations go on", moving_hot_spot, true},
      {"slow_iterations", "Single iterations that take much more than those around them, and how regularly they come",
       slow_iterations, true},
      {"step_of_iterations", "Another level of time from an iteration on", step_of_iterations, true},
      {"growing_iterations", "Iterations that take ever more, or ever less, time", growing_iterations, true},
      {"serial_section", "First threads that compute alone while worker threads of OpenMP wait", serial_section},
      {"shared_core", "Time of user code that was not on a CPU", shared_core},
      {"small_messages", "So many small messages that their calls cost much without any waiting", small_messages},
      {"unseen", "Time of which no call path is known", unseen}};
  return table;
}

namespace {

/// Of what ends at once most is the start, and nobody wants it faster.
bool is_long_enough(const Facts& facts) {
  constexpr double least_wall_s = 0.5;
  return std::ranges::any_of(facts.first_threads(), [](const auto* of) { return of->wall_s >= least_wall_s; });
}

/// What may as well be nothing is not claimed.
bool is_certain(const Finding& of) {
  constexpr double errors = 3;
  return of.share == 0 || of.share - errors * of.error > 0;
}

}  // namespace

std::vector<Finding> find(Facts& facts, const std::function<void(std::span<const Finding>)>& tell) {
  std::vector<Finding> all;
  if (!is_long_enough(facts)) return all;
  const auto apply = [&](const Rule& rule) {
    std::vector<Finding> found;
    try {
      rule.find(facts, found);
    } catch (const std::exception&) {
      return;
    }
    std::erase_if(found, [](const Finding& of) { return !is_certain(of); });
    for (Finding& of : found) of.rule = rule.name;
    if (tell && !found.empty()) tell(found);
    std::ranges::move(found, std::back_inserter(all));
  };
  for (const Rule& rule : rules())
    if (!rule.of_iterations) apply(rule);
  try {
    read_loops(facts);
  } catch (const std::exception&) {
    facts.loops.clear();
  }
  for (const Rule& rule : rules())
    if (rule.of_iterations) apply(rule);
  std::ranges::stable_sort(all, std::greater<>{}, &Finding::share);
  return all;
}

}  // namespace refrain::findings
