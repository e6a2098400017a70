#include "offline/analysis/iteration_totals.hpp"

#include "offline/analysis/iterations.hpp"

namespace refrain::analysis {
namespace {

constexpr const char* names[] = {"mpi_calls",
                                 "mpi",
                                 "messages_sent",
                                 "bytes_sent",
                                 "messages_received",
                                 "bytes_received",
                                 "messages_completed",
                                 "bytes_completed",
                                 "bytes_read",
                                 "bytes_written",
                                 "wall",
                                 "own",
                                 "cpu",
                                 "samples",
                                 "samples_mpi",
                                 "ticks_lost"};
static_assert(std::size(names) == total_count);

}  // namespace

TotalColumns::TotalColumns(const experiment::Loop& loop) {
  for (std::size_t i = 0; i < total_count; ++i) columns_[i] = overall_index(loop, names[i]);
}

}  // namespace refrain::analysis
