#include "tools/rank_list.hpp"

#include <algorithm>
#include <charconv>

#include "offline/report/report.hpp"

namespace refrain::tools {

std::vector<std::int32_t> parse_ranks(const std::vector<std::string>& texts) {
  constexpr std::int32_t longest_range = 10'000'000;
  std::vector<std::int32_t> ranks;
  for (const std::string& text : texts) {
    std::int32_t first = 0;
    const char* end = text.data() + text.size();
    auto at = std::from_chars(text.data(), end, first);
    std::int32_t last = first;
    if (at.ec == std::errc() && at.ptr != end && *at.ptr == '-') at = std::from_chars(at.ptr + 1, end, last);
    if (at.ec != std::errc() || at.ptr != end || first < 0 || last < first || last - first > longest_range)
      throw report::UsageError("--rank " + text +
                               ": a rank is 0 or more, and a range goes up, as in --rank 3 or --rank 0,4-7");
    for (std::int64_t rank = first; rank <= last; ++rank) ranks.push_back(static_cast<std::int32_t>(rank));
  }
  std::ranges::sort(ranks);
  ranks.erase(std::ranges::unique(ranks).begin(), ranks.end());
  return ranks;
}

RanksAndThreads parse_ranks_and_threads(const std::vector<std::string>& texts) {
  RanksAndThreads list;
  std::vector<std::string> whole;
  for (const std::string& text : texts) {
    const std::size_t dot = text.find('.');
    std::int32_t rank = 0, thread = 0;
    const char *begin = text.data(), *end = begin + text.size();
    const bool is_thread = dot != std::string::npos && std::from_chars(begin, begin + dot, rank).ptr == begin + dot &&
                           dot > 0 && dot + 1 < text.size() &&
                           std::from_chars(begin + dot + 1, end, thread).ptr == end && rank >= 0 && thread >= 0;
    if (is_thread) list.threads.emplace_back(rank, thread);
    else whole.push_back(text);
  }
  list.ranks = parse_ranks(whole);
  std::erase_if(list.threads, [&](const auto& of) { return std::ranges::binary_search(list.ranks, of.first); });
  std::ranges::sort(list.threads);
  for (const auto& [rank, thread] : list.threads) list.ranks.push_back(rank);
  std::ranges::sort(list.ranks);
  list.ranks.erase(std::ranges::unique(list.ranks).begin(), list.ranks.end());
  return list;
}

}  // namespace refrain::tools
