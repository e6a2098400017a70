// MPI by call site: time, bytes, and their spread over ranks.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <utility>

#include "format/saturating.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/node_waits.hpp"
#include "offline/report/views.hpp"
#include "offline/symbols/names.hpp"

namespace refrain::report {
namespace {

using format::MetricId;

/// Calls of one function from one place, to which several call paths may lead.
struct CallSite {
  std::uint32_t node = 0;  ///< the call path with the most time
  double most_s = 0, seconds = 0;
  std::int64_t calls = 0, bytes = 0;
  std::optional<std::int64_t> largest;  ///< upper bound of the bytes of a call
  double wait_s = 0;
  double wait_known_s = 0;  ///< time of the call paths whose waiting is known
  std::optional<patterns::Traffic::Partners> partners;
  double low_s = 0, high_s = 0, sum_s = 0;  ///< over ranks
  int ranks = 0;
};

/// The caller, as "solve, solve.c:12".
std::string site_of(const analysis::CallTree& tree, std::uint32_t node) {
  const auto parent = static_cast<std::uint32_t>(tree.nodes[node].parent);
  if (parent == 0) return {};
  const analysis::TreeNode& of = tree.nodes[parent];
  const std::string name = analysis::short_name(of.name);
  if (!of.file.empty()) return fmt::format("{}, {}:{}", name, symbols::base_name(of.file), of.line);
  const std::string place = of.module.empty() || of.offset == 0
                                ? std::string()
                                : fmt::format("{}+0x{:x}", symbols::base_name(of.module), of.offset);
  return place.empty() || place == name ? name : fmt::format("{}, {}", name, place);
}

/// The call sites, and the site of each node.
class CallSites {
 public:
  explicit CallSites(const Document& d) : d_(d), place_(d.tree.nodes.size(), none) {
    std::map<std::pair<std::string, std::string>, std::size_t> known;
    for (std::uint32_t i = 1; i < d.tree.nodes.size(); ++i) {
      const analysis::TreeNode& of = d.tree.nodes[i];
      if (of.kind != run::PathKind::Mpi || of.exclusive[MetricId::Visits] <= 0) continue;
      const auto [at, is_new] = known.try_emplace({of.name, site_of(d.tree, i)}, sites_.size());
      if (is_new) sites_.emplace_back();
      place_[i] = at->second;
      add(sites_[at->second], i);
    }
    add_waits();
    add_ranks();
    if (d.found.traffic && !d.request.some_threads())
      for (const auto& of : d.found.traffic->partners)
        if (CallSite* site = of_path(of.path)) add(*site, of);
  }

