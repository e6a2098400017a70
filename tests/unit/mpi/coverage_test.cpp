#include <gtest/gtest.h>
#include <map>
#include <string>

#include "format/mpi_coverage.hpp"

namespace refrain::format {
namespace {

// The tools interface and the conversion of handles are not operations of MPI.
bool counts(const FunctionCoverage& row) {
  const std::string name = row.function;
  return !name.starts_with("MPI_T_") && !name.ends_with("2f") && !name.ends_with("2c") && !name.ends_with("2f08");
}

TEST(Coverage, at_least_98_percent_of_each_mpi_is_wrapped) {
  std::map<std::string, std::pair<int, int>> wrapped_and_all;
  for (const auto& row : function_coverage()) {
    if (!counts(row)) continue;
    auto& [wrapped, all] = wrapped_and_all[row.mpi];
    wrapped += std::string(row.operation) != "unwrapped";
    ++all;
  }
  ASSERT_FALSE(wrapped_and_all.empty());
  for (const auto& [mpi, n] : wrapped_and_all) {
    EXPECT_GT(n.second, 300) << mpi;
    EXPECT_GE(n.first, 0.98 * n.second) << mpi;
  }
}

TEST(Coverage, what_is_not_wrapped_has_a_reason_and_the_rest_has_none) {
  for (const auto& row : function_coverage())
    EXPECT_EQ(std::string(row.operation) == "unwrapped", *row.reason != '\0') << row.function;
}

TEST(Coverage, functions_have_their_class) {
  std::map<std::string, std::string> operations;
  for (const auto& row : function_coverage()) operations[row.function] = row.operation;
  EXPECT_EQ(operations["MPI_Send"], "send");
  EXPECT_EQ(operations["MPI_Isend"], "send");
  EXPECT_EQ(operations["MPI_Allreduce"], "collective_nxn");
  EXPECT_EQ(operations["MPI_Bcast"], "collective_1xn");
  EXPECT_EQ(operations["MPI_Ireduce"], "collective_nx1");
  EXPECT_EQ(operations["MPI_Wtime"], "unwrapped");
}

}  // namespace
}  // namespace refrain::format
