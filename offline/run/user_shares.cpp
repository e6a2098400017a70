#include "offline/run/user_shares.hpp"

#include <algorithm>

#include "offline/run/raking.hpp"
#include "statistics/statistics.hpp"

namespace refrain::run {
namespace {

using Shares = std::vector<ShareTree::Share>;

/// The gain of telling apart two independent sets of samples on call paths (share_tree.hpp), minus the least gain: by
/// all call paths or by one of them, whichever is larger. `expected`: the shares of the second set, of `samples`
/// samples.
double surplus_gain(std::span<const UserShares::PathSum> found, const Shares& expected, double samples) {
  double n = 0;
  for (const auto& of : found) n += static_cast<double>(of.samples);
  if (n <= 0 || samples <= 0) return -1;
  double gain = 0, gain_of_one = 0;
  std::size_t hit = 0, at = 0;
  const auto part = [](double a, double of, double both, double of_both) {
    return statistics::n_log_ratio(a, of * both / of_both);
  };
  const auto compare = [&](double a, double b) {
    if (a <= 0 && b <= 0) return;
    const double both = a + b, all = n + samples;
    const double here = part(a, n, both, all) + part(b, samples, both, all);
    gain += here;
    gain_of_one = std::max(gain_of_one, here + part(n - a, n, all - both, all) +
                                            part(std::max(0.0, samples - b), samples, all - both, all));
    ++hit;
  };
  for (const auto& of : found) {
    for (; at < expected.size() && expected[at].path < of.path; ++at) compare(0, samples * expected[at].share);
    const bool both = at < expected.size() && expected[at].path == of.path;
    compare(static_cast<double>(of.samples), both ? samples * expected[at++].share : 0);
  }
  for (; at < expected.size(); ++at) compare(0, samples * expected[at].share);
  const auto all = static_cast<std::int64_t>(n + samples);
  return std::max(2 * gain - least_gain(all, hit), 2 * gain_of_one - least_gain_of_one(all, hit));
}

/// Adds each path of `wanted` that no row has to all rows that may have it, with the same share.
void add_missing(std::span<RakedRow> rows, const Shares& wanted, std::uint32_t paths) {
  std::vector<bool> has(paths, false);
  for (const RakedRow& row : rows)
    if (row.mass > 0)
      for (const auto& cell : row.shares) has[cell.path] = true;
  for (const auto& of : wanted)
    if (!has[of.path] && of.share > 0)
      for (RakedRow& row : rows)
        if (row.mass > 0 && row.may_have(of.path)) row.shares.push_back(of);
}

Shares shares_of(const std::map<std::uint32_t, double>& times) {
  double all = 0;
  for (const auto& [path, time] : times) all += time;
  Shares shares;
  for (const auto& [path, time] : times) shares.push_back({path, time / all});
  return shares;
}

void sort_by_path(Shares& shares) { std::ranges::sort(shares, {}, &ShareTree::Share::path); }

}  // namespace

void UserShares::Weights::add(const Weights& other) {
  least += other.least;
  most += other.most;
  cpu += other.cpu;
  user_ticks += other.user_ticks;
  mpi_ticks += other.mpi_ticks;
}

UserShares::UserShares(std::vector<Cluster> clusters, const Excluded& excluded)
    : clusters_(std::move(clusters)), kept_(clusters_.size()) {
  for (const Cluster& cluster : clusters_) {
    Class& of = classes_[cluster.class_index];
    for (const PathSum& path : cluster.paths) {
      paths_ = std::max(paths_, path.path + 1);
      of.samples += static_cast<double>(path.samples);
      if (path.time > 0) of.times[path.path] += path.time;
    }
  }
  for (auto& [index, of] : classes_) {
    const auto paths = excluded.find(index);
    if (paths == excluded.end()) continue;
    const auto known = std::ranges::find(exclusions_, paths->second);
    of.exclusion = static_cast<std::size_t>(known - exclusions_.begin());
    if (known == exclusions_.end()) exclusions_.push_back(paths->second);
  }
}

void UserShares::learn(std::int32_t cluster, const ShareVariables& of, std::span<const PathSamples> samples) {
  if (!has(cluster) || samples.empty()) return;
  Class& cls = classes_.at(at(cluster).class_index);
  cls.kept.add(of, samples);
  for (const PathSamples& path : samples) {
    paths_ = std::max(paths_, path.path + 1);
    cls.kept_samples += path.samples;
    kept_[static_cast<std::size_t>(cluster)][path.path] += path.samples;
  }
}

/// Takes classes in descending order of kept samples, so that those with few find the trees of the others. A class
/// without kept samples has nothing to compare: it is divided like its exact sums.
void UserShares::grow() {
  constexpr std::size_t most_tried = 8;  // trees of other classes
  std::vector<Class*> order;
  for (auto& [index, of] : classes_) order.push_back(&of);
  std::ranges::stable_sort(order, std::greater{}, &Class::kept_samples);
  std::vector<std::vector<Class*>> classes;  // by group
  for (Class* of : order) {
    ShareTree own = ShareTree::grow(of->kept, shares_of(of->times));
    const std::size_t tried = of->kept_samples > 0 ? std::min(groups_.size(), most_tried) : 0;
    std::size_t group = 0;
    while (group < tried && !groups_[group].tree.explains(of->kept, own)) ++group;
    if (group == tried) {
      group = groups_.size();
      groups_.emplace_back().tree = std::move(own);
      classes.emplace_back();
    }
    of->group = group;
    groups_[group].samples += of->samples;
    classes[group].push_back(of);
  }
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (classes[group].size() < 2) continue;
    SampledIterations all;
    std::map<std::uint32_t, double> times;
    for (const Class* of : classes[group]) {
      all.add(of->kept);
      for (const auto& [path, time] : of->times) times[path] += time;
    }
    groups_[group].tree = ShareTree::grow(all, shares_of(times));
  }
  for (Class* of : order) of->kept = {};
  for (const Group& of : groups_) found_.groups.push_back({of.tree.splits(), {}, 0, {}});
  for (const Cluster& of : clusters_) {
    const Class& cls = classes_.at(of.class_index);
    found_.clusters.push_back({cls.group, cls.exclusion});
  }
}

