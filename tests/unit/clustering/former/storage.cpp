// What clusters hold, and how iterations and clusters are added up. Each change gets its memory first and cannot fail
// afterwards.
#include <algorithm>
#include <cstring>

#include "format/hashing.hpp"
#include "tests/unit/clustering/former/clusterer.hpp"

namespace refrain::clustering::former {

namespace {

std::uint8_t wider(std::uint8_t a, std::uint8_t b) { return a > b ? a : b; }

/// Room for a few more rows, so that a growing set of paths does not move at every new one.
std::uint32_t with_slack(std::uint32_t rows) { return rows + rows / 8 + 1; }

}  // namespace

void Clusterer::add_to_statistics(Cluster& c, std::uint64_t iteration, const IterationProfile& profile) {
  const auto slot = static_cast<std::uint32_t>(&c - clusters_.data());
  std::int64_t *sum = sums(c), *low = minima(c), *high = maxima(c);
  // Sums, and whether any value lies outside of what there was: the sign of one of two differences.
  using TwoIntegers = std::uint64_t __attribute__((vector_size(16)));
  const auto integers_at = [](const std::int64_t* from) {
    TwoIntegers out;
    std::memcpy(&out, from, sizeof out);
    return out;
  };
  TwoIntegers outside = {0, 0};
  std::size_t first = 0;
  for (; first + 2 <= metrics_; first += 2) {
    const TwoIntegers value = integers_at(profile.overall.data() + first), now = integers_at(sum + first) + value;
    std::memcpy(sum + first, &now, sizeof now);
    outside |= (value - integers_at(low + first)) | (integers_at(high + first) - value);
  }
  std::uint64_t any_outside = outside[0] | outside[1];
  if (first < metrics_) {
    sum[first] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum[first]) +
                                           static_cast<std::uint64_t>(profile.overall[first]));
    any_outside = ~std::uint64_t{0};
  }
  if (any_outside >> 63)
    for (std::size_t m = 0; m < metrics_; ++m) {
      low[m] = std::min(low[m], profile.overall[m]);
      high[m] = std::max(high[m], profile.overall[m]);
    }
  // Welford: the mean moves by a share of the difference, and the squares grow by the differences before and after.
  using Two = double __attribute__((vector_size(16)));
  using Four = float __attribute__((vector_size(16)));
  using FourBits = std::uint32_t __attribute__((vector_size(16)));
  const auto two_at = [](const double* from) {
    Two out;
    std::memcpy(&out, from, sizeof out);
    return out;
  };
  const auto four_at = [](const float* from) {
    Four out;
    std::memcpy(&out, from, sizeof out);
    return out;
  };
  const auto magnitude = [](Four v) {
    FourBits bits;
    std::memcpy(&bits, &v, sizeof bits);
    bits &= 0x7fffffffU;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  };
  double *means = exact_means(c), *square = squares(c);
  const double inverse = 1 / static_cast<double>(c.members + 1);
  float *example = exemplar_vector(c), *mean = mean_of(slot), *own = mean_of(newcomer_);
  Four example_distance = {0, 0, 0, 0}, own_distance = {0, 0, 0, 0};
  for (std::size_t m = 0; m < stride_; m += lanes) {
    using FourDoubles = double __attribute__((vector_size(32)));
    FourDoubles after;
    for (std::size_t i = 0; i < lanes; i += 2) {
      const Two value = two_at(newcomer_overall_ + m + i), before = two_at(means + m + i), apart = value - before;
      const Two now = before + apart * inverse;
      const Two squares_now = two_at(square + m + i) + apart * (value - now);
      std::memcpy(means + m + i, &now, sizeof now);
      after[i] = now[0];
      after[i + 1] = now[1];
      std::memcpy(square + m + i, &squares_now, sizeof squares_now);
    }
    const Four here = __builtin_convertvector(after, Four);
    std::memcpy(mean + m, &here, sizeof here);
    const Four weight = four_at(inverse_mean_ + m);
    example_distance += magnitude(four_at(example + m) - here) * weight;
    own_distance += magnitude(four_at(own + m) - here) * weight;
  }
  const Four nearer = example_distance - own_distance;
  if (nearer[0] + nearer[1] + nearer[2] + nearer[3] > 0) {
    c.exemplar = iteration;
    std::memcpy(example, own, stride_ * sizeof(float));
  }
  c.last = iteration;
  ++c.members;
}

