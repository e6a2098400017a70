#include "offline/database/timing_types.hpp"

#include <algorithm>
#include <map>

#include "format/mpi_coverage.hpp"

namespace refrain::database {
namespace {

/// By the operations of adapters/mpi/calls/functions.table.
struct TypeOfOperation {
  std::string_view operation;
  const char* type;
};
constexpr TypeOfOperation types[] = {{"send", "Send"},
                                     {"receive", "Receive"},
                                     {"sendrecv", "SendReceive"},
                                     {"probe", "Probe"},
                                     {"request", "Request"},
                                     {"request_start", "RequestStart"},
                                     {"wait", "Wait"},
                                     {"test", "Test"},
                                     {"barrier", "Barrier"},
                                     {"collective_nxn", "AllToAll"},
                                     {"collective_1xn", "OneToAll"},
                                     {"collective_nx1", "AllToOne"},
                                     {"collective_scan", "Scan"},
                                     {"collective_neighbor", "Neighbor"},
                                     {"rma", "OneSided"},
                                     {"rma_sync", "OneSidedSync"},
                                     {"window", "Window"},
                                     {"file", "FileOpen"},
                                     {"file_io", "FileIO"}};

constexpr std::string_view begins_and_ends[] = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Session_init",
                                                "MPI_Session_finalize"};

}  // namespace

const char* timing_type_of(std::string_view function) {
  if (!function.starts_with("MPI_") && !function.starts_with("mpi_")) return nullptr;
  if (std::ranges::find(begins_and_ends, function) != std::end(begins_and_ends)) return "InitFinalize";
  static const auto operations = [] {
    std::map<std::string_view, std::string_view> of;
    for (const auto& known : format::known_functions()) of[known.function] = known.operation;
    return of;
  }();
  const auto at = operations.find(function);
  const auto* row =
      at == operations.end() ? std::end(types) : std::ranges::find(types, at->second, &TypeOfOperation::operation);
  return row == std::end(types) ? "OtherMpi" : row->type;
}

}  // namespace refrain::database