  const std::vector<CallSite>& all() const { return sites_; }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  CallSite* of_path(std::int64_t path) {
    if (path < 0 || static_cast<std::size_t>(path) >= d_.tree.node_of.size()) return nullptr;
    const std::size_t at = place_[d_.tree.node_of[static_cast<std::size_t>(path)]];
    return at == none ? nullptr : &sites_[at];
  }
  void add(CallSite& to, std::uint32_t node) const {
    const analysis::TreeNode& of = d_.tree.nodes[node];
    if (to.node == 0 || of.exclusive_s > to.most_s) {
      to.node = node;
      to.most_s = of.exclusive_s;
    }
    to.seconds += of.exclusive_s;
    to.calls = format::add_saturating(to.calls, of.exclusive[MetricId::Visits]);
    for (const MetricId metric : {MetricId::BytesSent, MetricId::BytesReceived, MetricId::BytesRead,
                                  MetricId::BytesWritten, MetricId::BytesCompleted})
      to.bytes = format::add_saturating(to.bytes, of.exclusive[metric]);
  }
  static void add(CallSite& to, const patterns::Traffic::Partners& of) {
    if (!to.partners) to.partners = of;
    to.partners->fewest = std::min(to.partners->fewest, of.fewest);
    to.partners->most = std::max(to.partners->most, of.most);
  }
  void add_waits() {
    const std::vector<NodeWait> waits = waits_of(d_);
    for (std::uint32_t i = 1; i < waits.size(); ++i) {
      if (place_[i] == none || waits[i].method == NodeWait::Method::None) continue;
      sites_[place_[i]].wait_known_s += d_.tree.nodes[i].exclusive_s;
      sites_[place_[i]].wait_s += waits[i].seconds;
    }
  }
  void add_ranks() {
    const run::Nodes nodes = columns_of(d_.tree);
    const run::Metrics metrics;
    const run::Keys by_site = keys_by(
        nodes, [&](std::uint32_t node) { return place_[node] == none ? std::nullopt : std::optional(place_[node]); });
    const auto add_rank = [&](const run::Answer& of) {
      for (std::size_t key = 0; key < by_site.size(); ++key) {
        CallSite& site = sites_[place_[by_site.first[key]]];
        const double seconds = of.exclusive_s(key, 0);
        site.low_s = site.ranks == 0 ? seconds : std::min(site.low_s, seconds);
        site.high_s = std::max(site.high_s, seconds);
        site.sum_s += seconds;
        ++site.ranks;
      }
    };
    run::Grouping by_rank(nodes, metrics,
                          {.keys = &by_site, .place = run::Place::Rank, .metrics = {run::wall}, .has_errors = false},
                          add_rank);
    run::for_each_leaf(*d_.experiment, d_.where(), [&](const run::Leaf& leaf) {
      by_rank.add(leaf);
      for (const experiment::CallDurations& of : leaf.location.durations)
        if (CallSite* site = of_path(of.path); site && of.bin.size() > 0)
          site->largest = std::max(site->largest.value_or(0), of.bin.max_bytes());
    });
    by_rank.finish();
  }

  const Document& d_;
  std::vector<std::size_t> place_;
  std::vector<CallSite> sites_;
};

Row row_of(const Document& d, const CallSite& of) {
  const double wall_s = d.tree.totals.wall_s;
  const std::string name = d.tree.nodes[of.node].name, site = site_of(d.tree, of.node);
  const auto partners = [&](auto value) { return of.partners ? Cell((*of.partners).*value) : Cell(); };
  constexpr double nearly_all = 0.95;
  const bool is_wait_known = of.wait_known_s > 0 && of.wait_known_s >= nearly_all * of.seconds;
  const double mean_s = of.sum_s / std::max(of.ranks, 1);
  return {{of.seconds / wall_s, of.seconds, is_wait_known ? Cell(of.wait_s / wall_s) : Cell(), of.calls, of.low_s,
           mean_s, of.high_s, of.bytes / of.calls, of.largest ? Cell(*of.largest + 1) : Cell(),
           partners(&patterns::Traffic::Partners::fewest), partners(&patterns::Traffic::Partners::most),
           path_to(d.tree, of.node), name, site, site.empty() ? name : fmt::format("{} in {}", name, site)}};
}

}  // namespace

std::vector<Table> mpi_tables(const Document& d) {
  std::vector<Column> all =
      columns(
          "share: time %, time_s: time, wait_share: wait %, calls, min_s: min, mean_s: mean, max_s: max, mean_bytes: "
          "mean size, below_bytes: below") +
      columns("partners_min", ForPrograms) + columns("partners_max: partners") +
      columns("path, function, site", ForPrograms);
  all.push_back({"call", Kind::Words, ForPeople, "called in"});
  Table table{"mpi_call_sites", std::move(all), [&d](const TakeRow& take) {
                std::vector<CallSite> sites = CallSites(d).all();
                std::ranges::stable_sort(sites, std::greater<>{}, &CallSite::seconds);
                for (const CallSite& of : sites) take(row_of(d, of));
              }};
  table.empty = "The program has called no function of MPI.";
  table.footnotes = {
      {"size: bytes sent, received, read and written by a call. partners: the most ranks that one "
       "exchanges messages with, of the events that were kept. min, mean, max: time over ranks.",
       Note::Faint}};
  return {std::move(table)};
}

}  // namespace refrain::report