void Clusterer::add_untouched(Label label, const Untouched& more) {
  std::uint32_t slot = 0;
  while (slot < clusters_.size() && !(clusters_[slot].members && clusters_[slot].label == label)) ++slot;
  if (slot == clusters_.size() || more.count == 0) return;
  alignas(8) std::byte statistics[max_overall * (5 * 8 + 4)];
  static_assert(max_overall % lanes == 0);
  Cluster from{};
  from.statistics = statistics;
  from.members = more.count;
  from.first = from.exemplar = more.first;
  from.last = more.last;
  for (std::size_t m = 0; m < metrics_; ++m) {
    sums(from)[m] = more.sum[m];
    minima(from)[m] = more.minimum[m];
    maxima(from)[m] = more.maximum[m];
    squares(from)[m] = more.squares[m];
    exemplar_vector(from)[m] = huge_cost;  // the exemplar stays an iteration that was looked at
    total_[m] += static_cast<double>(more.sum[m]);
    integer_total_[m] += static_cast<std::uint64_t>(more.sum[m]);
  }
  iterations_ += more.count;
  add_to_statistics(clusters_[slot], from);
  members_changed(slot);
}

void Clusterer::add_to_statistics(Cluster& c, const Cluster& from) {
  const double n = static_cast<double>(c.members), k = static_cast<double>(from.members);
  float* mean = mean_of(static_cast<std::uint32_t>(&c - clusters_.data()));
  float distance_here = 0, distance_there = 0;
  for (std::size_t m = 0; m < metrics_; ++m) {
    const double apart = static_cast<double>(sums(c)[m]) / n - static_cast<double>(sums(from)[m]) / k;
    squares(c)[m] += squares(from)[m] + apart * apart * (n * k / (n + k));
    sums(c)[m] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(sums(c)[m]) + static_cast<std::uint64_t>(sums(from)[m]));
    minima(c)[m] = std::min(minima(c)[m], minima(from)[m]);
    maxima(c)[m] = std::max(maxima(c)[m], maxima(from)[m]);
    exact_means(c)[m] = static_cast<double>(sums(c)[m]) / (n + k);
    mean[m] = static_cast<float>(exact_means(c)[m]);
    distance_here += __builtin_fabsf(exemplar_vector(c)[m] - mean[m]) * inverse_mean_[m];
    distance_there += __builtin_fabsf(exemplar_vector(from)[m] - mean[m]) * inverse_mean_[m];
  }
  if (distance_there < distance_here) {
    c.exemplar = from.exemplar;
    std::memcpy(exemplar_vector(c), exemplar_vector(from), metrics_ * sizeof(float));
  }
  c.first = std::min(c.first, from.first);
  c.last = std::max(c.last, from.last);
  c.members += from.members;
}

/// What comes to a dense column: the newcomer's deltas, or the sums of another cluster.
const std::int64_t* Clusterer::incoming(unsigned flat, const Cluster* from) {
  const FlatColumn& column = flat_[flat];
  if (from) {
    const PackedTable& table = from->tables[column.shape];
    if (table.width[column.column] == 0) return nullptr;
    table.read(column.column, work_b_.data());
    return work_b_.data();
  }
  if (!(delta_nonzero_ >> flat & 1)) return nullptr;
  return deltas_.data() + delta_begin_[flat];
}

/// What incoming() has given, as floats.
const float* Clusterer::incoming_floats(const Part& part, const std::int64_t* values) {
  if (values != work_b_.data()) return delta_floats_.data() + (values - deltas_.data());
  for (std::uint32_t i = 0; i < part.count; ++i) work_floats_[i] = static_cast<float>(values[i]);
  return work_floats_.data();
}

