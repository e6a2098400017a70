#include "offline/analysis/call_tree.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "offline/analysis/extra_metrics.hpp"
#include "offline/analysis/names.hpp"
#include "offline/analysis/time_rules.hpp"

namespace refrain::analysis {
namespace {

using experiment::NodeKind;
using format::MetricId;

constexpr std::string_view start_up_functions[] = {"_start",
                                                   "__libc_start_main",
                                                   "__libc_start_main_impl",
                                                   "__libc_start_call_main",
                                                   "generic_start_main",
                                                   "clone",
                                                   "__clone",
                                                   "clone3",
                                                   "__clone3",
                                                   "start_thread"};

/// True when `function` ("mpi_send_", "mpi_send_f08ts_large_", "MPIR_Send_cdesc") is MPI's Fortran layer of `region`
/// ("MPI_Send").
bool is_fortran_layer_of(std::string_view function, std::string_view region) {
  const auto small = [](std::string_view text) {
    std::string letters(text);
    for (char& c : letters) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return letters;
  };
  std::string name = small(function), wanted = small(region);
  if (name != function && !function.ends_with("_cdesc") &&
      std::any_of(function.begin(), function.end(), [](char c) { return c >= 'a' && c <= 'z'; }))
    return false;  // C's own
  const auto strip = [](std::string& text, std::string_view suffix) {
    if (text.ends_with(suffix)) text.resize(text.size() - suffix.size());
  };
  while (name.ends_with('_')) name.pop_back();
  for (const std::string_view suffix : {"_cdesc", "_large", "_f08ts", "_f08", "_cptr"}) strip(name, suffix);
  for (const std::string_view prefix : {"pmpixr_", "pmpir_", "mpixr_", "mpir_", "pmpix_", "pmpi_", "mpix_", "mpi_"}) {
    if (!name.starts_with(prefix)) continue;
    strip(wanted, "_c");
    return name.substr(prefix.size()) == wanted.substr(wanted.find('_') + 1);
  }
  return false;
}

bool is_start_up_function(std::string_view name) {
  return std::find(std::begin(start_up_functions), std::end(start_up_functions), name) != std::end(start_up_functions);
}
/// A sample ends in Refrain's own library when it came in the first instructions of a function of it, or the last ones.
bool is_refrain(std::string_view file) { return file.starts_with("librefrain-"); }
/// Libraries whose frames say nothing about the program: Refrain's own, and the Fortran layers of the MPIs, which stand
/// between the program's call and the MPI function that is shown.
bool is_layer(std::string_view file) {
  constexpr std::string_view layers[] = {"libmpi_mpifh", "libmpi_usempi", "libmpichfort", "libmpifort"};
  return is_refrain(file) ||
         std::any_of(std::begin(layers), std::end(layers), [&](auto layer) { return file.starts_with(layer); });
}
/// Constructors and destructors of the marks' C++ objects, which are always inlined: what they do belongs to the
/// function around them, and so does the unwinding of an exception that goes on from where one of them ends a scope.
bool is_scope_object(std::string_view function) {
  constexpr std::string_view objects[] = {"refrain::Loop::", "refrain::Iteration::", "refrain::Region::"};
  return std::any_of(std::begin(objects), std::end(objects), [&](auto object) { return function.starts_with(object); });
}
bool is_libc(std::string_view file) {
  return file.starts_with("libc.so") || file.starts_with("libc-") || file.starts_with("libpthread");
}

const char* name_of_special(std::uint64_t path) {
  return path == static_cast<std::uint64_t>(format::SpecialPath::ArenaFull) ? arena_full_name : truncated_name;
}

/// Finds the tree node of every call path.
class TreeMaker {
 public:
  TreeMaker(const experiment::Profile& profile, Symbolizer& symbolizer, const CallTreeOptions& options)
      : profile_(profile), symbolizer_(symbolizer), options_(options) {
    nodes_.emplace_back();
    depths_.push_back(0);
  }

  void place_all() {
    const auto& paths = profile_.paths;
    places_.resize(paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i) {
      places_[i] = i == 0 || paths[i].parent >= i ? Place{} : place(paths[i]);
      if (options_.progress && i % 64 == 0) options_.progress(i, paths.size());
    }
    if (options_.progress) options_.progress(paths.size(), paths.size());
  }

  std::uint32_t node_of(std::uint32_t path) const { return places_[path].node; }
  std::uint32_t pseudo_node(const char* name, PathKind kind) { return child(0, name, kind, {}); }
  std::vector<TreeNode> take_nodes() { return std::move(nodes_); }
  std::size_t size() const { return nodes_.size(); }

