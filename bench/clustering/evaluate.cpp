#include "bench/clustering/evaluate.hpp"

#include <chrono>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>

#include "bench/clustering/shares.hpp"
#include "clustering/clusterer.hpp"
#include "clustering/iteration_log.hpp"
#include "clustering/sample_store.hpp"
#include "offline/experiment/iteration_log_reader.hpp"
#include "offline/experiment/sample_reader.hpp"
#include "offline/run/reconstruct.hpp"
#include "tests/unit/clustering/as_stored.hpp"
#include "tests/unit/clustering/clusterer_memory.hpp"

namespace refrain::bench {

using namespace clustering;

namespace {

struct Final {
  ClusterView view;
  std::vector<PathRow> rows;
  std::vector<double> share_total;  ///< per shape: sum of the weights of all paths
};

Settings settings_of(const Sequence& sequence, std::uint32_t clusters, std::span<const Shape> shapes) {
  Settings settings;
  settings.max_clusters = clusters;
  settings.memory_limit = std::size_t{1} << 30;
  settings.metrics = sequence.overall.size();
  settings.shapes = shapes;
  return settings;
}

/// `clusterer` must not have any iterations yet.
template <class AnyClusterer>
Result evaluate_with(AnyClusterer& clusterer, const Sequence& sequence, Algorithm algorithm, std::uint32_t clusters,
                     std::size_t sample_bytes) {
  const bool keeps_vectors = algorithm == Algorithm::Refrain || algorithm == Algorithm::Plain;
  const auto shapes = sequence.shape_views();
  IterationLog log;
  SampleStore store;
  if (!log.create(sequence.overall) || (sample_bytes && !store.create(shapes, sample_bytes)))
    throw std::runtime_error("no memory");

  const std::size_t count = sequence.iterations.size();
  std::vector<std::vector<TouchedPath>> touched;
  for (const auto& it : sequence.iterations) touched.push_back(sequence.touched(it));
  std::vector<Label> labels(count);
  std::vector<Merge> merges;
  std::vector<std::vector<std::byte>> blocks;
  Result out;
  const auto start = std::chrono::steady_clock::now();
  const auto close = [&] {
    const auto block = log.closed();
    blocks.emplace_back(block.begin(), block.end());
    log.start_block();
  };
  for (std::size_t i = 0; i < count; ++i) {
    const auto& it = sequence.iterations[i];
    const Label label = clusterer.add(i, {it.overall, touched[i]});
    if (label == no_label) throw std::runtime_error("an iteration was refused");
    labels[i] = label;
    if (!clusterer.merges().empty()) {
      merges.insert(merges.end(), clusterer.merges().begin(), clusterer.merges().end());
      clusterer.drained();
    }
    if (keeps_vectors && log.append(i, label, it.overall) == IterationLog::Appended::BlockFull) {
      close();
      (void)log.append(i, label, it.overall);
    }
    if (sample_bytes) store.append(touched[i]);
  }
  close();
  out.microseconds = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
                     static_cast<double>(count);
  out.clusters = clusters;
  out.made = clusterer.cluster_count();
  out.classes = clusterer.class_count();
  if constexpr (std::is_same_v<AnyClusterer, Clusterer>) {
    const ClustererMemory memory{clusterer};
    out.profiles = memory.profiles();
    out.search = memory.search();
  } else {
    out.profiles = clusterer.profile_bytes();
  }
  if (keeps_vectors)
    for (const auto& block : blocks) out.vectors += block.size();
  if (keeps_vectors) out.vectors += merges.size() * sizeof(Merge);
  out.samples = store.data().size() + store.references().size_bytes();
  out.sample_stride = store.kept().stride();

  // Map labels to clusters. In reverse order of the merges, each label was merged into one that is already resolved.
  std::unordered_map<std::uint32_t, std::uint32_t> index_of;
  std::vector<Final> finals(clusterer.cluster_count());
  for (std::uint32_t k = 0; k < finals.size(); ++k) {
    Final& f = finals[k];
    f.view = clusterer.cluster(k);
    index_of[static_cast<std::uint32_t>(f.view.label)] = k;
    f.share_total.assign(sequence.shapes.size(), 0);
    (void)clusterer.for_each_path(k, [&](const PathRow& row) {
      f.rows.push_back(row);
      f.share_total[row.shape] += static_cast<double>(row.sum[row.columns - 1]);
      return true;
    });
  }
  for (std::size_t m = merges.size(); m-- > 0;)
    index_of[static_cast<std::uint32_t>(merges[m].from)] = index_of.at(static_cast<std::uint32_t>(merges[m].to));

  // The vectors as a reader of the log gets them.
  const std::size_t metrics = sequence.overall.size();
  std::vector<std::int64_t> vectors(count * metrics);
  if (keeps_vectors) {
    std::size_t at = 0;
    for (const auto& block : blocks) {
      experiment::IterationLogReader reader;
      if (!reader.open(block, sequence.overall)) throw std::runtime_error("block unreadable");
      experiment::LoggedItem item;
      while (reader.next(item)) {
        if (item.label != labels[at]) throw std::runtime_error("label differs");
        std::copy(item.row, item.row + metrics, vectors.begin() + static_cast<std::ptrdiff_t>(at++ * metrics));
      }
    }
    if (at != count) throw std::runtime_error("iterations missing in the log");
  }

  std::vector<std::size_t> flat_begin;
  std::size_t flat_count = 0;
  for (const auto& s : sequence.shapes) {
    flat_begin.push_back(flat_count);
    flat_count += s.columns.size();
  }
  std::vector<double> wrong(flat_count), size(flat_count), overall_wrong(metrics), overall_size(metrics);
  double user_wrong = 0, user_size = 0, oracle_wrong = 0, weight_size = 0;
  // Values of the current iteration by path; a stamp with its number shows that a value belongs to it.
  std::vector<std::int64_t> value_at;
  std::vector<std::size_t> stamp;
  std::vector<double> user_at;
  std::vector<std::size_t> user_stamp;
  std::vector<bool> kept_of(count, false);
  experiment::SampleReader samples;
  if (sample_bytes &&
      !samples.open(store.data(), test::as_stored(shapes), store.references(), store.kept(), store.count()))
    throw std::runtime_error("samples unreadable");
  bool more_samples = sample_bytes && samples.next();
  std::vector<std::int64_t> kept_value;  // by path and column, for an iteration whose samples are kept
  std::vector<std::size_t> kept_stamp;
  for (std::size_t i = 0; i < count; ++i) {
    while (more_samples && samples.ordinal() < i) more_samples = samples.next();
    if (samples.damaged()) throw std::runtime_error("samples damaged");
    const bool samples_kept = more_samples && samples.ordinal() == i && samples.kept();
    kept_of[i] = samples_kept;
    if (samples_kept)
      for (const experiment::StoredPath& t : samples.paths()) {
        const std::size_t path = t.path;
        if (kept_stamp.size() <= path) {
          kept_stamp.resize(path + 1, ~std::size_t{0});
          kept_value.resize((path + 1) * max_columns);
        }
        kept_stamp[path] = i;
        std::copy(t.values, t.values + sequence.shapes[t.shape].columns.size(),
                  kept_value.begin() + static_cast<std::ptrdiff_t>(path * max_columns));
      }
    const auto& it = sequence.iterations[i];
    const Final& f = finals[index_of.at(static_cast<std::uint32_t>(labels[i]))];
    const double n = static_cast<double>(f.view.members);
    for (std::size_t m = 0; m < metrics; ++m) {
      const auto truth = static_cast<double>(it.overall[m]);
      double got = static_cast<double>(f.view.sum[m]) / n;
      if (algorithm == Algorithm::ScorePShipped) got = std::trunc(got);
      if (keeps_vectors && sequence.overall[m] != Precision::NotKept)
        got = static_cast<double>(vectors[i * metrics + m]);
      overall_wrong[m] += std::fabs(got - truth);
      overall_size[m] += std::fabs(truth);
    }
    std::size_t at = 0;
    for (std::size_t p = 0; p < it.path.size(); ++p) {
      if (stamp.size() <= it.path[p]) stamp.resize(it.path[p] + 1, ~std::size_t{0});
      stamp[it.path[p]] = i;
      if (value_at.size() <= std::size_t{it.path[p]} * max_columns) value_at.resize((it.path[p] + 1) * max_columns);
      const std::size_t columns = sequence.shapes[it.shape[p]].columns.size();
      for (std::size_t c = 0; c < columns; ++c) {
        const std::int64_t v = it.values[at++];
        value_at[it.path[p] * max_columns + c] = v;
        size[flat_begin[it.shape[p]] + c] += std::fabs(static_cast<double>(v));
        wrong[flat_begin[it.shape[p]] + c] +=
            std::fabs(static_cast<double>(v));  // undone below if the cluster has the path
      }
    }
    for (const auto& [path, time] : it.true_user) {
      if (user_stamp.size() <= path) {
        user_stamp.resize(path + 1, ~std::size_t{0});
        user_at.resize(path + 1);
      }
      user_stamp[path] = i;
      user_at[path] = time;
      user_size += time;
      user_wrong += time;
    }
    // The distance between the samples and the true times.
    for (const auto& [path, time] : it.true_user) {
      const bool here = path < stamp.size() && stamp[path] == i;
      const std::size_t last = sequence.shapes.back().columns.size() - 1;
      const double weight = here ? static_cast<double>(value_at[path * max_columns + last]) : 0;
      oracle_wrong += std::fabs(weight - time);
      weight_size += weight;
    }
    const auto user_of = [&](auto&& value) {
      if (sequence.user_time_of.empty()) return 0.0;
      double rest = 2 * value(sequence.user_time_of[0]);
      for (const std::uint8_t m : sequence.user_time_of) rest -= value(m);
      return rest;
    };
    const double mean_user = user_of([&](std::uint8_t m) { return static_cast<double>(f.view.sum[m]) / n; });
    const double user = keeps_vectors
                            ? user_of([&](std::uint8_t m) { return static_cast<double>(vectors[i * metrics + m]); })
                            : mean_user;
    const auto compare = [&](std::uint32_t path, std::size_t shape, unsigned c, double got) {
      const bool here = path < stamp.size() && stamp[path] == i;
      const double truth = here ? static_cast<double>(value_at[path * max_columns + c]) : 0;
      wrong[flat_begin[shape] + c] += std::fabs(got - truth) - std::fabs(truth);
    };
    const auto compare_user = [&](std::uint32_t path, double got) {
      const double truth = path < user_stamp.size() && user_stamp[path] == i ? user_at[path] : 0;
      user_wrong += std::fabs(got - truth) - truth;
    };
    for (const PathRow& row : f.rows) {
      const auto path = static_cast<std::uint32_t>(row.path);
      const ShapeTable& shape = sequence.shapes[row.shape];
      for (unsigned c = 0; c < row.columns; ++c) {
        const std::uint8_t overall = shape.columns[c].scales_with;
        run::ReconstructionInput in;
        in.sum = row.sum[c];
        in.members = f.view.members;
        if (keeps_vectors && overall != no_metric && sequence.overall[overall] != Precision::NotKept) {
          in.scales = true;
          in.overall_sum = f.view.sum[overall];
          in.overall_value = static_cast<double>(vectors[i * metrics + overall]);
          in.has_slope = row.has_slopes;
          in.slope = row.slope[c];
          const std::uint8_t second = shape.columns[c].also_scales_with;
          if (second != no_metric && sequence.overall[second] != Precision::NotKept) {
            in.second_slope = row.second_slope[c];
            in.second_overall_sum = f.view.sum[second];
            in.second_overall_value = static_cast<double>(vectors[i * metrics + second]);
          }
        } else if (keeps_vectors && !shape.exact && mean_user > 0) {
          // The values of user code scale with the user time of the iteration, which is known.
          in.scales = true;
          in.overall_sum = static_cast<std::int64_t>(mean_user * n);
          in.overall_value = user;
        }
        // In the paper every member is represented by the mean of its cluster.
        double got =
            keeps_vectors ? run::reconstruct(in) : static_cast<double>(in.sum) / static_cast<double>(in.members);
        if (algorithm == Algorithm::ScorePShipped) got = std::trunc(got);
        if (samples_kept && !shape.exact)
          got = path < kept_stamp.size() && kept_stamp[path] == i
                    ? static_cast<double>(kept_value[path * max_columns + c])
                    : 0;
        compare(path, row.shape, c, got);
      }
      if (shape.exact || keeps_vectors || sequence.user_time_of.empty()) continue;
      // The user time of the path is estimated by its share of the cluster's weights.
      const double total = f.share_total[row.shape];
      compare_user(path, total > 0 ? static_cast<double>(row.sum[row.columns - 1]) / total * user : 0);
    }
  }
  if (keeps_vectors) {
    std::vector<std::uint32_t> cluster_of, class_of;
    for (const Label label : labels) cluster_of.push_back(index_of.at(static_cast<std::uint32_t>(label)));
    for (const Final& f : finals) class_of.push_back(f.view.class_index);
    const SharesResult shares =
        divide_user_time(sequence, cluster_of, class_of, [&](std::size_t i) { return sample_bytes && kept_of[i]; });
    user_wrong = shares.wrong * user_size;
    out.user_within = shares.within;
  }
  std::size_t families = 0;
  for (std::size_t s = 0; s < sequence.shapes.size(); ++s)
    for (std::size_t c = 0; c < sequence.shapes[s].columns.size(); ++c) {
      const std::size_t flat = flat_begin[s] + c;
      out.column_error.push_back(size[flat] > 0 ? wrong[flat] / size[flat] : 0);
      const bool repeats = !sequence.shapes[s].columns[c].in_distance && !sequence.shapes[s].exact;
      if (size[flat] == 0 || repeats) continue;
      ++families;
      out.path_error += out.column_error.back();
      const bool sampled = !sequence.shapes[s].exact;
      out.path_error_true += sampled && user_size > 0 ? user_wrong / user_size : out.column_error.back();
      if (!sampled && c != 1) out.count_error = std::max(out.count_error, out.column_error.back());
    }
  out.path_error /= static_cast<double>(families);
  out.path_error_true /= static_cast<double>(families);
  out.oracle = weight_size > 0 ? oracle_wrong / weight_size / static_cast<double>(families) : 0;
  out.user_true = user_size > 0 ? user_wrong / user_size : 0;
  std::size_t in_distance = 0;
  for (std::size_t m = 0; m < metrics; ++m) {
    const double error = overall_size[m] > 0 ? overall_wrong[m] / overall_size[m] : 0;
    out.overall_error.push_back(error);
    if (sequence.overall[m] == Precision::Exact) out.overall_exact = std::max(out.overall_exact, error);
    if (sequence.overall[m] == Precision::Rounded) out.overall_other = std::max(out.overall_other, error);
    if (!sequence.in_distance[m]) continue;
    ++in_distance;
    out.overall_mean += error;
  }
  out.overall_mean /= static_cast<double>(std::max<std::size_t>(1, in_distance));
  return out;
}

}  // namespace

Result evaluate(const Sequence& sequence, Algorithm algorithm, std::uint32_t clusters, std::size_t sample_bytes) {
  const auto shapes = sequence.shape_views();
  if (algorithm != Algorithm::Refrain) {
    ReferenceClusterer clusterer(algorithm, clusters, sequence.in_distance, shapes);
    return evaluate_with(clusterer, sequence, algorithm, clusters, sample_bytes);
  }
  Clusterer clusterer;
  if (!clusterer.create(settings_of(sequence, clusters, shapes))) throw std::runtime_error("no memory");
  return evaluate_with(clusterer, sequence, algorithm, clusters, sample_bytes);
}

SharesResult evaluate_shares(const Sequence& sequence, std::uint32_t clusters, unsigned level) {
  const auto shapes = sequence.shape_views();
  Clusterer clusterer;
  if (!clusterer.create(settings_of(sequence, clusters, shapes))) throw std::runtime_error("no memory");
  std::vector<Label> labels;
  std::vector<Merge> merges;
  for (const auto& it : sequence.iterations) {
    const auto touched = sequence.touched(it);
    labels.push_back(clusterer.add(labels.size(), {it.overall, touched}));
    merges.insert(merges.end(), clusterer.merges().begin(), clusterer.merges().end());
    clusterer.drained();
  }
  std::unordered_map<std::uint32_t, std::uint32_t> index_of;
  std::vector<std::uint32_t> cluster_of, class_of;
  for (std::uint32_t k = 0; k < clusterer.cluster_count(); ++k) {
    index_of[static_cast<std::uint32_t>(clusterer.cluster(k).label)] = k;
    class_of.push_back(clusterer.cluster(k).class_index);
  }
  for (std::size_t m = merges.size(); m-- > 0;)
    index_of[static_cast<std::uint32_t>(merges[m].from)] = index_of.at(static_cast<std::uint32_t>(merges[m].to));
  for (const Label label : labels) cluster_of.push_back(index_of.at(static_cast<std::uint32_t>(label)));
  return divide_user_time(sequence, cluster_of, class_of, [&](std::size_t i) { return KeptIterations{level}.has(i); });
}

}  // namespace refrain::bench
