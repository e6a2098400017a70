// Classes, and single iterations that are not reconstructed, from what clusters have.
#include <cmath>
#include <gtest/gtest.h>
#include <map>

#include "offline/explorer/cluster_mixture.hpp"

namespace refrain::explorer {
namespace {

using Part = ClusterMixture::Part;
constexpr std::uint32_t mpi_time = 0, user_time = 1, calls = 2;
constexpr Part part_of[] = {Part::Mpi, Part::User, Part::Other};
constexpr std::uint32_t barrier = 1, work = 2;
using ByPlace = std::map<std::tuple<std::size_t, std::uint32_t, std::uint32_t>, double>;  // unit, metric, node

ByPlace values_of(const ClusterMixture::Result& result) {
  ByPlace values;
  for (const auto& [unit, own] : result.values) values[{unit, own.metric, own.node}] += own.value;
  return values;
}

/// Sums of two clusters, of four and of two iterations.
std::vector<OwnValue> cluster(std::size_t number) {
  if (number == 0) return {{mpi_time, barrier, 8}, {calls, barrier, 40}, {user_time, work, 4}};
  return {{mpi_time, barrier, 2}, {calls, barrier, 20}};
}

TEST(Mixture, has_the_part_of_each_cluster_and_exact_times) {
  ClusterMixture mixture(2, 3);
  for (int i = 0; i < 4; ++i) mixture.add(0);
  for (int i = 0; i < 2; ++i) mixture.add(1);
  for (int i = 0; i < 3; ++i) mixture.put(0, 0, 2.5, 1);  // MPI took longer in these than the cluster's mean of 2
  mixture.put(0, 1, 1, 1);
  for (int i = 0; i < 2; ++i) mixture.put(1, 1, 1, 0);
  mixture.put(0, 2, 7, NAN);  // a single iteration whose time in user code is not known
  const ClusterMixture::Result result = mixture.values(cluster, part_of, 3);
  const ByPlace values = values_of(result);
  EXPECT_DOUBLE_EQ(7.5, values.at({0, mpi_time, barrier})) << "6, scaled to 3 x 2.5";
  EXPECT_DOUBLE_EQ(30, values.at({0, calls, barrier})) << "not scaled";
  EXPECT_DOUBLE_EQ(3, values.at({0, user_time, work}));
  EXPECT_DOUBLE_EQ(3, values.at({1, mpi_time, barrier})) << "2 + 2, scaled to 1 + 2";
  EXPECT_DOUBLE_EQ(30, values.at({1, calls, barrier}));
  EXPECT_DOUBLE_EQ(7, values.at({2, mpi_time, barrier}));
  EXPECT_DOUBLE_EQ(1, values.at({2, user_time, work})) << "the mean of its cluster";
  EXPECT_EQ((std::vector<bool>{true, true, true}), result.is_estimated);
}

TEST(Mixture, whole_clusters_are_exact) {
  ClusterMixture mixture(2, 2);
  for (int i = 0; i < 4; ++i) mixture.add(0), mixture.put(0, 0, 2, 1);
  for (int i = 0; i < 2; ++i) mixture.add(1), mixture.put(1, 1, 1, 0);
  const ClusterMixture::Result result = mixture.values(cluster, part_of, 3);
  EXPECT_EQ((std::vector<bool>{false, false}), result.is_estimated);
  EXPECT_DOUBLE_EQ(8, values_of(result).at({0, mpi_time, barrier}));
  EXPECT_EQ(5U, result.values.size());
}

TEST(Mixture, a_cluster_that_no_unit_has_is_not_read) {
  ClusterMixture mixture(2, 1);
  for (int i = 0; i < 4; ++i) mixture.add(0);
  mixture.add(1), mixture.put(1, 0, 1, 0);
  mixture.values(
      [](std::size_t number) {
        EXPECT_EQ(1U, number);
        return cluster(number);
      },
      part_of, 3);
}

TEST(Mixture, a_cluster_that_cannot_be_read_gives_nothing) {
  ClusterMixture mixture(1, 1);
  mixture.add(0), mixture.put(0, 0, 1, 1);
  EXPECT_TRUE(mixture.values([](std::size_t) { return std::vector<OwnValue>(); }, part_of, 3).values.empty());
}

}  // namespace
}  // namespace refrain::explorer