 private:
  enum class StartUp : std::uint8_t { Outside, LibcMain, CallsMain, Done };  ///< how far a path is on the way to main
  struct Place {
    std::uint32_t node = 0;
    StartUp stage = StartUp::Outside;
    std::uint32_t mark_site = 0;  ///< of a mark: the path of its call site, in whose activation the next path is too
  };
  struct Site {
    std::string module, file;
    int line = 0;
    std::uint64_t address = 0;
    auto operator<=>(const Site&) const = default;
  };

  std::uint32_t child(std::uint32_t parent, const std::string& name, PathKind kind, const Site& site,
                      bool marked = false) {
    const auto [at, fresh] =
        index_.try_emplace({parent, name, kind, marked, site}, static_cast<std::uint32_t>(nodes_.size()));
    if (!fresh) return at->second;
    TreeNode node;
    node.parent = static_cast<std::int32_t>(parent);
    node.kind = kind;
    node.marked = marked;
    node.name = name;
    node.module = site.module;
    node.file = site.file;
    node.line = site.line;
    node.offset = site.address;
    nodes_[parent].children.push_back(static_cast<std::uint32_t>(nodes_.size()));
    nodes_.push_back(std::move(node));
    depths_.push_back(depths_[parent] + 1);
    return at->second;
  }

  Place place(const experiment::CallPath& path) {
    const Place& parent = places_[path.parent];
    switch (path.kind) {
      case NodeKind::Root: return {};
      case NodeKind::Region: {
        const std::string name = path.offset < profile_.regions.size() ? profile_.regions[path.offset] : "MPI";
        std::uint32_t node = parent.node;  // below MPI's Fortran layer, when it is linked into the program
        while (node != 0 && is_fortran_layer_of(nodes_[node].name, name))
          node = static_cast<std::uint32_t>(nodes_[node].parent);
        return {child(node, name, PathKind::Mpi, {}), StartUp::Done};
      }
      case NodeKind::Special:
        return {child(parent.node, name_of_special(path.offset), PathKind::Other, {}), StartUp::Done};
      case NodeKind::Marked: {
        const std::string name = path.offset < profile_.regions.size() ? profile_.regions[path.offset] : "region";
        return {child(parent.node, name, PathKind::User, {}, true), StartUp::Done, path.parent};
      }
      case NodeKind::Frame: return place_frames(path, parent, Lookup::ReturnAddress);
      case NodeKind::Function: return place_frames(path, parent, Lookup::Entry);
    }
    return parent;
  }

  const experiment::ProfileModule& module_of(const experiment::CallPath& path) const {
    static const experiment::ProfileModule no_module;
    const bool known = path.module >= 0 && static_cast<std::size_t>(path.module) < profile_.modules.size();
    return known ? profile_.modules[path.module] : no_module;
  }

  /// How many of the functions at a place, from the outermost on, a mark in the same activation lies below already: the
  /// one that is no inlined one, and those inlined ones that the mark is in too.
  std::size_t shared_with_mark(const std::vector<SourceFrame>& frames, std::uint32_t mark_site) {
    const experiment::CallPath& site = profile_.paths[mark_site];
    const auto& module = module_of(site);
    const auto& of_mark = symbolizer_.resolve(module.path, module.build_id, site.offset, Lookup::ReturnAddress);
    std::size_t shared = 1;
    while (shared < frames.size() && shared < of_mark.size() &&
           frames[frames.size() - 1 - shared].function == of_mark[of_mark.size() - 1 - shared].function)
      ++shared;
    return shared;
  }

  Place place_frames(const experiment::CallPath& path, Place at, Lookup lookup) {
    const std::uint32_t mark_site = at.mark_site;
    at.mark_site = 0;
    const auto& module = module_of(path);
    const std::string_view file = base_name(module.path);
    const bool has_values = path.kind == NodeKind::Function;
    if (has_values ? at.node != 0 && is_refrain(file) : is_layer(file)) return at;
    const auto& frames = symbolizer_.resolve(module.path, module.build_id, path.offset, lookup);
    const SourceFrame& outer = frames.back();
    if (!has_values && at.node == 0 && at.stage != StartUp::Done) {
      // libc seldom has the names of its hidden functions; what it calls on the way to main is known.
      const bool hidden_in_libc = !outer.named && is_libc(file);
      if (is_start_up_function(outer.function) || hidden_in_libc) {
        const bool libc_main = outer.function.starts_with("__libc_start_main");
        const bool calls_main =
            outer.function == "__libc_start_call_main" || (hidden_in_libc && at.stage == StartUp::LibcMain);
        at.stage = calls_main ? StartUp::CallsMain : libc_main ? StartUp::LibcMain : StartUp::Outside;
        return at;
      }
    }
    const bool is_main = at.node == 0 && at.stage == StartUp::CallsMain && !outer.named;
    at.stage = StartUp::Done;
    for (std::size_t i = frames.size() - (mark_site ? shared_with_mark(frames, mark_site) : 0); i-- > 0;) {
      const SourceFrame& frame = frames[i];
      if (is_scope_object(frame.function)) continue;
      if (options_.depth > 0 && depths_[at.node] >= options_.depth) break;
      if (frame.part && nodes_[at.node].name == frame.function) continue;  // one activation, two pieces of code
      Site site;
      if (options_.callsites) site = {module.path, frame.file, frame.line, path.offset};
      at.node = child(at.node, is_main ? "main" : frame.function, PathKind::User, site);
    }
    return at;
  }

