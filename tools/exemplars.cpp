#include "tools/exemplars.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <vector>

#include "config/trace_selection.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/run/loops.hpp"
#include "tools/console.hpp"

namespace refrain::tools {
namespace {

constexpr const char* variable = "REFRAIN_TRACE";
constexpr std::string_view prefix = "exemplars:";

/// The exemplars, with the number of iterations that each one represents on all threads together.
std::map<std::int64_t, std::int64_t> exemplars_of(const experiment::Experiment& experiment) {
  std::map<std::int64_t, std::int64_t> members;
  run::for_each_loop(experiment, [&](auto&, const experiment::Loop& loop, auto&) {
    for (const experiment::Cluster& cluster : loop.clusters) members[cluster.exemplar] += cluster.members;
  });
  return members;
}

/// "3,7,9-11". `numbers` are ascending.
std::string list_of(const std::vector<std::int64_t>& numbers, std::size_t& ranges) {
  std::string text;
  ranges = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last > i) text += fmt::format("-{}", numbers[last]);
    ++ranges;
    i = last + 1;
  }
  return text;
}

/// As many exemplars as there is room for, preferring those that represent the most iterations.
std::string list_of(const std::map<std::int64_t, std::int64_t>& members) {
  std::vector<std::pair<std::int64_t, std::int64_t>> by_members;
  for (const auto& [number, count] : members) by_members.emplace_back(-count, number);
  std::ranges::sort(by_members);
  // Each takes at least two characters.
  for (std::size_t count = std::min(by_members.size(), config::TraceSelection::longest / 2);; --count) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < count; ++i) numbers.push_back(by_members[i].second);
    std::ranges::sort(numbers);
    std::size_t ranges = 0;
    const std::string text = list_of(numbers, ranges);
    if (ranges > config::TraceSelection::max_ranges || text.size() > config::TraceSelection::longest) continue;
    if (count < by_members.size())
      say("refrain: {}: there is room for {} of {} exemplars; those that stand for most iterations are taken",
          std::getenv(variable), count, by_members.size());
    return text;
  }
}

}  // namespace

std::string choose_exemplars() {
  const char* value = std::getenv(variable);
  if (!value || !std::string_view(value).starts_with(prefix)) return {};
  const std::string directory(value + prefix.size());
  try {
    const auto experiment = experiment::Experiment::open(directory);
    const auto members = exemplars_of(*experiment);
    if (members.empty()) return fmt::format("{}={}: no loop is marked in that experiment", variable, value);
    setenv(variable, list_of(members).c_str(), 1);
    return {};
  } catch (const experiment::ReadError& error) {
    return fmt::format("{}={}: {}", variable, value, error.what());
  }
}

}  // namespace refrain::tools
