#include "offline/trace/functions.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace refrain::trace {
namespace {

struct Row {
  std::string_view name;  ///< in lower case, without prefix
  FunctionOfMpi is;
};

constexpr FunctionOfMpi collective(Exchange exchange) { return {CallClass::Collective, exchange}; }
constexpr FunctionOfMpi p2p{CallClass::PointToPoint}, one_sided{CallClass::OneSided},
    window_sync{CallClass::OneSidedSync}, init_finalize{CallClass::InitFinalize};
constexpr FunctionOfMpi of_window(WindowStep step) {
  return {CallClass::OneSidedSync, Exchange::None, JobCall::None, step};
}
constexpr FunctionOfMpi of_job(JobCall call) { return {CallClass::InitFinalize, Exchange::None, call}; }

constexpr FunctionOfMpi p2p_untold{.call_class = CallClass::PointToPoint, .waits_untold = true};

/// Ascending. What is not here is found by its begin, or is OtherMpi.
constexpr Row functions[] = {
    {"accumulate", one_sided},
    {"allgather", collective(Exchange::AllToAll)},
    {"allgatherv", collective(Exchange::AllToAll)},
    {"allreduce", collective(Exchange::AllToAll)},
    {"alltoall", collective(Exchange::AllToAll)},
    {"alltoallv", collective(Exchange::AllToAll)},
    {"alltoallw", collective(Exchange::AllToAll)},
    {"barrier", {CallClass::Barrier, Exchange::Barrier}},
    {"bcast", collective(Exchange::OneToAll)},
    {"bsend", p2p},
    {"compare_and_swap", one_sided},
    {"exscan", collective(Exchange::Prefix)},
    {"fetch_and_op", one_sided},
    {"finalize", of_job(JobCall::Finalize)},
    {"gather", collective(Exchange::AllToOne)},
    {"gatherv", collective(Exchange::AllToOne)},
    {"get", one_sided},
    {"get_accumulate", one_sided},
    {"init", of_job(JobCall::Init)},
    {"init_thread", of_job(JobCall::Init)},
    {"mprobe", p2p_untold},
    {"mrecv", p2p},
    {"neighbor_allgather", collective(Exchange::None)},
    {"neighbor_allgatherv", collective(Exchange::None)},
    {"neighbor_alltoall", collective(Exchange::None)},
    {"neighbor_alltoallv", collective(Exchange::None)},
    {"neighbor_alltoallw", collective(Exchange::None)},
    {"parrived", p2p_untold},
    {"pready", p2p},
    {"pready_list", p2p},
    {"pready_range", p2p},
    {"precv", p2p},
    {"probe", p2p_untold},
    {"psend", p2p},
    {"put", one_sided},
    {"recv", p2p},
    {"reduce", collective(Exchange::AllToOne)},
    {"reduce_scatter", collective(Exchange::AllToAll)},
    {"reduce_scatter_block", collective(Exchange::AllToAll)},
    {"request_get_status", p2p_untold},
    {"rsend", p2p},
    {"scan", collective(Exchange::Prefix)},
    {"scatter", collective(Exchange::OneToAll)},
    {"scatterv", collective(Exchange::OneToAll)},
    {"send", p2p},
    {"sendrecv", p2p},
    {"sendrecv_replace", p2p},
    {"session_finalize", init_finalize},
    {"session_init", init_finalize},
    {"ssend", p2p},
    {"start", p2p},
    {"startall", p2p},
    {"test", p2p_untold},
    {"testall", p2p_untold},
    {"testany", p2p_untold},
    {"testsome", p2p_untold},
    {"wait", p2p},
    {"waitall", p2p},
    {"waitany", p2p},
    {"waitsome", p2p},
    {"win_complete", of_window(WindowStep::Complete)},
    {"win_fence", of_window(WindowStep::Fence)},
    {"win_flush", window_sync},
    {"win_flush_all", window_sync},
    {"win_flush_local", window_sync},
    {"win_flush_local_all", window_sync},
    {"win_lock", of_window(WindowStep::Lock)},
    {"win_lock_all", window_sync},
    {"win_post", of_window(WindowStep::Post)},
    {"win_start", of_window(WindowStep::Start)},
    {"win_sync", window_sync},
    {"win_test", of_window(WindowStep::Wait)},
    {"win_unlock", of_window(WindowStep::Unlock)},
    {"win_unlock_all", window_sync},
    {"win_wait", of_window(WindowStep::Wait)},
};
static_assert(std::ranges::is_sorted(functions, {}, &Row::name));

const FunctionOfMpi* find(std::string_view name) {
  const auto* at = std::ranges::lower_bound(functions, name, {}, &Row::name);
  return at != std::end(functions) && at->name == name ? &at->is : nullptr;
}

/// Functions that all processes of a communicator, a window or a file call together, beside those above. By their
/// begins.
bool is_called_together(std::string_view base) {
  constexpr std::string_view begins[] = {
      "cart_create",  "cart_sub",   "comm_accept", "comm_connect", "comm_create",      "comm_disconnect",
      "comm_dup",     "comm_idup",  "comm_join",   "comm_spawn",   "comm_split",       "dist_graph_create",
      "file_close",   "file_open",  "file_sync",   "graph_create", "intercomm_create", "intercomm_merge",
      "win_allocate", "win_create", "win_free"};
  constexpr std::string_view not_these[] = {"comm_create_errhandler", "comm_create_keyval", "win_create_errhandler",
                                            "win_create_keyval"};
  const auto begins_with = [base](std::string_view begin) { return base.starts_with(begin); };
  return std::ranges::any_of(begins, begins_with) && std::ranges::none_of(not_these, begins_with);
}

bool drop_begin(std::string_view& name, std::string_view begin) {
  if (!name.starts_with(begin)) return false;
  name.remove_prefix(begin.size());
  return true;
}

bool drop_end(std::string_view& name, std::string_view end) {
  if (!name.ends_with(end)) return false;
  name.remove_suffix(end.size());
  return true;
}

}  // namespace

FunctionOfMpi function_of_mpi(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string_view base = lower;
  if (base.starts_with("pmpi_")) base.remove_prefix(1);
  if (!drop_begin(base, "mpi_")) return {CallClass::NotMpi};
  drop_end(base, "_c");  // large counts
  if (const auto* known = find(base)) return *known;
  if (is_called_together(base))
    return {.call_class = base.starts_with("file_") ? CallClass::Io : CallClass::OtherMpi, .waits_untold = true};
  if (base.starts_with("file_"))
    return {.call_class = CallClass::Io, .waits_untold = base.ends_with("_all") || base.ends_with("_ordered")};
  // MPI_Send_init, MPI_Iallreduce, MPI_Rput.
  if (std::string_view persistent = base; drop_end(persistent, "_init"))
    if (const auto* known = find(persistent)) return *known;
  if (base.starts_with("i") || base.starts_with("r"))
    if (const auto* known = find(base.substr(1));
        known && (base.front() == 'i' || known->call_class == CallClass::OneSided))
      return *known;
  return {};
}

}  // namespace refrain::trace
