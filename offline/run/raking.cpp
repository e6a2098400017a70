#include "offline/run/raking.hpp"

#include <algorithm>
#include <cmath>

namespace refrain::run {
namespace {

constexpr int most_rounds = 1000;
constexpr double close_enough = 1e-12;

void normalise(RakedRow& row) {
  double sum = 0;
  for (const auto& cell : row.shares) sum += cell.share;
  if (sum > 0)
    for (auto& cell : row.shares) cell.share /= sum;
}

/// The columns in which the rows fall short of the targets, as parts of the whole shortfall. Empty: all differences are
/// within chance, which for one of m columns is 3 standard deviations, plus 2 ln m in twice the log-likelihood.
std::vector<ShareTree::Share> missed_columns(std::span<const RakedRow> rows, std::span<const double> targets,
                                             double samples) {
  std::vector<double> sums(targets.size(), 0);
  double mass = 0, wanted = 0;
  for (const RakedRow& row : rows)
    if (row.mass > 0)
      for (const auto& cell : row.shares) {
        sums[cell.path] += row.mass * cell.share;
        mass += row.mass * cell.share;
      }
  std::size_t columns = 0;
  for (const double target : targets) {
    wanted += std::max(target, 0.0);
    columns += target > 0;
  }
  const double least = 9 + 2 * std::log(static_cast<double>(std::max<std::size_t>(columns, 1)));
  const auto n_log_ratio = [](double p, double q) { return p > 0 ? p * std::log(p / q) : 0; };
  std::vector<ShareTree::Share> missed;
  bool by_chance = true;
  double all = 0;
  for (std::uint32_t column = 0; column < targets.size(); ++column) {
    const double p = std::max(targets[column], 0.0) / wanted, q = std::clamp(sums[column] / mass, 0.0, 1.0);
    if (2 * samples * (n_log_ratio(p, q) + n_log_ratio(1 - p, 1 - q)) > least) by_chance = false;
    if (p > q + 1e-9) {
      missed.push_back({column, p - q});
      all += p - q;
    }
  }
  if (by_chance) missed.clear();
  for (auto& of : missed) of.share /= all;
  return missed;
}

/// Adds one sample to the row, divided like the columns of `missed` that the row may have.
void add_sample(RakedRow& row, std::span<const ShareTree::Share> missed) {
  std::vector<ShareTree::Share> of;
  double all = 0;
  for (const auto& cell : missed)
    if (row.may_have(cell.path)) {
      of.push_back(cell);
      all += cell.share;
    }
  if (all <= 0) return;
  for (auto& cell : of) cell.share /= all;
  normalise(row);
  std::ranges::sort(row.shares, {}, &ShareTree::Share::path);
  for (auto& cell : row.shares) cell.share *= row.samples / (row.samples + 1);
  const auto own = static_cast<std::ptrdiff_t>(row.shares.size());
  for (const auto& added : of) {
    const auto end = row.shares.begin() + own;
    const auto at = std::lower_bound(row.shares.begin(), end, added.path,
                                     [](const auto& cell, std::uint32_t path) { return cell.path < path; });
    const double share = added.share / (row.samples + 1);
    if (at != end && at->path == added.path) at->share += share;
    else row.shares.push_back({added.path, share});
  }
  std::ranges::sort(row.shares, {}, &ShareTree::Share::path);
  row.samples += 1;
}

}  // namespace

double rake(std::span<RakedRow> rows, std::span<const double> targets) {
  std::vector<double> sums(targets.size(), 0), factors(targets.size(), 0);
  double mass = 0, wanted = 0;
  for (RakedRow& row : rows) {
    normalise(row);
    if (row.mass <= 0 || row.shares.empty()) continue;
    mass += row.mass;
    for (const auto& cell : row.shares) factors[cell.path] = 1;
  }
  for (std::size_t p = 0; p < targets.size(); ++p) wanted += factors[p] * std::max(targets[p], 0.0);
  if (mass <= 0 || wanted <= 0) return 0;
  double apart = 1, before = 2;
  for (int round = 0;; ++round) {
    std::ranges::fill(sums, 0);
    for (const RakedRow& row : rows)
      if (row.mass > 0)
        for (const auto& cell : row.shares) sums[cell.path] += row.mass * cell.share;
    before = apart;
    apart = 0;
    for (std::size_t p = 0; p < targets.size(); ++p) {
      if (sums[p] <= 0) continue;
      const double target = std::max(targets[p], 0.0) / wanted * mass;
      apart = std::max(apart, std::fabs(target - sums[p]) / mass);
      factors[p] = target / sums[p];
    }
    // Impossible targets are approached, but never reached.
    if (apart < close_enough || round == most_rounds || (round > 50 && apart > 0.9999 * before)) return apart;
    for (RakedRow& row : rows) {
      if (row.mass <= 0) continue;
      double sum = 0;
      for (const auto& cell : row.shares) sum += cell.share * factors[cell.path];
      if (sum <= 0) continue;  // none of its columns is wanted
      for (auto& cell : row.shares) cell.share *= factors[cell.path] / sum;
    }
  }
}

double rake_beyond_zeros(std::span<RakedRow> rows, std::span<const double> targets, double samples) {
  constexpr double possible = 1e-6;
  std::vector<RakedRow> raked(rows.begin(), rows.end());
  const double apart = rake(raked, targets);
  const auto missed = apart < possible ? std::vector<ShareTree::Share>{} : missed_columns(raked, targets, samples);
  if (missed.empty()) {
    std::ranges::move(raked, rows.begin());
    return apart;
  }
  for (RakedRow& row : rows)
    if (row.mass > 0) add_sample(row, missed);
  return rake(rows, targets);
}

}  // namespace refrain::run