bool Clusterer::stage_dense(const PathClass& cls, const Cluster& into, const Cluster* from) {
  if (!reserve_work(cls)) return false;
  for (std::size_t s = 0; s < shapes_; ++s) {
    const Part& part = cls.parts[s];
    const PackedTable& table = into.tables[s];
    if (part.count == 0) continue;
    Widths widths;
    std::memcpy(widths, table.width, sizeof widths);
    bool grows = false;
    for (unsigned c = 0; c < columns_[s]; ++c) {
      if (table.width[c] == 8) continue;
      const std::int64_t* values = incoming(flat_begin_[s] + c, from);
      if (!values) continue;
      std::int64_t low = 0, high = 0;
      const auto range = [&](auto&& old) {
        for (std::uint32_t i = 0; i < part.count; ++i) {
          const auto sum =
              static_cast<std::int64_t>(static_cast<std::uint64_t>(values[i]) + static_cast<std::uint64_t>(old(i)));
          low = sum < low ? sum : low;
          high = sum > high ? sum : high;
        }
      };
      with_width(
          table.width[c], table.data + table.offset(c),
          [&](auto* v) { range([v](std::uint32_t i) -> std::int64_t { return v[i]; }); },
          [&] { range([](std::uint32_t) -> std::int64_t { return 0; }); });
      const std::uint8_t needed = wider(width_of(low), width_of(high));
      if (needed > table.width[c]) {
        widths[c] = needed;
        grows = true;
      }
    }
    if (!grows) continue;
    if (!staged_[s].allocate(heap_, columns_[s], part.count, widths)) return false;
    is_staged_[s] = true;
  }
  return true;
}

/// Rows of the newcomer's paths in a sparse table, whose column 0 holds ids in ascending order; table.rows: not there.
void Clusterer::find_rows(const PackedTable& table, std::size_t shape) {
  const std::uint32_t begin = sparse_begin_[shape], end = sparse_begin_[shape + 1];
  with_width(
      table.width[0], table.data + table.offset(0),
      [&](auto* ids) {
        for (std::uint32_t e = begin; e < end; ++e) {
          const auto path = static_cast<std::int64_t>(sparse_[e].path);
          std::uint32_t low = 0, length = table.rows;
          while (length > 1) {  // no branch on the comparison: it is a coin toss
            const std::uint32_t half = length / 2;
            low += ids[low + half - 1] < path ? half : 0;
            length -= half;
          }
          found_[e] = low < table.rows && ids[low] == path ? low : table.rows;
        }
      },
      [&] {  // no id at all, or path 0 alone
        for (std::uint32_t e = begin; e < end; ++e)
          found_[e] = table.rows && sparse_[e].path == PathId{0} ? 0 : table.rows;
      });
}

/// Room in `into` for the sampled paths of the newcomer: new rows are zero, widths are enough for the sums to come.
bool Clusterer::stage_sparse(const Cluster& into) {
  if (!found_.resize(sparse_begin_[shapes_]) || !missing_.reserve(sparse_begin_[shapes_])) return false;
  for (std::size_t s = 0; s < shapes_; ++s) {
    const std::uint32_t begin = sparse_begin_[s], end = sparse_begin_[s + 1];
    if (begin == end) continue;
    const PackedTable& table = into.tables[shapes_ + s];
    const unsigned columns = columns_[s] + 1U;
    Widths widths;
    std::memcpy(widths, table.width, sizeof widths);
    find_rows(table, s);
    missing_.clear();
    for (std::uint32_t e = begin; e < end; ++e)
      if (found_[e] == table.rows) {
        const auto path = static_cast<std::uint32_t>(sparse_[e].path);
        (void)missing_.push_back(path);
        widths[0] = wider(widths[0], width_of(path));
      }
    for (unsigned c = 1; c < columns; ++c) {
      std::int64_t low = 0, high = 0;
      const auto range = [&](auto&& old) {
        for (std::uint32_t e = begin; e < end; ++e) {
          const auto before = found_[e] < table.rows ? static_cast<std::uint64_t>(old(found_[e])) : 0;
          const auto sum = static_cast<std::int64_t>(before + static_cast<std::uint64_t>(sparse_[e].values[c - 1]));
          low = sum < low ? sum : low;
          high = sum > high ? sum : high;
        }
      };
      if (table.width[c] == 8) continue;
      with_width(
          table.width[c], table.data + table.offset(c),
          [&](auto* v) { range([v](std::uint32_t row) -> std::int64_t { return v[row]; }); },
          [&] { range([](std::uint32_t) -> std::int64_t { return 0; }); });
      widths[c] = wider(widths[c], wider(width_of(low), width_of(high)));
    }
    bool grows = false;
    std::sort(missing_.begin(), missing_.end());
    const auto added = static_cast<std::uint32_t>(std::unique(missing_.begin(), missing_.end()) - missing_.begin());
    for (unsigned c = 0; c < columns; ++c) grows = grows || widths[c] > table.width[c];
    if (!grows && added == 0) continue;
    const std::uint32_t rows = table.rows + added;
    if (!pick_a_.resize(rows) || !work_.reserve(rows) || !work_b_.reserve(rows)) return false;
    const std::uint32_t capacity = rows <= table.capacity ? table.capacity : (into.members ? with_slack(rows) : rows);
    PackedTable& next = staged_[shapes_ + s];
    if (!next.allocate(heap_, columns, capacity, widths)) return false;
    is_staged_[shapes_ + s] = true;
    next.rows = rows;
    // Where each row of the new table comes from: a row of the old one, or none.
    std::int64_t* ids = work_.data();
    table.read(0, ids);
    for (std::uint32_t i = 0, old = 0, fresh = 0; i < rows; ++i) {
      const bool take_old = fresh == added || (old < table.rows && ids[old] < missing_[fresh]);
      work_b_.data()[i] = take_old ? ids[old] : missing_[fresh];
      pick_a_[i] = take_old ? old++ : none;
      fresh += take_old ? 0 : 1;
    }
    next.write(0, 0, work_b_.data(), rows);
    for (unsigned c = 1; c < columns; ++c) {
      table.read(c, work_.data());
      for (std::uint32_t i = 0; i < rows; ++i) work_b_.data()[i] = pick_a_[i] == none ? 0 : work_.data()[pick_a_[i]];
      next.write(c, 0, work_b_.data(), rows);
    }
  }
  return true;
}

