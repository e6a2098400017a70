#include "offline/analysis/cores.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "offline/run/totals.hpp"

namespace refrain::analysis {
namespace {

/// Threads share cores if they use at least this part of the available CPU time.
constexpr double nearly_all_used = 0.8;

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

std::int64_t count_of(const Pairs& runs) {
  std::int64_t count = 0;
  for (const auto& [first, length] : runs) count += length;
  return count;
}

Pairs united(Pairs runs) {
  std::ranges::sort(runs);
  Pairs all;
  for (const auto& [first, length] : runs) {
    const std::uint32_t end = first + length;
    if (all.empty() || all.back().first + all.back().second < first) all.emplace_back(first, length);
    else all.back().second = std::max(all.back().first + all.back().second, end) - all.back().first;
  }
  return all;
}

double cpu_seconds(const experiment::Location& location) {
  return static_cast<double>(run::sums_of_run(location).cpu_ns) * 1e-9;
}

}  // namespace

std::string core_list(const std::vector<experiment::Cores::Run>& cores) {
  std::string text;
  for (const auto& [first, count] : cores) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", first);
    if (count > 1) text += fmt::format("-{}", std::uint64_t{first} + count - 1);
  }
  return text;
}

void CoreUse::add(const experiment::Rank& rank) {
  OfNode& node = nodes_[rank.host];
  const auto threads = static_cast<std::int64_t>(rank.locations.size());
  ++node.ranks;
  node.threads += threads;
  if (rank.cores.quota_in_thousandths > 0) {
    ++node.with_quota;
    node.quota = std::max(node.quota, static_cast<double>(rank.cores.quota_in_thousandths) / 1000);
  }
  if (rank.cores.throttled_ns)
    node.throttled_s = std::max(node.throttled_s.value_or(0), static_cast<double>(*rank.cores.throttled_ns) * 1e-9);
  if (!rank.cores.known()) {
    ++node.unknown;
    return;
  }
  Pairs cores;
  for (const auto& run : rank.cores.used()) cores.emplace_back(run.first, run.count);
  OfCores& of = node.by_cores[cores];
  ++of.ranks;
  of.threads += threads;
  for (const experiment::Location& location : rank.locations) {
    of.cpu_s += cpu_seconds(location);
    if (location.thread == 0)
      of.elapsed_s = std::max(of.elapsed_s, run::seconds_of(rank, static_cast<double>(location.end - location.begin)));
  }
}

std::vector<NodeCores> CoreUse::nodes() const {
  std::vector<NodeCores> all;
  for (const auto& [host, node] : nodes_) {
    NodeCores& of = all.emplace_back(NodeCores{host, node.ranks, node.threads, {}, 0, node.throttled_s});
    if (node.with_quota == node.ranks) of.quota = node.quota;
    if (node.unknown > 0) continue;
    Pairs cores;
    for (const auto& [mine, of_cores] : node.by_cores) cores.insert(cores.end(), mine.begin(), mine.end());
    of.cores = count_of(united(std::move(cores)));
  }
  return all;
}

std::vector<SharedCores> CoreUse::shared() const {
  std::vector<SharedCores> all;
  const auto ranks_per_core = [](const SharedCores& of) {
    const auto cores = of.quota > 0 ? of.quota : static_cast<double>(of.cores);
    return static_cast<double>(of.threads > 0 ? of.threads : of.ranks) / cores;
  };
  for (const NodeCores& node : nodes()) {
    const OfNode& of = nodes_.at(node.host);
    std::vector<SharedCores> here;
    const auto look_at = [&](std::int64_t ranks, std::int64_t threads, std::int64_t cores, double quota, double cpu_s,
                             double elapsed_s) {
      const double limit = quota > 0 ? std::min(quota, static_cast<double>(cores)) : static_cast<double>(cores);
      if (!(limit > 0)) return;
      SharedCores shared{node.host, ranks, 0, cores, limit < static_cast<double>(cores) ? limit : 0};
      const bool busy = elapsed_s > 0 && cpu_s >= nearly_all_used * limit * elapsed_s;
      if (static_cast<double>(ranks) <= limit) {
        if (static_cast<double>(threads) <= limit || !busy) return;
        shared.threads = threads;
      }
      here.push_back(shared);
    };
    double cpu_s = 0, elapsed_s = 0;
    for (const auto& [cores, mine] : of.by_cores) {
      look_at(mine.ranks, mine.threads, count_of(cores), 0, mine.cpu_s, mine.elapsed_s);
      cpu_s += mine.cpu_s;
      elapsed_s = std::max(elapsed_s, mine.elapsed_s);
    }
    if (node.cores) look_at(node.ranks, node.threads, *node.cores, node.quota, cpu_s, elapsed_s);
    if (here.empty()) continue;
    // Among equal entries, the last one is that of the whole machine.
    all.push_back(*std::max_element(here.rbegin(), here.rend(), [&](const SharedCores& a, const SharedCores& b) {
      return ranks_per_core(a) < ranks_per_core(b);
    }));
  }
  std::ranges::stable_sort(all, std::greater{}, ranks_per_core);
  return all;
}

std::string sentence(const SharedCores& shared, bool with_host) {
  std::string text = shared.threads > 0 ? fmt::format("{} threads of {} {}", shared.threads, shared.ranks,
                                                      shared.ranks == 1 ? "rank" : "ranks")
                                        : fmt::format("{} {}", shared.ranks, shared.ranks == 1 ? "rank" : "ranks");
  const bool one = shared.threads == 0 && shared.ranks == 1;
  text += one ? " has" : " share";
  if (shared.quota > 0) {
    const std::string cores = fmt::format("{:.3g}", shared.quota);
    text += fmt::format(" {} {} by the quota of {} control group", cores, cores == "1" ? "core" : "cores",
                        one ? "its" : "their");
  } else {
    text += fmt::format(" {} {}", shared.cores, shared.cores == 1 ? "core" : "cores");
  }
  if (with_host) text += " of " + shared.host;
  return text;
}

}  // namespace refrain::analysis
