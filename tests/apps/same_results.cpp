// Results to the last bit, in C++: exceptions, streams, threads, sorting. Ends with the status that it is given.
//
//     same_results STATUS STEPS
#include "same_results.h"

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <mpi.h>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

double or_throw(double x, long steps) {
  const double result = chaos(x, steps);
  if (std::fmod(result, 2) < 1) throw std::runtime_error(std::to_string(result));
  return result;
}

struct AtExit {
  ~AtExit() { std::cout << "destroyed\n"; }
} const at_exit;

}  // namespace

int main(int argc, char** argv) {
  const long steps = argc > 2 ? std::atol(argv[2]) : 1000;
  int rank = 0, caught = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<double> values(40);
  for (std::size_t i = 0; i < values.size(); ++i) {
    try {
      values[i] = or_throw(0.01 + 0.02 * static_cast<double>(i) + 0.001 * rank, steps / 10);
    } catch (const std::exception& error) {
      ++caught;
      values[i] = std::stod(error.what());
    }
  }
  std::sort(values.begin(), values.end());
  double other = 0;
  std::thread([&] { other = chaos(0.77, steps); }).join();
  double sum = std::accumulate(values.begin(), values.end(), other), all = 0;
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::cout << std::hexfloat << sum << ' ' << all << ' ' << std::dec << caught << '\n';
  MPI_Finalize();
  return std::atoi(argv[1]);
}