/// The union of the sampled paths of two clusters, with their sums.
bool Clusterer::stage_sparse(const Cluster& into, const Cluster& from) {
  for (std::size_t s = 0; s < shapes_; ++s) {
    const PackedTable &a = into.tables[shapes_ + s], &b = from.tables[shapes_ + s];
    if (b.rows == 0) continue;
    const unsigned columns = columns_[s] + 1U;
    const std::uint32_t most = a.rows + b.rows;
    if (!work_.reserve(most) || !work_b_.reserve(most) || !pick_a_.resize(most) || !pick_b_.resize(most)) return false;
    std::int64_t *x = work_.data(), *y = work_b_.data();
    a.read(0, x);
    b.read(0, y);
    std::uint32_t rows = 0;
    for (std::uint32_t i = 0, j = 0; i < a.rows || j < b.rows; ++rows) {
      const bool take_a = i < a.rows && (j == b.rows || x[i] <= y[j]);
      const bool take_b = j < b.rows && (i == a.rows || y[j] <= x[i]);
      pick_a_[rows] = take_a ? i++ : none;
      pick_b_[rows] = take_b ? j++ : none;
    }
    Widths widths = {};
    PackedTable& next = staged_[shapes_ + s];
    for (int writing = 0; writing < 2; ++writing) {
      for (unsigned c = 0; c < columns; ++c) {
        a.read(c, x);
        b.read(c, y);
        // In place, from the last row down: no source row lies behind its destination.
        if (writing) {
          for (std::uint32_t i = rows; i-- > 0;) {
            const std::int64_t left = pick_a_[i] == none ? 0 : x[pick_a_[i]];
            const std::int64_t right = pick_b_[i] == none ? 0 : y[pick_b_[i]];
            x[i] =
                c == 0
                    ? (pick_a_[i] == none ? right : left)
                    : static_cast<std::int64_t>(static_cast<std::uint64_t>(left) + static_cast<std::uint64_t>(right));
          }
          next.write(c, 0, x, rows);
          continue;
        }
        for (std::uint32_t i = 0; i < rows; ++i) {
          const std::int64_t left = pick_a_[i] == none ? 0 : x[pick_a_[i]];
          const std::int64_t right = pick_b_[i] == none ? 0 : y[pick_b_[i]];
          const std::int64_t sum =
              c == 0 ? (pick_a_[i] == none ? right : left)
                     : static_cast<std::int64_t>(static_cast<std::uint64_t>(left) + static_cast<std::uint64_t>(right));
          widths[c] = wider(widths[c], width_of(sum));
        }
      }
      if (writing) break;
      if (!next.allocate(heap_, columns, with_slack(rows), widths)) return false;
      is_staged_[shapes_ + s] = true;
      next.rows = rows;
    }
  }
  return true;
}

