#include "offline/export/scalasca_names.hpp"

#include <algorithm>

#include "offline/trace/functions.hpp"

namespace refrain::exports {
namespace {

const ScalascaMetric metric_names[] = {
    {"wall", "time", "Time"},
    {"mpi", "mpi", "MPI"},
    {"mpi_point_to_point", "mpi_point2point", "Point-to-point"},
    {"mpi_collective", "mpi_collective", "Collective"},
    {"mpi_io", "mpi_io", "File I/O"},
    {"visits", "visits", "Visits"},
    {"bytes_sent", "bytes_sent", "Bytes sent"},
    {"bytes_received", "bytes_received", "Bytes received"},
    {"late_sender", "mpi_latesender", "Late Sender"},
    {"late_sender_wrong_order", "mpi_latesender_wo", "Messages in Wrong Order"},
    {"wrong_order_different_sources", "mpi_lswo_different", "From different sources"},
    {"wrong_order_same_source", "mpi_lswo_same", "From same source"},
    {"late_receiver", "mpi_latereceiver", "Late Receiver"},
    {"early_reduce", "mpi_earlyreduce", "Early Reduce"},
    {"early_scan", "mpi_earlyscan", "Early Scan"},
    {"late_broadcast", "mpi_latebroadcast", "Late Broadcast"},
    {"wait_at_nxn", "mpi_wait_nxn", "Wait at N x N"},
    {"nxn_completion", "mpi_nxn_completion", "N x N Completion"},
    {"wait_at_barrier", "mpi_barrier_wait", "Wait at MPI Barrier"},
    {"barrier_completion", "mpi_barrier_completion", "MPI Barrier Completion"},
    {"wait_at_finalize", "mpi_finalize_wait", "Wait at MPI Finalize"},
    {"wait_at_fence", "mpi_rma_wait_at_fence", "Wait at Fence"},
    {"late_post", "mpi_rma_late_post", "Late Post"},
    {"early_wait", "mpi_rma_early_wait", "Early Wait"},
    {"late_complete", "mpi_rma_late_complete", "Late Complete"}};

}  // namespace

const ScalascaMetric* scalasca_metric(std::string_view ours) {
  const auto at =
      std::ranges::find(metric_names, ours, [](const ScalascaMetric& row) { return std::string_view(row.ours); });
  return at == std::end(metric_names) ? nullptr : at;
}

const char* scalasca_paradigm(RunNode::Kind kind) {
  switch (kind) {
    case RunNode::Function: return "compiler";
    case RunNode::Mpi: return "mpi";
    case RunNode::Mark: return "user";
    case RunNode::Other: break;
  }
  return "unknown";
}

const char* scalasca_role(const RunNode& node) {
  if (node.kind == RunNode::Other) return "artificial";
  if (node.kind == RunNode::Mark) return "loop";
  if (node.kind != RunNode::Mpi) return "function";
  switch (trace::function_of_mpi(node.name).role) {
    case trace::Role::Barrier: return "barrier";
    case trace::Role::OneToAll: return "one2all";
    case trace::Role::AllToOne: return "all2one";
    case trace::Role::AllToAll: return "all2all";
    case trace::Role::CollectiveOther: return "other collective";
    case trace::Role::FileIo: return "file_io";
    case trace::Role::PointToPoint: return "point2point";
    case trace::Role::OneSided: return "rma";
    default: return "function";
  }
}

}  // namespace refrain::exports
