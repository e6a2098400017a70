#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <utility>
#include <vector>

#include "format/hashing.hpp"
#include "format/mpi_functions.hpp"
#include "offline/experiment/rank_pass.hpp"
#include "offline/export/lost_partners.hpp"
#include "offline/export/otf2_archive.hpp"
#include "offline/export/otf2_definitions.hpp"
#include "offline/export/process_group.hpp"
#include "offline/trace/open_requests.hpp"

namespace refrain::exports {
namespace {

using events::Kind;
using events::Phase;
using trace::Event;
using trace::Type;

/// nullopt when OTF2 has no such operation.
std::optional<OTF2_CollectiveOp> operation_of(std::string_view function) {
  constexpr std::pair<std::string_view, OTF2_CollectiveOp> operations[] = {
      {"Barrier", OTF2_COLLECTIVE_OP_BARRIER},
      {"Bcast", OTF2_COLLECTIVE_OP_BCAST},
      {"Gather", OTF2_COLLECTIVE_OP_GATHER},
      {"Gatherv", OTF2_COLLECTIVE_OP_GATHERV},
      {"Scatter", OTF2_COLLECTIVE_OP_SCATTER},
      {"Scatterv", OTF2_COLLECTIVE_OP_SCATTERV},
      {"Allgather", OTF2_COLLECTIVE_OP_ALLGATHER},
      {"Allgatherv", OTF2_COLLECTIVE_OP_ALLGATHERV},
      {"Alltoall", OTF2_COLLECTIVE_OP_ALLTOALL},
      {"Alltoallv", OTF2_COLLECTIVE_OP_ALLTOALLV},
      {"Alltoallw", OTF2_COLLECTIVE_OP_ALLTOALLW},
      {"Allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE},
      {"Reduce", OTF2_COLLECTIVE_OP_REDUCE},
      {"ReduceScatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER},
      {"ReduceScatterBlock", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK},
      {"Scan", OTF2_COLLECTIVE_OP_SCAN},
      {"Exscan", OTF2_COLLECTIVE_OP_EXSCAN},
      {"CommunicatorPosted", OTF2_COLLECTIVE_OP_CREATE_HANDLE}};
  const format::MpiFunction* known = format::find_mpi_function(function);
  if (!known) return std::nullopt;
  const auto* at = std::ranges::find(operations, known->effect, [](const auto& of) { return of.first; });
  return at == std::end(operations) ? std::nullopt : std::optional(at->second);
}

bool is_collective_access(std::string_view function) {
  const format::MpiFunction* known = format::find_mpi_function(function);
  return known && known->of == format::MpiClass::file_io_all;
}

/// What the writers of all locations share.
struct Contents {
  Contents(const trace::Trace& of_trace, const analysis::CallTree& of_tree, const Otf2Options& chosen)
      : trace(of_trace),
        tree(of_tree),
        options(chosen),
        definitions(of_trace, of_tree),
        lost_partners(lost_partners_of(of_trace, chosen.processes)) {
    for (const analysis::TreeNode& node : tree.nodes)
      operations.push_back(node.kind == run::PathKind::Mpi ? operation_of(node.name) : std::nullopt);
  }
  const trace::Trace& trace;
  const analysis::CallTree& tree;
  const Otf2Options& options;
  const Otf2Definitions definitions;
  const LostPartners lost_partners;
  std::vector<std::optional<OTF2_CollectiveOp>> operations;  ///< by node

 private:
  /// The first process finds them and broadcasts the result.
  static LostPartners lost_partners_of(const trace::Trace& trace, ProcessGroup* processes) {
    if (!processes) return LostPartners(trace);
    return LostPartners::from(processes->broadcast(processes->is_first() ? LostPartners(trace).text() : ""));
  }
};

/// Writes the events of one location.
class Writer {
 public:
  Writer(const Contents& contents, std::uint32_t location, OTF2_EvtWriter* out)
      : trace_(contents.trace),
        tree_(contents.tree),
        definitions_(contents.definitions),
        lost_partners_(contents.lost_partners),
        operations_(contents.operations),
        functions_(contents.options.functions),
        location_(location),
        rank_(contents.trace.locations()[location].rank),
        thread_(contents.trace.locations()[location].thread),
        out_(out) {}

  void write(const Event& event) {
    const std::uint32_t node = node_of(event.path);
    const OTF2_RegionRef region = definitions_.region_of(node);
    if (metrics_at_end_.empty()) time_before_ = time_;
    // Readers reject an event that is earlier than the one before.
    time_ = std::max<std::uint64_t>(time_, event.time_ns > 0 ? static_cast<std::uint64_t>(event.time_ns) : 0);
    if (event.type != Type::Metric && event.type != Type::Communication && event.type != Type::Leave) end_metrics();
    if (is_off_ && event.type != Type::Gap) turn(OTF2_MEASUREMENT_ON);
    switch (event.type) {
      case Type::Enter: begin_functions(node); return enter(region);
      case Type::Leave:
        end_collectives();
        end_accesses();
        end_metrics();
        return event.record.value > 0 ? leave_off_cpu(region, event.record.value) : leave(region);
      case Type::Communication: return communicate(event, node);
      case Type::Sample:
        begin_functions(node);
        if (node > 0)
          done(OTF2_EvtWriter_CallingContextSample(out_, nullptr, time_, Otf2Definitions::context_of(node),
                                                   OTF2_UNDEFINED_UINT32, Otf2Definitions::sampling));
        return;
      case Type::MarkBegin:
        if (functions_) return begin_functions(node);
        open_.push_back(region);
        return enter(region);
      case Type::MarkEnd: return functions_ ? begin_functions(above(node)) : end_mark(region);
      case Type::SpanEnd:
        if (event.record.region != 0)
          done(OTF2_EvtWriter_ParameterInt(out_, nullptr, time_, definitions_.parameter_of(trace_.loop_of(event)),
                                           event.record.value));
        return;
      case Type::Metric:
        if (!event.record.is_within) return metric(event.record, time_);
        metrics_at_end_.emplace_back(event.record, time_);
        return;
      case Type::FlushBegin: flush_begin_ = time_; return;
      case Type::FlushEnd: return done(OTF2_EvtWriter_BufferFlush(out_, nullptr, flush_begin_, time_));
      case Type::Gap:
        if (!is_off_) turn(OTF2_MEASUREMENT_OFF);
        return;
      default: return;  // ends of threads; experiments have no events of other types
    }
  }

  void finish() {
    end_metrics();
    begin_functions(0);
    for (; !open_.empty(); open_.pop_back()) leave(open_.back());
  }

  std::uint64_t left_out() const { return left_out_; }

 private:
  /// The parent of a node; of the root, 0, the root itself.
  std::uint32_t above(std::uint32_t node) const {
    return node == 0 ? 0 : static_cast<std::uint32_t>(tree_.nodes[node].parent);
  }
  std::uint32_t node_of(std::uint32_t path) const { return path < tree_.node_of.size() ? tree_.node_of[path] : 0; }
  void leave_out() { ++left_out_; }
  void done(OTF2_ErrorCode code) { check(code, "an event"); }
  void enter(OTF2_RegionRef region) { done(OTF2_EvtWriter_Enter(out_, nullptr, time_, region)); }
  void leave(OTF2_RegionRef region) { done(OTF2_EvtWriter_Leave(out_, nullptr, time_, region)); }
  /// Writing an event empties the list of its attributes.
  void leave_off_cpu(OTF2_RegionRef region, std::int64_t off_cpu_ns) {
    if (!attributes_) attributes_.reset(OTF2_AttributeList_New());
    done(OTF2_AttributeList_AddUint64(attributes_.get(), Otf2Definitions::off_cpu,
                                      static_cast<std::uint64_t>(off_cpu_ns)));
    done(OTF2_EvtWriter_Leave(out_, attributes_.get(), time_, region));
  }
  /// Turns measurement off and on around missing events.
  void turn(OTF2_MeasurementMode mode) {
    is_off_ = mode == OTF2_MEASUREMENT_OFF;
    done(OTF2_EvtWriter_MeasurementOnOff(out_, nullptr, time_, mode));
  }

  /// The begin of a mark may be missing, and inner marks may not have ended.
  void end_mark(OTF2_RegionRef region) {
    if (std::ranges::find(open_, region) == open_.end()) return;
    for (bool found = false; !found; open_.pop_back()) {
      found = open_.back() == region;
      leave(open_.back());
    }
  }

  /// Leaves the functions that are no longer active when the code of `node` runs, and enters the new ones; an MPI
  /// function itself is left out. A function that stays active goes on, from whichever line it calls.
  void begin_functions(std::uint32_t node) {
    if (!functions_) return;
    if (node > 0 && tree_.nodes[node].kind == run::PathKind::Mpi) node = above(node);
    path_.clear();
    for (std::uint32_t at = node; at > 0; at = above(at)) path_.push_back(definitions_.region_of(at));
    std::ranges::reverse(path_);
    const auto same = static_cast<std::size_t>(std::ranges::mismatch(active_, path_).in1 - active_.begin());
    for (; active_.size() > same; active_.pop_back()) leave(active_.back());
    for (std::size_t i = same; i < path_.size(); ++i) enter(path_[i]);
    active_ = path_;
  }

  /// Writes the metrics read at the end of a call. They come after the call's accesses to files, which begin earlier.
  void end_metrics() {
    for (const auto& [record, time] : metrics_at_end_) metric(record, time);
    metrics_at_end_.clear();
  }

  void metric(const events::Record& r, std::uint64_t time) {
    if (r.node >= trace_.metrics().size()) return leave_out();
    const OTF2_Type type = OTF2_TYPE_INT64;
    OTF2_MetricValue value;
    value.signed_int = r.value;
    done(OTF2_EvtWriter_Metric(out_, nullptr, time, Otf2Definitions::class_of(r.node), 1, &type, &value));
  }

  void communicate(const Event& event, std::uint32_t node) {
    const events::Record& r = event.record;
    const bool is_paired = !lost_partners_.has(location_, communications_++);
    switch (r.kind) {
      case Kind::Send: return send(r, is_paired);
      case Kind::Receive: return receive(r, is_paired);
      case Kind::Collective: return collective(r, node, is_paired);
      case Kind::OneSided: return one_sided(r);
      case Kind::Read:
      case Kind::Write: return access(r, tree_.nodes[node].name);
      case Kind::Synchronization: return;  // its call shows it
      default: return leave_out();
    }
  }

  /// Remembers the last communicator, since successive records mostly have the same one.
  OTF2_CommRef communicator_of(std::int32_t id) {
    if (id != last_communicator_.first) last_communicator_ = {id, definitions_.communicator_of(rank_, id)};
    return last_communicator_.second;
  }

  /// Whether the begin of the operation that the record completes may be in the archive: always if another thread began
  /// it.
  bool may_have_begun(const events::Record& r) const { return r.begun_thread != thread_ || begun_.find(key_of(r)); }
  static std::uint64_t key_of(const events::Record& r) { return format::mixed(r.request); }

  /// `is_paired`: the other side is in the archive, or would not be there in any case; so in receive().
  void send(const events::Record& r, bool is_paired) {
    const OTF2_CommRef communicator = communicator_of(r.communicator);
    const auto peer = static_cast<std::uint32_t>(r.peer), tag = static_cast<std::uint32_t>(r.tag);
    const auto bytes = static_cast<std::uint64_t>(r.bytes_sent);
    const bool is_known = is_paired && r.peer >= 0 && communicator != OTF2_UNDEFINED_COMM;
    if (r.phase >= Phase::Completed ? !may_have_begun(r) : !is_known) return leave_out();
    switch (r.phase) {
      case Phase::Whole: return done(OTF2_EvtWriter_MpiSend(out_, nullptr, time_, peer, communicator, tag, bytes));
      case Phase::Begun:
        begun_.open(key_of(r)) = {};
        return done(OTF2_EvtWriter_MpiIsend(out_, nullptr, time_, peer, communicator, tag, bytes, r.request));
      case Phase::Completed: done(OTF2_EvtWriter_MpiIsendComplete(out_, nullptr, time_, r.request)); break;
      case Phase::Cancelled: done(OTF2_EvtWriter_MpiRequestCancelled(out_, nullptr, time_, r.request)); break;
    }
    begun_.close(key_of(r));
  }

  void receive(const events::Record& r, bool is_paired) {
    const OTF2_CommRef communicator = communicator_of(r.communicator);
    const auto peer = static_cast<std::uint32_t>(r.peer), tag = static_cast<std::uint32_t>(r.tag);
    const auto bytes = static_cast<std::uint64_t>(r.bytes_received);
    if (r.phase == Phase::Begun && !is_paired) return leave_out();
    if (r.phase == Phase::Begun) {
      begun_.open(key_of(r)) = {};
      return done(OTF2_EvtWriter_MpiIrecvRequest(out_, nullptr, time_, r.request));
    }
    const bool is_known = is_paired && r.peer >= 0 && communicator != OTF2_UNDEFINED_COMM;
    const bool has_begun = r.phase != Phase::Whole && may_have_begun(r);
    // No message comes from MPI_PROC_NULL, but the request was written.
    const bool is_nothing = r.phase == Phase::Cancelled || r.peer == events::no_peer;
    if (has_begun && (is_nothing || !is_known))
      done(OTF2_EvtWriter_MpiRequestCancelled(out_, nullptr, time_, r.request));
    else if (r.phase == Phase::Whole && is_known)
      done(OTF2_EvtWriter_MpiRecv(out_, nullptr, time_, peer, communicator, tag, bytes));
    else if (has_begun) done(OTF2_EvtWriter_MpiIrecv(out_, nullptr, time_, peer, communicator, tag, bytes, r.request));
    left_out_ += !is_nothing && (!is_known || (r.phase != Phase::Whole && !has_begun));
    if (r.phase != Phase::Whole) begun_.close(key_of(r));
  }

  void collective(const events::Record& r, std::uint32_t node, bool is_whole) {
    const std::uint32_t root = r.peer >= 0                   ? static_cast<std::uint32_t>(r.peer)
                               : r.peer == events::this_side ? OTF2_COLLECTIVE_ROOT_SELF
                                                             : OTF2_COLLECTIVE_ROOT_NONE;
    if (r.phase >= Phase::Completed) node = node_of(trace_.path_of(location_, r.begun_thread, r.begun_node));
    const std::optional<OTF2_CollectiveOp> operation = operations_[node];
    const OTF2_CommRef communicator = communicator_of(r.communicator);
    const bool has_begun = r.phase < Phase::Completed || may_have_begun(r);
    if (!operation || !is_whole || communicator == OTF2_UNDEFINED_COMM || !has_begun) return leave_out();
    const auto sent = static_cast<std::uint64_t>(r.bytes_sent), received = static_cast<std::uint64_t>(r.bytes_received);
    if (r.phase == Phase::Whole) {
      in_progress_.push_back({*operation, communicator, root, sent, received});
      return done(OTF2_EvtWriter_MpiCollectiveBegin(out_, nullptr, time_));
    }
    if (r.phase == Phase::Begun) {
      begun_.open(key_of(r)) = {};
      return done(OTF2_EvtWriter_NonBlockingCollectiveRequest(out_, nullptr, time_, r.request));
    }
    done(OTF2_EvtWriter_NonBlockingCollectiveComplete(out_, nullptr, time_, *operation, communicator, root, sent,
                                                      received, r.request));
    begun_.close(key_of(r));
  }

  /// Collective operations end with their call.
  void end_collectives() {
    for (const Collective& c : in_progress_)
      done(OTF2_EvtWriter_MpiCollectiveEnd(out_, nullptr, time_, c.operation, c.communicator, c.root, c.sent,
                                           c.received));
    in_progress_.clear();
  }

  /// Writes a read or write of a file. The record of a whole access, with its bytes, comes at its end, but the access
  /// begins where its call does. How much a request asks for is unknown, since records count the bytes moved: it is
  /// written as 0.
  void access(const events::Record& r, const std::string& call) {
    const auto mode = r.kind == Kind::Read ? OTF2_IO_OPERATION_MODE_READ : OTF2_IO_OPERATION_MODE_WRITE;
    const auto bytes = static_cast<std::uint64_t>(r.kind == Kind::Read ? r.bytes_received : r.bytes_sent);
    if (r.phase >= Phase::Completed) {
      if (!may_have_begun(r)) return leave_out();
      begun_.close(key_of(r));
      return done(
          r.phase == Phase::Completed
              ? OTF2_EvtWriter_IoOperationComplete(out_, nullptr, time_, Otf2Definitions::files, bytes, r.request)
              : OTF2_EvtWriter_IoOperationCancelled(out_, nullptr, time_, Otf2Definitions::files, r.request));
    }
    const bool is_whole = r.phase == Phase::Whole;
    const std::uint64_t number = is_whole ? ++accesses_ % first_request : r.request;
    const OTF2_IoOperationFlag flags =
        (is_whole ? OTF2_IO_OPERATION_FLAG_NONE : OTF2_IO_OPERATION_FLAG_NON_BLOCKING) |
        (is_collective_access(call) ? OTF2_IO_OPERATION_FLAG_COLLECTIVE : OTF2_IO_OPERATION_FLAG_NONE);
    if (!is_whole) begun_.open(key_of(r)) = {};
    accesses_in_progress_.push_back({number, bytes, is_whole});
    done(OTF2_EvtWriter_IoOperationBegin(out_, nullptr, is_whole ? time_before_ : time_, Otf2Definitions::files, mode,
                                         flags, is_whole ? bytes : 0, number));
  }

  /// Writes the accesses of the call that ends as complete, or as issued.
  void end_accesses() {
    for (const Access& a : accesses_in_progress_)
      done(a.is_whole
               ? OTF2_EvtWriter_IoOperationComplete(out_, nullptr, time_, Otf2Definitions::files, a.bytes, a.number)
               : OTF2_EvtWriter_IoOperationIssued(out_, nullptr, time_, Otf2Definitions::files, a.number));
    accesses_in_progress_.clear();
  }

  void one_sided(const events::Record& r) {
    if (r.phase >= Phase::Completed) {
      const std::optional<Begun> begun = begun_.close(key_of(r));
      if (!begun) return leave_out();
      return done(OTF2_EvtWriter_RmaOpCompleteNonBlocking(out_, nullptr, time_, begun->window, begun->operation));
    }
    const OTF2_RmaWinRef window = definitions_.window_of(rank_, r.communicator);
    if (window == OTF2_UNDEFINED_RMA_WIN || r.peer < 0) return leave_out();
    const auto target = static_cast<std::uint32_t>(r.peer);
    const std::uint64_t number = ++one_sided_;
    const auto put = static_cast<std::uint64_t>(r.bytes_sent), got = static_cast<std::uint64_t>(r.bytes_received);
    if (put > 0) done(OTF2_EvtWriter_RmaPut(out_, nullptr, time_, window, target, put, number));
    if (got > 0) done(OTF2_EvtWriter_RmaGet(out_, nullptr, time_, window, target, got, number));
    if (r.phase == Phase::Begun) begun_.open(key_of(r)) = {window, number};
  }

  struct Access {
    std::uint64_t number, bytes;
    bool is_whole;
  };
  /// No request has a smaller number. Whole accesses have the numbers below, of which few are in progress at a time.
  static constexpr std::uint64_t first_request = std::uint64_t{1} << events::bits_of_thread;
  struct Collective {
    OTF2_CollectiveOp operation;
    OTF2_CommRef communicator;
    std::uint32_t root;
    std::uint64_t sent, received;
  };
  /// A request that this location has begun; for a one-sided operation also its window and number.
  struct Begun {
    OTF2_RmaWinRef window = OTF2_UNDEFINED_RMA_WIN;
    std::uint64_t operation = 0;
  };

  const trace::Trace& trace_;
  const analysis::CallTree& tree_;
  const Otf2Definitions& definitions_;
  const LostPartners& lost_partners_;
  const std::vector<std::optional<OTF2_CollectiveOp>>& operations_;
  const bool functions_;
  const std::uint32_t location_;
  const std::int32_t rank_, thread_;
  OTF2_EvtWriter* out_;
  std::uint64_t time_ = 0, time_before_ = 0, flush_begin_ = 0, left_out_ = 0, one_sided_ = 0, accesses_ = 0,
                communications_ = 0;
  bool is_off_ = false;               ///< within a gap: events are missing
  std::vector<OTF2_RegionRef> open_;  ///< open marks
  std::vector<Collective> in_progress_;
  std::vector<std::pair<events::Record, std::uint64_t>> metrics_at_end_;
  std::vector<Access> accesses_in_progress_;
  std::vector<OTF2_RegionRef> active_, path_;  ///< active functions, now and next, if functions_ is set
  trace::RequestTable<Begun> begun_;           ///< by key_of()
  std::pair<std::int32_t, OTF2_CommRef> last_communicator_{-1, OTF2_UNDEFINED_COMM};  ///< id and OTF2's reference
  struct DeleteAttributes {
    void operator()(OTF2_AttributeList* of) const { OTF2_AttributeList_Delete(of); }
  };
  std::unique_ptr<OTF2_AttributeList, DeleteAttributes> attributes_;  ///< made when it is first needed
};

/// Distributes the locations to the processes: those with most records first, each to the process with the least cost
/// so far. A file costs about as much as a thousand records. All processes compute the same distribution.
std::vector<std::vector<OTF2_LocationRef>> shared_out(const trace::Trace& trace, std::uint64_t locations,
                                                      int processes) {
  constexpr std::uint64_t of_file = 1000;
  const auto cost_of = [&](std::uint64_t location) {
    return of_file + (location < trace.locations().size() ? trace.locations()[location].records : 0);
  };
  std::vector<OTF2_LocationRef> order(locations);
  std::iota(order.begin(), order.end(), OTF2_LocationRef{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, cost_of);
  std::vector<std::vector<OTF2_LocationRef>> of_process(static_cast<std::size_t>(processes));
  std::vector<std::uint64_t> costs(of_process.size());
  for (const OTF2_LocationRef location : order) {
    const auto least = static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin());
    costs[least] += cost_of(location);
    of_process[least].push_back(location);
  }
  return of_process;
}

/// What a process has written: the number of records of each of its locations.
struct Written {
  std::map<OTF2_LocationRef, std::uint64_t> events;
  std::uint64_t left_out = 0;

  std::string text() const {
    std::string text = std::to_string(left_out);
    for (const auto& [location, count] : events) text += fmt::format(" {} {}", location, count);
    return text;
  }
  /// Throws ExportError when two processes have written the same location: they have read different experiments.
  void add(const std::string& text) {
    std::istringstream in(text);
    std::uint64_t more = 0, count = 0;
    in >> more;
    left_out += more;
    for (OTF2_LocationRef location = 0; in >> location >> count;)
      if (!events.emplace(location, count).second) throw ExportError("the processes do not read the same experiment");
  }
};

/// Writes the events of one location; returns how many are left out.
std::uint64_t write_events(const Contents& contents, std::uint32_t location, OTF2_EvtWriter* out) {
  constexpr std::uint64_t between_checks = 1 << 16;
  Writer writer(contents, location, out);
  auto reader = contents.trace.read({{location}});
  std::uint64_t events = 0;
  while (const Event* event = reader.next()) {
    writer.write(*event);
    if (contents.options.processes && ++events % between_checks == 0) contents.options.processes->check();
  }
  writer.finish();
  return writer.left_out();
}

/// Returns what all processes have written, in the first one.
Written united(ProcessGroup& processes, const Written& mine) {
  Written all;
  for (const std::string& text : processes.gather(mine.text())) all.add(text);
  return all;
}

/// Writes this process's share, several locations at a time; the first process also writes the definitions.
Otf2Summary write_archive(const trace::Trace& trace, symbols::Symbolizer& symbolizer, const Otf2Options& options) {
  ProcessGroup* const processes = options.processes;
  const bool is_first = !processes || processes->is_first();
  analysis::CallTreeOptions of_tree;
  of_tree.callsites = true;
  const analysis::CallTree tree = build_call_tree(trace.experiment(), symbolizer, of_tree);
  const Contents contents(trace, tree, options);
  const Otf2Definitions& definitions = contents.definitions;
  const auto shares = shared_out(trace, definitions.locations(), processes ? processes->size() : 1);
  const std::vector<OTF2_LocationRef>& mine = shares[static_cast<std::size_t>(processes ? processes->rank() : 0)];
  Otf2Archive archive(options.directory, processes);
  Written written;
  struct OfLocation {
    std::uint64_t events = 0, left_out = 0;
  };
  std::vector<OfLocation> of_mine(mine.size());
  // Several processes already use the cores.
  const unsigned threads = processes ? 1 : experiment::threads_for_reading();
  experiment::for_each_in_threads(mine.size(), threads, [&](std::size_t i) {
    of_mine[i].events = archive.write_location(mine[i], [&](OTF2_EvtWriter* out) {
      // A rank without events has an empty file, which readers expect.
      if (mine[i] < trace.locations().size())
        of_mine[i].left_out = write_events(contents, static_cast<std::uint32_t>(mine[i]), out);
    });
  });
  for (std::size_t i = 0; i < mine.size(); ++i) {
    written.events[mine[i]] = of_mine[i].events;
    written.left_out += of_mine[i].left_out;
  }
  archive.end_events(mine);
  if (processes) written = united(*processes, written);
  Otf2Summary summary;
  if (is_first) {
    std::vector<std::uint64_t> counts;
    for (std::uint64_t location = 0; location < definitions.locations(); ++location) {
      const auto at = written.events.find(location);
      if (at == written.events.end()) throw ExportError("the processes do not read the same experiment");
      counts.push_back(at->second);
      summary.events += at->second;
    }
    summary.left_out = written.left_out;
    archive.write_definitions([&](OTF2_GlobalDefWriter* writer) { definitions.write(writer, counts); });
  }
  archive.close();
  return summary;
}

/// Throws ExportError when the directory exists: then it is somebody else's.
void make_directory(const std::filesystem::path& directory) {
  std::error_code error;
  if (directory.has_parent_path()) std::filesystem::create_directories(directory.parent_path(), error);
  if (::mkdir(directory.c_str(), 0777) == 0) return;
  const int why = errno;
  must_not_exist(directory);
  throw ExportError(directory.string() + ": " + std::generic_category().message(why));
}

}  // namespace

Otf2Summary write_otf2(const trace::Trace& trace, symbols::Symbolizer& symbolizer, const Otf2Options& options) {
  ProcessGroup* const processes = options.processes;
  if (processes && !processes->is_first()) return write_archive(trace, symbolizer, options);
  make_directory(options.directory);
  try {
    return write_archive(trace, symbolizer, options);
  } catch (...) {
    try {
      if (processes) {
        processes->end({1, {}});  // otherwise they would go on writing
        (void)processes->dismiss();
      }
    } catch (const ExportError&) {
      // The first error is reported.
    }
    std::error_code ignored;
    std::filesystem::remove_all(options.directory, ignored);
    throw;
  }
}

}  // namespace refrain::exports