  const experiment::Profile& profile_;
  Symbolizer& symbolizer_;
  const CallTreeOptions& options_;
  std::vector<TreeNode> nodes_;
  std::vector<int> depths_;
  std::vector<Place> places_;
  std::map<std::tuple<std::uint32_t, std::string, PathKind, bool, Site>, std::uint32_t> index_;
};

/// Adds up inclusive seconds of one rank (or thread) after the other and keeps minimum, sum and maximum.
class Spreader {
 public:
  explicit Spreader(std::size_t nodes) : min_(nodes, std::numeric_limits<double>::infinity()), max_(nodes, 0) {}
  void add(const std::vector<double>& inclusive) {
    for (std::size_t i = 0; i < inclusive.size(); ++i) {
      min_[i] = std::min(min_[i], inclusive[i]);
      max_[i] = std::max(max_[i], inclusive[i]);
    }
    ++count_;
  }
  Spread result(std::size_t node, double sum) const {
    if (count_ == 0) return {};
    return {min_[node], sum / count_, max_[node]};
  }

 private:
  std::vector<double> min_, max_;
  int count_ = 0;
};

/// Adds children to parents; they come after them.
template <class T>
void include_children(const std::vector<TreeNode>& nodes, std::vector<T>& values) {
  for (std::size_t i = nodes.size(); i-- > 1;) values[nodes[i].parent] += values[i];
}

/// Takes out nodes without any value, in any measured location, below them.
void prune(CallTree& tree) {
  std::vector<bool> keeps(tree.nodes.size());  // a mark that was begun, below it
  for (std::size_t i = tree.nodes.size(); i-- > 1;)
    if (keeps[i] || tree.nodes[i].mark_visits != 0)
      keeps[i] = keeps[static_cast<std::size_t>(tree.nodes[i].parent)] = true;
  std::vector<std::uint32_t> moved(tree.nodes.size(), 0);
  std::vector<TreeNode> kept;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    TreeNode& node = tree.nodes[i];
    const auto& extra = node.inclusive_extra;
    const bool has_extra = std::any_of(extra.begin(), extra.end(), [](std::int64_t v) { return v != 0; });
    if (i > 0 && node.inclusive_s == 0 && node.inclusive == Counts{} && !has_extra && !keeps[i]) continue;
    moved[i] = static_cast<std::uint32_t>(kept.size());
    node.children.clear();
    if (i > 0) {
      node.parent = static_cast<std::int32_t>(moved[node.parent]);
      kept[node.parent].children.push_back(moved[i]);
    }
    kept.push_back(std::move(node));
  }
  tree.nodes = std::move(kept);
  for (auto& node : tree.node_of) node = moved[node];
}

Counts counts_of(const experiment::Unit& unit, const experiment::PathValues& row, NodeKind kind) {
  Counts counts;
  for (const CountColumn& column : count_columns) counts.*column.value = value_of(unit, row, kind, column.metric);
  return counts;
}

}  // namespace

const char* name_of(PathKind kind) { return kind == PathKind::User ? "user" : kind == PathKind::Mpi ? "mpi" : "other"; }

std::int64_t add_values(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    return a > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
  return sum;
}

Counts& Counts::operator+=(const Counts& other) {
  for (const CountColumn& column : count_columns)
    this->*column.value = add_values(this->*column.value, other.*column.value);
  return *this;
}