void UserShares::weigh(const Iteration& of) {
  if (!found_.has(of.cluster)) return;
  const std::size_t group = found_.clusters[static_cast<std::size_t>(of.cluster)].group;
  Part& part = groups_[group].parts[{of.cluster, found_.place_of(of)}];
  if (at(of.cluster).alone) return;  // but its place has a pool
  (of.kept ? part.kept : part.others).add({of.least_on_cpu, of.most_on_cpu, of.cpu, of.user_ticks, of.mpi_ticks});
}

/// The samples, by call path, of the members whose samples were not kept.
std::vector<UserShares::PathSum> UserShares::not_kept(std::int32_t cluster) const {
  const auto& kept_of = kept_[static_cast<std::size_t>(cluster)];
  std::vector<PathSum> rest;
  for (const PathSum& path : at(cluster).paths) {
    const auto kept = kept_of.find(path.path);
    const std::int64_t samples = path.samples - (kept == kept_of.end() ? 0 : kept->second);
    if (samples > 0) rest.push_back({path.path, samples, 0});
  }
  return rest;
}

/// Makes the pools of one group of classes.
class UserShares::Settling {
 public:
  Settling(UserShares& shares, std::size_t group)
      : shares_(shares),
        group_(shares.groups_[group]),
        found_(shares.found_.groups[group]),
        targets_(shares.paths_, 0),
        first_pool_(shares.found_.pools.size()) {
    add_up(group);
    divide_cpu_time();
  }

