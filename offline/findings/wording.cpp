#include "offline/findings/wording.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "offline/analysis/human_units.hpp"

namespace refrain::findings {

std::string times_text(double ratio) { return fmt::format("{:.{}f} times", ratio, ratio < 9.95 ? 1 : 0); }

std::string ranks_text(std::span<const std::int32_t> ranks) {
  constexpr std::ptrdiff_t most_parts = 4;
  const std::string list = analysis::rank_list({ranks.begin(), ranks.end()});
  if (std::ranges::count(list, ',') >= most_parts)
    return analysis::human_count(static_cast<std::int64_t>(ranks.size())) + " ranks";
  return (ranks.size() == 1 ? "rank " : "ranks ") + list;
}

std::string list_text(std::span<const std::size_t> numbers) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(numbers.size(), most); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", numbers[i]);
  return numbers.size() > most ? text + ", ..." : text;
}

double share_of(const Facts& facts, const LoopFacts& loop, double seconds) {
  return seconds * static_cast<double>(loop.processes) / facts.elapsed_s();
}

std::vector<std::string> more_of(const Facts& facts, const LoopFacts& loop, const char* metric) {
  std::vector<std::string> words{"--iterations"};
  if (metric) words.insert(words.end(), {"--metric", metric});
  if (facts.loops.size() > 1 && !loop.name.empty()) words.insert(words.end(), {"--loop", loop.name});
  return words;
}

std::string name_of(const LoopFacts& loop) {
  const std::string name = loop.name.empty() ? "the loop" : "loop " + loop.name;
  if (loop.has_all_ranks) return name;
  return name + fmt::format(" (of {} of its {} ranks)",
                            analysis::human_count(static_cast<std::int64_t>(loop.ranks.size())),
                            analysis::human_count(static_cast<std::int64_t>(loop.processes)));
}

}  // namespace refrain::findings
