#include "offline/findings/finding.hpp"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <iterator>

#include "offline/findings/facts.hpp"
#include "offline/findings/record.hpp"
#include "offline/findings/rules_of.hpp"
#include "statistics/statistics.hpp"

namespace refrain::findings {

std::span<const char* const> figure_names() {
  static constexpr const char* names[] = {"mean_s",      "others_s",     "low_s",        "high_s",     "median_s",
                                          "level_low_s", "level_high_s", "low_share",    "high_share", "count",
                                          "bytes",       "samples",      "work_share",   "thread",     "other_thread",
                                          "throttled_s", "told_share",   "waited_share", "measured_s"};
  return names;
}

const char* name_of(OffCpu off_cpu) {
  switch (off_cpu) {
    case OffCpu::No: return "";
    case OffCpu::WaitedForCore: return "waited_for_core";
    case OffCpu::Blocked: return "blocked";
    case OffCpu::Either: return "waited_for_core_or_blocked";
    case OffCpu::Unknown: return "not_on_cpu";
  }
  return "";
}

Ranks::Ranks(std::vector<std::int32_t> ranks) {
  std::ranges::sort(ranks);
  for (const std::int32_t rank : ranks)
    if (!ranges.empty() && std::int64_t{rank} <= std::int64_t{ranges.back().second} + 1) ranges.back().second = rank;
    else ranges.emplace_back(rank, rank);
}

std::int64_t Ranks::count() const {
  std::int64_t count = 0;
  for (const auto& [first, last] : ranges) count += std::int64_t{last} - first + 1;
  return count;
}

std::string Ranks::text() const {
  std::string text;
  for (const auto& [first, last] : ranges) {
    if (!text.empty()) text += ", ";
    text += std::to_string(first);
    if (last != first) text += (last == first + 1 ? ", " : "-") + std::to_string(last);
  }
  return text;
}

bool Ranks::overlaps(const Ranks& other) const {
  return std::ranges::any_of(ranges, [&](const auto& a) {
    return std::ranges::any_of(other.ranges, [&](const auto& b) { return a.first <= b.second && b.first <= a.second; });
  });
}

namespace {

bool is_metric(OffCpu of) { return of == OffCpu::WaitedForCore || of == OffCpu::Blocked; }

}  // namespace

std::vector<std::string> options_of(const Finding& of) {
  std::vector<std::string> words;
  const std::string more = rule_of(of).more;
  for (std::size_t at = 0; at < more.size();) {
    const std::size_t end = std::min(more.find(' ', at), more.size());
    words.push_back(more.substr(at, end - at));
    at = end + 1;
  }
  if (of.iterations) {
    // A rank that computes longer than others shows in the time outside of MPI.
    if (is_imbalance(of))
      words.insert(words.end(), {"--metric", is_metric(of.cause.off_cpu) ? name_of(of.cause.off_cpu) : "user"});
    if (of.iterations->is_one_of_several && !of.iterations->loop.empty())
      words.insert(words.end(), {"--loop", of.iterations->loop});
  }
  if (of.has(Figure::OtherThread))  // the thread that waits
    words.insert(words.end(), {"--rank", fmt::format("{}.{:.0f}", of.ranks.empty() ? 0 : of.ranks.ranges[0].first,
                                                     of.figure(Figure::OtherThread))});
  return words;
}

bool is_certain(const Finding& finding) {
  return finding.share == 0 || finding.share - statistics::certain_errors * std::max(finding.error, 0.0) > 0;
}

namespace {

/// Whether the function that one cause ends in is on the path of the other.
bool is_below(const Cause& one, const Cause& other) {
  return !one.path.empty() && std::ranges::find(other.path, one.path.back()) != other.path.end();
}

/// Whether others wait for a rank that is late: the cost of both findings is the same time.
bool is_waiting_for(const Finding& waiting, const Finding& late) {
  return late.ranks.overlaps(waiting.cause.ranks) &&
         (is_below(waiting.cause, late.cause) || is_below(late.cause, waiting.cause));
}

bool is_of_late_ranks(const Finding& of) { return of.rule == "late_rank" || of.rule == "late_for_a_while"; }

}  // namespace

bool is_imbalance(const Finding& of) { return is_of_late_ranks(of) || of.rule == "moving_hot_spot"; }

void relate(std::vector<Finding>& all) {
  constexpr double most_of_it = 0.7;
  std::erase_if(all, [&](const Finding& whole) {
    return whole.rule == "late_rank" && std::ranges::any_of(all, [&](const Finding& part) {
             return part.rule == "late_for_a_while" && part.ranks == whole.ranks &&
                    part.share >= most_of_it * whole.share;
           });
  });
  std::ranges::stable_sort(all, std::greater<>{}, &Finding::share);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].part_of.reset();
    for (std::size_t larger = 0; larger < i && !all[i].part_of; ++larger) {
      Finding &one = all[i], &other = all[larger];
      Finding &waiting = is_waiting(one) ? one : other, &late = is_waiting(one) ? other : one;
      if (!is_waiting(waiting) || !is_imbalance(late) || !is_waiting_for(waiting, late)) continue;
      one.part_of = larger;
      waiting.cause.is_in_turn = late.rule == "moving_hot_spot" && waiting.cause.ranks.count() > 1;
    }
  }
}

bool are_sound(std::span<const Finding> all) {
  const auto is_figure = [](const auto& of) { return static_cast<std::size_t>(of.first) < figure_names().size(); };
  return std::ranges::all_of(all, [&](const Finding& of) {
    return std::ranges::all_of(of.figures, is_figure) && of.cause.off_cpu <= OffCpu::Unknown &&
           of.part_of.value_or(0) < all.size();
  });
}

bool is_same_kind(const Finding& one, const Finding& other) {
  const auto path = [](const Finding& of) { return of.paths.empty() ? Path() : of.paths.front(); };
  const auto loop = [](const Finding& of) { return of.iterations ? of.iterations->loop : std::string(); };
  if (one.rule != other.rule || path(one) != path(other) || loop(one) != loop(other)) return false;
  if (is_waiting(one)) return true;  // its cause may change
  return one.cause.path == other.cause.path && (!is_of_late_ranks(one) || one.ranks == other.ranks);
}

void note_short_run(const analysis::CallTree& tree, std::vector<Finding>& findings) {
  constexpr double short_s = 1;
  double longest_s = 0;
  for (const analysis::LocationSummary& of : tree.locations) longest_s = std::max(longest_s, of.wall_s);
  if (longest_s > 0 && longest_s < short_s)
    for (Finding& of : findings) of.figures[Figure::Measured] = longest_s;
}

std::vector<Finding> find(Facts& facts) {
  std::vector<Finding> all;
  const auto apply = [&](const Rule& rule) {
    std::vector<Finding> found;
    try {
      rule.find(facts, found);
    } catch (const std::exception&) {
      return;
    }
    std::erase_if(found, [](const Finding& of) { return !is_certain(of); });
    for (Finding& of : found) of.rule = rule.id;
    note_short_run(facts.tree, found);
    std::ranges::move(found, std::back_inserter(all));
  };
  for (const Rule& rule : rules())
    if (rule.find && !rule.of_iterations) apply(rule);
  try {
    read_loops(facts);
  } catch (const std::exception&) {
    facts.loops.clear();
  }
  for (const Rule& rule : rules())
    if (rule.find && rule.of_iterations) apply(rule);
  relate(all);
  return all;
}

}  // namespace refrain::findings