  void settle() {
    for (const auto& [place, of] : places_) found_.pool_of_place[place] = add_pool(of.cpu_part, row_at(place, 0));
    for (auto at = group_.parts.begin(); at != group_.parts.end();) {
      auto end = at;
      while (end != group_.parts.end() && end->first.first == at->first.first) ++end;
      settle_cluster(at, end);
      at = end;
    }
    Shares wanted;
    for (std::uint32_t path = 0; path < targets_.size(); ++path)
      if (targets_[path] > 0) wanted.push_back({path, targets_[path] / with_path_});
    found_.pool_of_rest = add_pool(cpu_part_of(all_), {0, group_.samples, wanted});
    add_missing(rows_, wanted, shares_.paths_);
    rake_beyond_zeros(rows_, targets_, samples_);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      sort_by_path(rows_[i].shares);
      shares_.found_.pools[first_pool_ + i].shares = std::move(rows_[i].shares);
    }
  }

 private:
  using PartIterator = std::map<ClusterAndPlace, Part>::iterator;
  struct OfPlace {
    Weights weights;
    double cpu_part = 0;
    double on_cpu() const { return weights.least + cpu_part * (weights.most - weights.least); }
  };

  void add_up(std::size_t group) {
    for (const auto& [where, part] : group_.parts)
      for (const Weights& weights : {part.kept, part.others}) {
        places_[where.second].weights.add(weights);
        all_.add(weights);
      }
    for (const Cluster& cluster : shares_.clusters_) {
      if (cluster.alone || shares_.classes_.at(cluster.class_index).group != group) continue;
      sums_.on_cpu += cluster.on_cpu;
      sums_.without_path += cluster.without_path;
      sums_.user_ticks += cluster.user_ticks;
      sums_.user_weight += cluster.user_weight;
      sums_.mpi_ticks += cluster.mpi_ticks;
      sums_.mpi_weight += cluster.mpi_weight;
      for (const PathSum& path : cluster.paths) {
        targets_[path.path] += path.time;
        with_path_ += path.time;
        samples_ += static_cast<double>(path.samples);
      }
    }
    const double time = with_path_ + sums_.without_path;
    without_path_ = time > 0 ? sums_.without_path / time : 0;
  }

  /// Sets the part on a CPU of each place: within the certain bounds, where the ticks of its iterations say, and so
  /// that the sum is exact.
  void divide_cpu_time() {
    double found = 0;
    for (auto& [place, of] : places_) {
      of.cpu_part = cpu_part_of(of.weights);
      found += of.on_cpu();
    }
    const double missing = sums_.on_cpu - found;
    for (auto& [place, of] : places_) {
      if (missing > 0 && all_.most > found)
        of.cpu_part += std::min(1.0, missing / (all_.most - found)) * (1 - of.cpu_part);
      if (missing < 0 && found > all_.least) of.cpu_part *= 1 - std::min(1.0, -missing / (found - all_.least));
    }
  }

  double cpu_part_of(const Weights& weights) const {
    const double room = weights.most - weights.least;
    if (room <= 0) return 1;
    const bool enough = weights.user_ticks + weights.mpi_ticks >= static_cast<double>(enough_samples);
    const Weights& ticks = enough ? weights : all_;
    const double user = ticks.user_ticks * (sums_.user_ticks > 0 ? sums_.user_weight / sums_.user_ticks : 1);
    const double mpi = ticks.mpi_ticks * (sums_.mpi_ticks > 0 ? sums_.mpi_weight / sums_.mpi_ticks : 1);
    const double user_part = user + mpi > 0 ? user / (user + mpi) : 1;
    return std::clamp((weights.cpu * user_part - weights.least) / room, 0.0, 1.0);
  }

  double mass_of(const Weights& weights, const Place& place) const {
    return (1 - without_path_) * OfPlace{weights, places_.at(place).cpu_part}.on_cpu();
  }

  const Shares& shares_of(std::size_t leaf) const { return group_.tree.leaves()[leaf].shares; }

  /// A leaf with few samples has one more, divided as its parent; a root with few has the shares of the exact sums.
  double samples_of(std::size_t leaf) const {
    if (shares_of(leaf).empty()) return 0;
    const auto own = static_cast<double>(group_.tree.leaves()[leaf].samples);
    if (own >= enough_samples) return own;
    return group_.tree.leaves().size() == 1 ? std::max(group_.samples, 1.0) : own + 1;
  }

  /// The shares of the leaf without excluded call paths; if none is left, those of the exact sums without them.
  RakedRow row_at(const Place& place, double mass) const {
    const std::vector<bool>& excluded = shares_.exclusions_[place.exclusion];
    RakedRow row{mass, samples_of(place.leaf), shares_of(place.leaf), excluded.empty() ? nullptr : &excluded};
    if (!row.excluded || row.shares.empty()) return row;
    std::erase_if(row.shares, [&](const auto& cell) { return !row.may_have(cell.path); });
    double left = 0;
    for (const auto& cell : row.shares) left += cell.share;
    row.samples = std::max(left * row.samples, std::min(row.samples, 1.0));
    if (row.shares.empty())
      for (std::uint32_t path = 0; path < targets_.size(); ++path)
        if (targets_[path] > 0 && row.may_have(path))
          left += targets_[path], row.shares.push_back({path, targets_[path]});
    for (auto& cell : row.shares) cell.share /= left;
    return row;
  }

  std::size_t add_pool(double cpu_part, RakedRow row) {
    auto& pools = shares_.found_.pools;
    pools.push_back({row.samples, {}, without_path_, cpu_part, pools.size()});
    rows_.push_back(std::move(row));
    return pools.size() - 1;
  }

  RakedRow& row_of(const Place& place) { return rows_[found_.pool_of_place.at(place) - first_pool_]; }

  /// Gives the members whose samples were not kept pools of their own if these samples differ from the leaves' shares.
  void settle_cluster(PartIterator begin, PartIterator end) {
    std::vector<RakedRow> others;
    std::map<std::uint32_t, double> by_path;
    double mass = 0, samples = 0;
    for (auto at = begin; at != end; ++at) {
      const Place& place = at->first.second;
      row_of(place).mass += mass_of(at->second.kept, place);
      others.push_back(row_at(place, mass_of(at->second.others, place)));
      mass += others.back().mass;
      for (const auto& cell : others.back().shares) by_path[cell.path] += others.back().mass * cell.share;
      if (others.back().mass > 0) samples += others.back().samples;
    }
    Shares expected;
    if (mass > 0)
      for (const auto& [path, time] : by_path) expected.push_back({path, time / mass});
    const auto rest = shares_.not_kept(begin->first.first);
    if (mass > 0 && !rest.empty() && surplus_gain(rest, expected, samples) > 0) {
      rake_apart(begin, end, others, rest);
      return;
    }
    std::size_t i = 0;
    for (auto at = begin; at != end; ++at) row_of(at->first.second).mass += others[i++].mass;
  }

  void rake_apart(PartIterator begin, PartIterator end, std::vector<RakedRow>& others, std::span<const PathSum> rest) {
    std::vector<double> wanted(targets_.size(), 0);
    double samples = 0;
    for (const PathSum& path : rest) samples += wanted[path.path] = static_cast<double>(path.samples);
    Shares shares;
    for (const PathSum& path : rest) shares.push_back({path.path, wanted[path.path] / samples});
    add_missing(others, shares, shares_.paths_);
    rake_beyond_zeros(others, wanted, samples);
    std::size_t i = 0;
    for (auto at = begin; at != end; ++at, ++i) {
      if (others[i].mass <= 0) continue;
      sort_by_path(others[i].shares);
      others[i].samples = std::min(samples, row_at(at->first.second, 0).samples);
      found_.pool_of_part[at->first] = add_pool(places_.at(at->first.second).cpu_part, std::move(others[i]));
    }
  }

  UserShares& shares_;
  Group& group_;
  SharePools::Group& found_;
  std::vector<double> targets_;  ///< time by path
  std::size_t first_pool_;       ///< of the group
  std::map<Place, OfPlace> places_;
  Weights all_;
  Cluster sums_;
  double with_path_ = 0, without_path_ = 0;
  double samples_ = 0;          ///< number of samples that the targets rest on
  std::vector<RakedRow> rows_;  ///< by pool of the group
};

SharePools UserShares::settle() {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    Settling(*this, group).settle();
    groups_[group].parts.clear();
  }
  return std::move(found_);
}

}  // namespace refrain::run
