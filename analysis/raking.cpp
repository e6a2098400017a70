#include "analysis/raking.hpp"

#include <algorithm>
#include <cmath>

namespace refrain::analysis {
namespace {

constexpr int most_rounds = 1000;
constexpr double close_enough = 1e-12;

void normalise(RakedRow& row) {
  double sum = 0;
  for (const auto& cell : row.shares) sum += cell.share;
  if (sum > 0)
    for (auto& cell : row.shares) cell.share /= sum;
}

/// Adds one sample to the row's, divided as the targets; `wanted` is their sum.
void add_sample(RakedRow& row, std::span<const double> targets, double wanted) {
  normalise(row);
  std::vector<double> shares(targets.size(), 0);
  for (const auto& cell : row.shares) shares[cell.path] = row.samples * cell.share;
  row.samples += 1;
  row.shares.clear();
  for (std::uint32_t p = 0; p < targets.size(); ++p) {
    const double share = (shares[p] + std::max(targets[p], 0.0) / wanted) / row.samples;
    if (share > 0) row.shares.push_back({p, share});
  }
}

/// Whether the rows' sums differ from the targets by more than chance, on any column.
bool contradict(std::span<const RakedRow> rows, std::span<const double> targets, double samples) {
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
  const double least = least_gain_of_one(static_cast<std::int64_t>(samples), columns);
  const auto part = [](double p, double q) { return p > 0 ? p * std::log(p / q) : 0; };
  for (std::size_t column = 0; column < targets.size(); ++column) {
    const double p = std::max(targets[column], 0.0) / wanted, q = sums[column] / mass;
    if (2 * samples * (part(p, q) + part(1 - p, 1 - q)) > least) return true;
  }
  return false;
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
    // Impossible targets are approached for ever.
    if (apart < close_enough || round == most_rounds || (round > 50 && apart > 0.9999 * before)) return apart;
    for (RakedRow& row : rows) {
      if (row.mass <= 0) continue;
      double sum = 0;
      for (const auto& cell : row.shares) sum += cell.share * factors[cell.path];
      if (sum <= 0) continue;  // nothing of what it has is wanted
      for (auto& cell : row.shares) cell.share *= factors[cell.path] / sum;
    }
  }
}

double rake_beyond_zeros(std::span<RakedRow> rows, std::span<const double> targets, double samples) {
  constexpr double possible = 1e-6;
  std::vector<RakedRow> raked(rows.begin(), rows.end());
  const double apart = rake(raked, targets);
  double wanted = 0;
  for (const double target : targets) wanted += std::max(target, 0.0);
  if (apart < possible || wanted <= 0 || !contradict(raked, targets, samples)) {
    std::ranges::move(raked, rows.begin());
    return apart;
  }
  for (RakedRow& row : rows)
    if (row.mass > 0) add_sample(row, targets, wanted);
  return rake(rows, targets);
}

}  // namespace refrain::analysis