CallTree build_call_tree(const experiment::Profile& profile, Symbolizer& symbolizer, const CallTreeOptions& options) {
  TreeMaker maker(profile, symbolizer, options);
  maker.place_all();
  const std::uint32_t not_on_cpu = maker.pseudo_node(not_on_cpu_name, PathKind::Other);
  const std::uint32_t no_sample = maker.pseudo_node(no_sample_name, PathKind::Other);
  const std::uint32_t arena_full = maker.pseudo_node(arena_full_name, PathKind::Other);
  const std::uint32_t refrain = maker.pseudo_node(refrain_name, PathKind::Other);
  const std::uint32_t stopped = maker.pseudo_node(stopped_name, PathKind::Other);
  const std::uint32_t lost_mpi = maker.pseudo_node(mpi_without_path_name, PathKind::Mpi);
  const std::size_t size = maker.size();

  CallTree tree;
  tree.nodes = maker.take_nodes();
  for (std::uint32_t path = 0; path < profile.paths.size(); ++path) tree.node_of.push_back(maker.node_of(path));
  tree.notes = symbolizer.notes();
  tree.totals.losses.assign(format::loss_count, 0);
  tree.extra_metrics = profile.extra_metrics;
  const std::size_t metrics = tree.extra_metrics.size();
  tree.totals.extra.assign(metrics, 0);
  for (TreeNode& node : tree.nodes) node.exclusive_extra.assign(metrics, 0);
  std::size_t ranks = 0;
  for (const auto& rank : profile.ranks) ranks += !options.ranks || options.ranks(rank.rank);
  tree.spread_over_threads = ranks <= 1;

  Totals& totals = tree.totals;
  Spreader spreader(size);
  std::vector<double> rank_inclusive(size);
  std::vector<std::int64_t> ticks(size), sampled(size);
  std::vector<double> weights(size, 0), sampled_s(size, 0);
  for (const auto& rank : profile.ranks) {
    if (options.ranks && !options.ranks(rank.rank)) continue;
    const auto seconds = [&](std::int64_t t) { return static_cast<double>(t) / rank.ticks_per_second; };
    std::fill(rank_inclusive.begin(), rank_inclusive.end(), 0.0);
    for (const auto& location : rank.locations) {
      std::fill(ticks.begin(), ticks.end(), 0);
      std::fill(sampled.begin(), sampled.end(), 0);
      const RankConstants constants = constants_of(rank, location);
      LocationSummary summary{location.rank, location.thread, location.name};
      summary.extra.assign(metrics, 0);
      const auto lost = [&](format::Loss loss) {
        const auto index = static_cast<std::size_t>(loss);
        return index < location.losses.size() ? location.losses[index] : 0;
      };
      std::int64_t cpu = 0, user_cpu = 0, undecided = 0;
      const auto put = [&](std::uint32_t node, std::int64_t t) { ticks[node] = add_values(ticks[node], t); };
      for (const auto& unit : location.units) {
        const UnitTimes times = apply_time_rules(unit, profile.paths, constants);
        for (const auto& [path, t] : times.mpi_paths) put(maker.node_of(path), t);
        for (const auto& [path, t] : times.user_paths) {
          put(maker.node_of(path), t);
          sampled[maker.node_of(path)] = add_values(sampled[maker.node_of(path)], t);
        }
        put(not_on_cpu, times.not_on_cpu);
        put(no_sample, times.no_sample);
        put(lost(format::Loss::ArenaFull) > 0 ? arena_full : no_sample, times.no_path);
        put(refrain, times.refrain);
        put(stopped, times.stopped);
        put(lost_mpi, times.mpi_no_path);
        for (const auto& row : unit.values) {
          const NodeKind kind = profile.paths[row.path].kind;
          const std::uint32_t node = maker.node_of(row.path);
          tree.nodes[node].exclusive += counts_of(unit, row, kind);
          weights[node] += static_cast<double>(value_of(unit, row, kind, MetricId::Weight));
          const std::int64_t begun = value_of(unit, row, kind, MetricId::MarkVisits);
          tree.nodes[node].mark_visits = add_values(tree.nodes[node].mark_visits, begun);
          tree.nodes[node].mark_s += seconds(value_of(unit, row, kind, MetricId::MarkTime));
        }
        for (std::size_t m = 0; m < metrics; ++m) {
          const ExtraShares shares = share_extra(unit, profile.paths, m);
          const auto add = [&](std::uint32_t node, std::int64_t value) {
            std::int64_t& sum = tree.nodes[node].exclusive_extra[m];
            sum = add_values(sum, value);
          };
          for (const auto& [path, value] : shares.mpi_paths) add(maker.node_of(path), value);
          for (const auto& [path, value] : shares.user_paths) add(maker.node_of(path), value);
          add(no_sample, shares.no_path);
          summary.extra[m] = add_values(summary.extra[m], shares.total);
        }
        summary.wall_s += seconds(times.wall);
        summary.mpi_s += seconds(times.mpi);
        summary.user_s += seconds(times.user);
        summary.refrain_s += seconds(times.refrain);
        summary.stopped_s += seconds(times.stopped);
        summary.not_on_cpu_s += seconds(times.not_on_cpu);
        summary.samples = add_values(summary.samples, unit.ticks_user);
        totals.not_on_cpu_low_s += seconds(times.not_on_cpu_low);
        totals.not_on_cpu_high_s += seconds(times.not_on_cpu_high);
        cpu = add_values(cpu, times.cpu);
        user_cpu = add_values(user_cpu, times.user - times.not_on_cpu);
        undecided = add_values(undecided, times.not_on_cpu_high - times.not_on_cpu_low);
        totals.mpi_calls = add_values(totals.mpi_calls, unit.mpi_calls);
        totals.ticks_user = add_values(totals.ticks_user, unit.ticks_user);
        totals.ticks_mpi = add_values(totals.ticks_mpi, unit.ticks_mpi);
        totals.ticks_lost = add_values(totals.ticks_lost, unit.ticks_lost);
        totals.weight_s += static_cast<double>(unit.weight_user_ns) * 1e-9;
        totals.weight_squares_s2 += unit.weight_user_squared * 1e-18;
      }
      const std::int64_t at_stake = std::min({user_cpu, cpu - user_cpu, undecided});
      totals.not_on_cpu_at_stake_s += seconds(std::max<std::int64_t>(at_stake, 0));
      std::vector<double> inclusive(size);
      for (std::size_t i = 0; i < size; ++i) {
        inclusive[i] = seconds(ticks[i]);
        tree.nodes[i].exclusive_s += inclusive[i];
        sampled_s[i] += seconds(sampled[i]);
      }
      include_children(tree.nodes, inclusive);
      for (std::size_t i = 0; i < size; ++i) rank_inclusive[i] += inclusive[i];
      if (tree.spread_over_threads) spreader.add(inclusive);
      for (std::size_t i = 0; i < location.losses.size() && i < totals.losses.size(); ++i)
        totals.losses[i] = add_values(totals.losses[i], location.losses[i]);
      for (std::size_t m = 0; m < metrics; ++m) totals.extra[m] = add_values(totals.extra[m], summary.extra[m]);
      totals.wall_s += summary.wall_s;
      totals.mpi_s += summary.mpi_s;
      totals.user_s += summary.user_s;
      totals.refrain_s += summary.refrain_s;
      totals.stopped_s += summary.stopped_s;
      totals.not_on_cpu_s += summary.not_on_cpu_s;
      tree.locations.push_back(std::move(summary));
    }
    if (!tree.spread_over_threads) spreader.add(rank_inclusive);
  }

  std::vector<double> inclusive(size);
  std::vector<Counts> counts(size);
  for (std::size_t i = 0; i < size; ++i) {
    inclusive[i] = tree.nodes[i].exclusive_s;
    counts[i] = tree.nodes[i].exclusive;
  }
  include_children(tree.nodes, inclusive);
  include_children(tree.nodes, counts);
  include_children(tree.nodes, weights);
  include_children(tree.nodes, sampled_s);
  for (TreeNode& node : tree.nodes) node.inclusive_extra = node.exclusive_extra;
  for (std::size_t i = size; i-- > 1;)
    for (std::size_t m = 0; m < metrics; ++m) {
      std::int64_t& sum = tree.nodes[static_cast<std::size_t>(tree.nodes[i].parent)].inclusive_extra[m];
      sum = add_values(sum, tree.nodes[i].inclusive_extra[m]);
    }
  for (std::size_t i = 0; i < size; ++i) {
    TreeNode& node = tree.nodes[i];
    node.inclusive_s = inclusive[i];
    node.inclusive = counts[i];
    node.sampled_s = sampled_s[i];
    node.spread = spreader.result(i, inclusive[i]);
    const double share = totals.weight_s > 0 ? weights[i] * 1e-9 / totals.weight_s : 0;
    node.standard_error_s = sampled_s[0] * standard_error_of_share(share, totals.weight_s, totals.weight_squares_s2);
  }
  prune(tree);
  return tree;
}

std::vector<std::string> path_to(const CallTree& tree, std::uint32_t node) {
  std::vector<std::string> names;
  for (std::int32_t at = static_cast<std::int32_t>(node); at > 0; at = tree.nodes[at].parent)
    names.push_back(tree.nodes[at].name);
  std::reverse(names.begin(), names.end());
  return names;
}

}  // namespace refrain::analysis