void Clusterer::drop_staged() {
  for (std::size_t t = 0; t < 2 * shapes_; ++t)
    if (is_staged_[t]) {
      staged_[t].free(heap_);
      is_staged_[t] = false;
    }
}

/// The staged table, complete as it is, takes the place of the old one.
void Clusterer::swap_in_staged(Cluster& into, std::size_t index) {
  if (!is_staged_[index]) return;
  into.tables[index].free(heap_);
  into.tables[index] = staged_[index];
  staged_[index] = PackedTable{};
  is_staged_[index] = false;
}

/// The products of a column, made when they are first needed. Null: there is no memory for them, and the column goes
/// without a slope.
float* Clusterer::scatter_of(float** scatters, unsigned column, std::uint32_t count) {
  if (!scatters[column]) {
    scatters[column] = reinterpret_cast<float*>(heap_.allocate(count * sizeof(float)));
    if (scatters[column]) std::memset(scatters[column], 0, count * sizeof(float));
  }
  return scatters[column];
}

void Clusterer::commit_dense(PathClass& cls, Cluster& into, const Cluster* from) {
  const double na = static_cast<double>(into.members), nb = from ? static_cast<double>(from->members) : 1;
  const bool slopes = algorithm_ == Algorithm::Refrain && into.members;
  const float* mean_a = mean_of(static_cast<std::uint32_t>(&into - clusters_.data()));
  const float* mean_b = mean_of(from ? static_cast<std::uint32_t>(from - clusters_.data()) : newcomer_);
  for (std::size_t s = 0; s < shapes_; ++s) {
    Part& part = cls.parts[s];
    if (part.count == 0) continue;
    PackedTable& table = into.tables[s];
    if (is_staged_[s]) {
      staged_[s].take_over(heap_, table);
      table = staged_[s];
      is_staged_[s] = false;
    }
    for (unsigned c = 0; c < columns_[s]; ++c) {
      const unsigned flat = flat_begin_[s] + c;
      const std::uint8_t overall = flat_[flat].overall;
      const double apart = slopes && overall != no_metric
                               ? static_cast<double>(mean_b[overall]) - static_cast<double>(mean_a[overall])
                               : 0;
      const std::uint8_t second = flat_[flat].second;
      const double second_apart =
          slopes && second != no_metric ? static_cast<double>(mean_b[second]) - static_cast<double>(mean_a[second]) : 0;
      const double both = na * nb / (na + nb);
      if (apart != 0 || second_apart != 0) {
        cls.overall_scatter[flat] += apart * apart * both;
        cls.cross_scatter[flat] += apart * second_apart * both;
        cls.second_scatter[flat] += second_apart * second_apart * both;
      }
      const std::int64_t* values = incoming(flat, from);
      if (!values && table.width[c] == 0) continue;
      if (values) cls.varies |= std::uint64_t{1} << flat;
      float* scatter = apart != 0 ? scatter_of(part.scatter, c, part.count) : nullptr;
      float* second_scatter = second_apart != 0 ? scatter_of(part.second_scatter, c, part.count) : nullptr;
      const float* floats = values && (scatter || second_scatter) ? incoming_floats(part, values) : nullptr;
      const auto inverse_a = static_cast<float>(1 / na), inverse_b = static_cast<float>(1 / nb);
      const auto weight = static_cast<float>(apart * both), second_weight = static_cast<float>(second_apart * both);
      with_width(
          table.width[c], table.data + table.offset(c),
          [&](auto* v) {
            using Stored = std::remove_cv_t<std::remove_pointer_t<decltype(v)>>;
            auto* sum = const_cast<Stored*>(v);
            const auto add_products = [&](float* products, float factor) {
              if (!products) return;
              if (floats)
                for (std::uint32_t i = 0; i < part.count; ++i)
                  products[i] += factor * (floats[i] * inverse_b - static_cast<float>(sum[i]) * inverse_a);
              else
                for (std::uint32_t i = 0; i < part.count; ++i)
                  products[i] -= factor * (static_cast<float>(sum[i]) * inverse_a);
            };
            add_products(scatter, weight);
            add_products(second_scatter, second_weight);
            if (values)
              for (std::uint32_t i = 0; i < part.count; ++i)
                sum[i] =
                    static_cast<Stored>(static_cast<std::uint64_t>(sum[i]) + static_cast<std::uint64_t>(values[i]));
          },
          [&] {
            // Sums of no width stay zero: the sums to come have been given their width before.
            const auto add_products = [&](float* products, float factor) {
              if (products && floats)
                for (std::uint32_t i = 0; i < part.count; ++i) products[i] += factor * (floats[i] * inverse_b);
            };
            add_products(scatter, weight);
            add_products(second_scatter, second_weight);
          });
    }
  }
}

