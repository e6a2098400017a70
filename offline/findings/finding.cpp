#include "offline/findings/finding.hpp"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <iterator>
#include <string>

#include "offline/analysis/human_units.hpp"
#include "offline/findings/facts.hpp"
#include "offline/findings/rules_of.hpp"
#include "statistics/statistics.hpp"

namespace refrain::findings {

std::string line_of(const Finding& finding) {
  constexpr double percent = 100;
  if (!(finding.share > 0)) return finding.text;
  constexpr double rounds_to_nothing = 0.0005;
  const std::string error =
      finding.error >= rounds_to_nothing ? fmt::format(" +- {:.1f}", percent * finding.error) : std::string();
  return fmt::format("{}{:.1f}{} % of the time: {}", finding.error < 0 ? "about " : "", percent * finding.share, error,
                     finding.text);
}

std::span<const Rule> rules() {
  static constexpr Rule table[] = {
      {"late_rank", "Some ranks compute longer than the others, over the whole run, and in which function", late_rank},
      {"late_for_a_while", "A rank that computes longer than the others in one part of a loop", late_for_a_while, true},
      {"moving_hot_spot", "The slowest rank is another one as the iterations go on", moving_hot_spot, true},
      {"slow_iterations", "Single iterations that take much more than those around them, and how regularly they come",
       slow_iterations, true},
      {"step_of_iterations", "Another level of time from an iteration on", step_of_iterations, true},
      {"slow_stretch", "Iterations that follow each other on a higher level of time, and then no more", slow_stretch,
       true},
      {"growing_iterations", "Iterations that take ever more, or ever less, time", growing_iterations, true},
      {"varying_iterations", "Iterations whose times differ much in none of these ways, and where the longer ones are",
       varying_iterations, true},
      {"uneven_threads", "Threads of OpenMP of which some have more work than the others", uneven_threads},
      {"serial_section", "First threads that compute alone while worker threads of OpenMP wait", serial_section},
      {"waiting_for_core", "Time in which user code was ready to run and had no core", waiting_for_core},
      {"blocked", "Time in which user code slept or waited for a lock, a file or a page", blocked},
      {"shared_core", "Time in which user code was not on a CPU, where the causes were not told apart", shared_core},
      {"polling", "Calls that test for messages and find nothing", polling},
      {"small_messages", "So many small messages that their calls cost much without any waiting", small_messages},
      {"measurement_cost", "Time that the measurement itself has taken", measurement_cost},
      {"unseen", "Time of which no call path is known", unseen}};
  return table;
}

std::string how_short(const analysis::CallTree& tree) {
  constexpr double short_s = 1;
  double longest_s = 0;
  for (const analysis::LocationSummary& of : tree.locations) longest_s = std::max(longest_s, of.wall_s);
  return longest_s > 0 && longest_s < short_s ? fmt::format("; only {} measured", analysis::human_time(longest_s))
                                              : std::string();
}

bool is_certain(const Finding& finding) {
  return finding.share == 0 || finding.share - statistics::certain_errors * std::max(finding.error, 0.0) > 0;
}

void leave_out_repeats(std::vector<Finding>& all) {
  constexpr double most_of_it = 0.7;
  const auto subject = [](const Finding& of) { return of.text.substr(0, of.text.find(" compute")); };
  std::erase_if(all, [&](const Finding& whole) {
    return whole.rule == "late_rank" && std::ranges::any_of(all, [&](const Finding& part) {
             return part.rule == "late_for_a_while" && subject(part) == subject(whole) &&
                    part.share >= most_of_it * whole.share;
           });
  });
}

std::vector<Finding> find(Facts& facts) {
  std::vector<Finding> all;
  const std::string note = how_short(facts.tree);
  const auto apply = [&](const Rule& rule) {
    std::vector<Finding> found;
    try {
      rule.find(facts, found);
    } catch (const std::exception&) {
      return;
    }
    std::erase_if(found, [](const Finding& of) { return !is_certain(of); });
    for (Finding& of : found) {
      of.rule = rule.name;
      of.text += note;
    }
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
  leave_out_repeats(all);
  std::ranges::stable_sort(all, std::greater<>{}, &Finding::share);
  return all;
}

}  // namespace refrain::findings
