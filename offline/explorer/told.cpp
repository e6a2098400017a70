#include "offline/explorer/told.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace refrain::explorer {
namespace {

/// Metrics of findings that their options do not name.
constexpr std::pair<std::string_view, const char*> metric_of_rule[] = {{"late_rank", "user"},
                                                                       {"waiting_for_core", "waited_for_core"},
                                                                       {"blocked", "blocked"},
                                                                       {"shared_core", "not_on_cpu"},
                                                                       {"polling", "mpi"},
                                                                       {"small_messages", "mpi"},
                                                                       {"measurement_cost", "refrain"}};

/// What stands behind an option of `refrain report`; empty: it is not there.
std::string value_of(const std::vector<std::string>& words, std::string_view option) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == option) return words[i + 1];
  return {};
}

/// "rank 3", "ranks 0, 4-6": the numbers behind the first of these words.
std::vector<std::int32_t> ranks_in(std::string_view text) {
  constexpr std::size_t most = 64;
  std::vector<std::int32_t> ranks;
  for (std::size_t at = text.find("rank"); at != text.npos && ranks.empty(); at = text.find("rank", at + 1)) {
    std::string_view rest = text.substr(at + 4);
    if (rest.starts_with('s')) rest.remove_prefix(1);
    for (bool goes_on = rest.starts_with(' '); goes_on && ranks.size() < most;) {
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      std::int32_t first = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), first);
      if (error != std::errc()) break;
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
      std::int32_t last = first;
      if (rest.starts_with('-')) {
        const auto [after, wrong] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), last);
        if (wrong == std::errc()) rest.remove_prefix(static_cast<std::size_t>(after - rest.data()));
      }
      for (std::int32_t rank = first; rank <= last && ranks.size() < most; ++rank) ranks.push_back(rank);
      goes_on = rest.starts_with(", ");
      if (goes_on) rest.remove_prefix(1);
    }
  }
  return ranks;
}

/// "1,234" at the begin of the text, which goes on behind it.
std::optional<std::int64_t> take_count(std::string_view& text) {
  std::int64_t count = 0;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c >= '0' && c <= '9') count = std::min<std::int64_t>(count, 1'000'000'000'000) * 10 + (c - '0');
    else if (at == 0 || c != ',') break;
  }
  if (at == 0) return std::nullopt;
  text.remove_prefix(at);
  return count;
}

/// "iterations 100 to 174", "from iteration 100 on", "iteration 100".
std::optional<std::pair<std::int64_t, std::int64_t>> iterations_in(std::string_view text) {
  for (std::size_t at = text.find("iteration"); at != text.npos; at = text.find("iteration", at + 1)) {
    std::string_view rest = text.substr(at + 9);
    if (rest.starts_with('s')) rest.remove_prefix(1);
    if (!rest.starts_with(' ')) continue;
    rest.remove_prefix(1);
    const auto first = take_count(rest);
    if (!first) continue;
    if (rest.starts_with(" on")) return std::pair(*first, std::int64_t{-1});
    if (!rest.starts_with(" to ")) return std::pair(*first, *first);
    rest.remove_prefix(4);
    const auto last = take_count(rest);
    return std::pair(*first, last.value_or(*first));
  }
  return std::nullopt;
}

/// The first part of the sentence behind "in" or "by" that is a call path.
std::optional<std::uint32_t> node_in(const std::string& text,
                                     const std::function<std::optional<std::uint32_t>(const std::string&)>& node_of) {
  for (const std::string_view word : {" in ", " by ", ": "})
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
      std::string path = text.substr(at + word.size());
      for (const std::string_view end : {";", ",", " on ", " and ", " of ", " (", ": "})
        path.resize(std::min(path.find(end), path.size()));
      // "smooth 80 %"
      while (!path.empty() && (path.back() == '%' || path.back() == ' ' || path.back() == '.' ||
                               (path.back() >= '0' && path.back() <= '9' && path.find(' ') != path.npos)))
        path.pop_back();
      if (path.empty()) continue;
      if (const auto node = node_of(path)) return node;
    }
  return std::nullopt;
}

}  // namespace

Told told_of(const findings::Finding& finding,
             const std::function<std::optional<std::uint32_t>(const std::string& path)>& node_of,
             const std::function<bool(const std::string& name)>& is_loop) {
  Told told{finding.rule, finding.text, finding.share, std::max(finding.error, 0.0), {}, {}, {}, {}, {}};
  told.metric = value_of(finding.more, "--metric");
  for (const auto& [rule, metric] : metric_of_rule)
    if (told.metric.empty() && finding.rule == rule) told.metric = metric;
  const bool is_wait = std::ranges::find(finding.more, "--waits") != finding.more.end();
  if (told.metric.empty() && is_wait) told.metric = "wait";
  const std::string path = value_of(finding.more, "--callpath");
  told.node = path.empty() ? node_in(finding.text, node_of) : node_of(path);
  told.ranks = ranks_in(finding.text);
  if (const std::string loop = value_of(finding.more, "--loop"); is_loop(loop)) told.loop = loop;
  else if (std::ranges::find(finding.more, "--iterations") != finding.more.end()) told.loop = std::string();
  if (told.loop) told.iterations = iterations_in(finding.text);
  return told;
}

}  // namespace refrain::explorer