void Clusterer::commit_sparse(Cluster& into) {
  for (std::size_t s = 0; s < shapes_; ++s) {
    const std::uint32_t begin = sparse_begin_[s], end = sparse_begin_[s + 1];
    if (begin == end) continue;
    const bool moved = is_staged_[shapes_ + s];
    swap_in_staged(into, shapes_ + s);
    PackedTable& table = into.tables[shapes_ + s];
    if (moved) find_rows(table, s);
    for (unsigned c = 1; c < table.columns; ++c)
      with_width(
          table.width[c], table.data + table.offset(c),
          [&](auto* v) {
            using Stored = std::remove_cv_t<std::remove_pointer_t<decltype(v)>>;
            auto* out = const_cast<Stored*>(v);
            for (std::uint32_t e = begin; e < end; ++e) {
              Stored& sum = out[found_[e]];
              const std::int64_t value = sparse_[e].values[c - 1];
              sum = static_cast<Stored>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
            }
          },
          [] {});
  }
}

void Clusterer::members_changed(std::uint32_t slot) {
  const auto n = static_cast<float>(clusters_[slot].members);
  wards_[slot] = n / (n + 1);
  members_[slot] = n;
}

bool Clusterer::start_cluster(std::uint32_t cls, std::uint64_t iteration, const IterationProfile& profile) {
  Cluster& c = clusters_[newcomer_];
  c = Cluster{};
  c.cls = cls;
  c.nearest = none;
  PathClass& owner = classes_[cls];
  point_to_slot(newcomer_);
  for (std::size_t t = 0; t < 2 * shapes_; ++t) c.tables[t] = PackedTable{};
  bool enough = true;
  if (owner.settled) {
    enough = stage_settled(owner, nullptr) && allocate_settled(owner, c);
  } else {
    const Widths no_width = {};
    for (std::size_t s = 0; enough && s < shapes_; ++s) {
      enough = c.tables[s].allocate(heap_, columns_[s], owner.parts[s].count, no_width) &&
               c.tables[shapes_ + s].allocate(heap_, columns_[s] + 1U, 0, no_width);
      c.tables[s].rows = owner.parts[s].count;
    }
    enough = enough && stage_dense(owner, c, nullptr) && stage_sparse(c);
  }
  if (!enough) {
    drop_staged();
    c = Cluster{};
    return false;
  }
  if (owner.settled) {
    add_deltas(owner, c);
    commit_settled(c);
  } else {
    commit_dense(owner, c, nullptr);
    commit_sparse(c);
  }
  std::memset(c.statistics, 0, statistics_bytes());
  const auto* from = reinterpret_cast<const std::byte*>(profile.overall.data());
  for (std::int64_t* to : {sums(c), minima(c), maxima(c)}) std::memcpy(to, from, metrics_ * 8);
  std::memcpy(exact_means(c), newcomer_overall_, stride_ * 8);
  std::memcpy(exemplar_vector(c), mean_of(newcomer_), stride_ * sizeof(float));
  float* sketch = sketch_of(newcomer_);
  for (std::size_t d = 0; d < sketch_dims_; ++d) sketch[d * lanes] = 0;
  for (std::uint8_t o = 0; o < owner.order_count; ++o)
    for (std::size_t d = 0, at = std::size_t{owner.order[o]} * lanes; d < lanes; ++d, ++at)
      sketch[at * lanes] = newcomer_sketch_[at];
  slot_class_[newcomer_] = cls;
  closest_known_ = false;
  c.label = Label{next_label_++};
  c.members = 1;
  c.first = c.last = c.exemplar = iteration;
  c.check_at = 2;
  c.next = owner.head;
  owner.head = newcomer_;
  ++owner.clusters;
  ++owner.adds;
  ++cluster_count_;
  members_changed(newcomer_);
  newcomer_ = none;
  return true;
}

bool Clusterer::absorb(std::uint32_t slot, std::uint64_t iteration, const IterationProfile& profile) {
  Cluster& c = clusters_[slot];
  PathClass& cls = classes_[c.cls];
  if (cls.settled ? !stage_settled(cls, &c) : !stage_dense(cls, c, nullptr) || !stage_sparse(c)) {
    drop_staged();
    return false;
  }
  if (cls.settled) {
    if (learning_) commit_dense(cls, c, nullptr);
    else add_deltas(cls, c);
    commit_settled(c);
  } else {
    commit_dense(cls, c, nullptr);
    commit_sparse(c);
  }
  if (algorithm_ == Algorithm::ScorePShipped)
    for (std::size_t m = 0; m < metrics_; ++m) {
      std::uint64_t& mean = integer_means_[slot * metrics_ + m];
      mean = (mean * c.members + integer_means_[newcomer_ * metrics_ + m]) / (c.members + 1);
    }
  float* sketch = sketch_of(slot);
  const float share = 1.0F / static_cast<float>(c.members + 1);
  for (std::uint8_t o = 0; o < cls.order_count; ++o)
    for (std::size_t d = 0, at = std::size_t{cls.order[o]} * lanes; d < lanes; ++d, ++at)
      sketch[at * lanes] += (newcomer_sketch_[at] - sketch[at * lanes]) * share;
  if (slot == closest_.a || slot == closest_.b) closest_known_ = false;
  add_to_statistics(c, iteration, profile);
  members_changed(slot);
  ++cls.adds;
  if (algorithm_ == Algorithm::Refrain && c.members >= c.check_at && !cls.overflow) look_for_nearest(slot);
  return true;
}

/// `b` becomes part of `a`, or the other way round: the larger keeps its label.
bool Clusterer::merge(std::uint32_t a, std::uint32_t b) {
  if (clusters_[b].members > clusters_[a].members ||
      (clusters_[b].members == clusters_[a].members && clusters_[b].label < clusters_[a].label))
    std::swap(a, b);
  Cluster &to = clusters_[a], &from = clusters_[b];
  PathClass& cls = classes_[to.cls];
  if (!merges_.reserve(merges_.size() + 1)) return false;
  if (cls.settled ? !stage_settled(cls, to, from) : !stage_dense(cls, to, &from) || !stage_sparse(to, from)) {
    drop_staged();
    return false;
  }
  commit_dense(cls, to, &from);
  if (cls.settled) commit_settled(cls, to, from);
  for (std::size_t s = 0; s < shapes_; ++s) swap_in_staged(to, shapes_ + s);
  if (algorithm_ == Algorithm::ScorePShipped)
    for (std::size_t m = 0; m < metrics_; ++m) {
      std::uint64_t& mean = integer_means_[a * metrics_ + m];
      mean = (mean * to.members + integer_means_[b * metrics_ + m] * from.members) / (to.members + from.members);
    }
  float *sketch = sketch_of(a), *added = sketch_of(b);
  const float share =
      static_cast<float>(static_cast<double>(from.members) / static_cast<double>(to.members + from.members));
  for (std::size_t d = 0; d < sketch_dims_; ++d) sketch[d * lanes] += (added[d * lanes] - sketch[d * lanes]) * share;
  closest_known_ = false;
  add_to_statistics(to, from);
  members_changed(a);
  (void)merges_.push_back({from.label, to.label});
  free_cluster(b);
  if (algorithm_ == Algorithm::Refrain) {
    look_for_nearest(a);
    for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next)
      if (clusters_[i].nearest == b) look_for_nearest(i);
  }
  return true;
}

void Clusterer::free_cluster(std::uint32_t slot) {
  Cluster& c = clusters_[slot];
  PathClass& cls = classes_[c.cls];
  for (std::uint32_t* link = &cls.head; *link != none; link = &clusters_[*link].next)
    if (*link == slot) {
      *link = c.next;
      break;
    }
  --cls.clusters;
  --cluster_count_;
  for (std::size_t t = 0; t < 2 * shapes_; ++t) c.tables[t].free(heap_);
  c = Cluster{};
  nearest_costs_[slot] = huge_cost;
  slot_class_[slot] = none;
  (void)free_slots_.push_back(slot);
}

}  // namespace refrain::clustering::former
