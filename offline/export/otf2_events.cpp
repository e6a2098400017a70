#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "offline/export/otf2_archive.hpp"
#include "offline/export/otf2_definitions.hpp"

namespace refrain::exports {
namespace {

using events::Kind;
using events::Phase;
using trace::Event;
using trace::Type;

/// By the names of MPI's functions, without MPI_, the I of non-blocking ones, _init and _c, in small letters. Nothing:
/// OTF2 has no such operation.
std::optional<OTF2_CollectiveOp> operation_of(std::string_view region) {
  static const std::map<std::string, OTF2_CollectiveOp, std::less<>> operations = {
      {"barrier", OTF2_COLLECTIVE_OP_BARRIER},
      {"bcast", OTF2_COLLECTIVE_OP_BCAST},
      {"gather", OTF2_COLLECTIVE_OP_GATHER},
      {"gatherv", OTF2_COLLECTIVE_OP_GATHERV},
      {"scatter", OTF2_COLLECTIVE_OP_SCATTER},
      {"scatterv", OTF2_COLLECTIVE_OP_SCATTERV},
      {"allgather", OTF2_COLLECTIVE_OP_ALLGATHER},
      {"allgatherv", OTF2_COLLECTIVE_OP_ALLGATHERV},
      {"alltoall", OTF2_COLLECTIVE_OP_ALLTOALL},
      {"alltoallv", OTF2_COLLECTIVE_OP_ALLTOALLV},
      {"alltoallw", OTF2_COLLECTIVE_OP_ALLTOALLW},
      {"allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE},
      {"reduce", OTF2_COLLECTIVE_OP_REDUCE},
      {"reduce_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER},
      {"reduce_scatter_block", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK},
      {"scan", OTF2_COLLECTIVE_OP_SCAN},
      {"exscan", OTF2_COLLECTIVE_OP_EXSCAN},
      {"win_free", OTF2_COLLECTIVE_OP_DESTROY_HANDLE},
      {"comm_free", OTF2_COLLECTIVE_OP_DESTROY_HANDLE},
      {"file_close", OTF2_COLLECTIVE_OP_DESTROY_HANDLE}};
  if (region.starts_with("MPI_")) region.remove_prefix(4);
  for (const std::string_view end : {"_c", "_init"})
    if (region.ends_with(end)) region.remove_suffix(end.size());
  std::string name(region);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  auto at = operations.find(name);
  if (at == operations.end() && name.starts_with("i")) at = operations.find(name.substr(1));
  if (at != operations.end()) return at->second;
  for (const std::string_view part : {"create", "dup", "split", "merge", "allocate", "graph_adjacent", "file_open"})
    if (name.find(part) != std::string::npos) return OTF2_COLLECTIVE_OP_CREATE_HANDLE;
  return std::nullopt;
}

/// Writes the events of one location.
class Writer {
 public:
  Writer(const trace::Trace& trace, const analysis::CallTree& tree, const Otf2Definitions& definitions,
         const Otf2Options& options, std::uint32_t location, OTF2_EvtWriter* out)
      : trace_(trace),
        tree_(tree),
        definitions_(definitions),
        functions_(options.functions),
        location_(location),
        rank_(trace.locations()[location].rank),
        thread_(trace.locations()[location].thread),
        out_(out) {}

  void write(const Event& event) {
    const std::uint32_t node = node_of(event.path);
    const OTF2_RegionRef region = definitions_.region_of(node);
    // Readers refuse an event that is earlier than the one before.
    time_ = std::max<std::uint64_t>(time_, event.time_ns > 0 ? static_cast<std::uint64_t>(event.time_ns) : 0);
    switch (event.type) {
      case Type::Enter: begin_functions(node); return enter(region);
      case Type::Leave: end_collectives(); return leave(region);
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
      case Type::Metric: return metric(event.record);
      case Type::FlushBegin: flush_begin_ = time_; return;
      case Type::FlushEnd: return done(OTF2_EvtWriter_BufferFlush(out_, nullptr, flush_begin_, time_));
      default: return;  // gaps, ends of threads; the others are not of experiments
    }
  }

  void finish() {
    begin_functions(0);
    for (; !open_.empty(); open_.pop_back()) leave(open_.back());
  }

  std::uint64_t left_out() const { return left_out_; }

 private:
  /// 0: the root.
  std::uint32_t above(std::uint32_t node) const {
    return node == 0 ? 0 : static_cast<std::uint32_t>(tree_.nodes[node].parent);
  }
  std::uint32_t node_of(std::uint32_t path) const { return path < tree_.node_of.size() ? tree_.node_of[path] : 0; }
  void done(OTF2_ErrorCode code) { check(code, "an event"); }
  void enter(OTF2_RegionRef region) { done(OTF2_EvtWriter_Enter(out_, nullptr, time_, region)); }
  void leave(OTF2_RegionRef region) { done(OTF2_EvtWriter_Leave(out_, nullptr, time_, region)); }

  /// Beginnings may be missing, and inner marks may not have ended.
  void end_mark(OTF2_RegionRef region) {
    if (std::ranges::find(open_, region) == open_.end()) return;
    for (bool found = false; !found; open_.pop_back()) {
      found = open_.back() == region;
      leave(open_.back());
    }
  }

  /// The functions that are active when the code of `node` runs, an MPI function itself left out: what is no more is
  /// left, and what is new is entered. A function that was active and still is goes on, from whichever line it calls.
  void begin_functions(std::uint32_t node) {
    if (!functions_) return;
    if (node > 0 && tree_.nodes[node].kind == analysis::PathKind::Mpi) node = above(node);
    path_.clear();
    for (std::uint32_t at = node; at > 0; at = above(at)) path_.push_back(definitions_.region_of(at));
    std::ranges::reverse(path_);
    const auto same = static_cast<std::size_t>(std::ranges::mismatch(active_, path_).in1 - active_.begin());
    for (; active_.size() > same; active_.pop_back()) leave(active_.back());
    for (std::size_t i = same; i < path_.size(); ++i) enter(path_[i]);
    active_ = path_;
  }

  void metric(const events::Record& r) {
    if (r.node >= trace_.metrics().size()) {
      ++left_out_;
      return;
    }
    const OTF2_Type type = OTF2_TYPE_INT64;
    OTF2_MetricValue value;
    value.signed_int = r.value;
    done(OTF2_EvtWriter_Metric(out_, nullptr, time_, Otf2Definitions::class_of(r.node), 1, &type, &value));
  }

  void communicate(const Event& event, std::uint32_t node) {
    const events::Record& r = event.record;
    switch (r.kind) {
      case Kind::Send: return send(r);
      case Kind::Receive: return receive(r);
      case Kind::Collective: return collective(r, node);
      case Kind::OneSided: return one_sided(r);
      default: ++left_out_;
    }
  }

  /// Whether the begin of what the record completes is in the archive. What another thread has begun may be.
  bool may_have_begun(const events::Record& r) const { return r.begun_thread != thread_ || begun_.contains(r.request); }

  void send(const events::Record& r) {
    const OTF2_CommRef communicator = definitions_.communicator_of(rank_, r.communicator);
    const auto peer = static_cast<std::uint32_t>(r.peer), tag = static_cast<std::uint32_t>(r.tag);
    const auto bytes = static_cast<std::uint64_t>(r.bytes_sent);
    const bool is_known = r.peer >= 0 && communicator != OTF2_UNDEFINED_COMM;
    if (r.phase >= Phase::Completed ? !may_have_begun(r) : !is_known) {
      ++left_out_;
      return;
    }
    switch (r.phase) {
      case Phase::Whole: return done(OTF2_EvtWriter_MpiSend(out_, nullptr, time_, peer, communicator, tag, bytes));
      case Phase::Begun:
        begun_[r.request] = {};
        return done(OTF2_EvtWriter_MpiIsend(out_, nullptr, time_, peer, communicator, tag, bytes, r.request));
      case Phase::Completed: done(OTF2_EvtWriter_MpiIsendComplete(out_, nullptr, time_, r.request)); break;
      case Phase::Cancelled: done(OTF2_EvtWriter_MpiRequestCancelled(out_, nullptr, time_, r.request)); break;
    }
    begun_.erase(r.request);
  }

  void receive(const events::Record& r) {
    const OTF2_CommRef communicator = definitions_.communicator_of(rank_, r.communicator);
    const auto peer = static_cast<std::uint32_t>(r.peer), tag = static_cast<std::uint32_t>(r.tag);
    const auto bytes = static_cast<std::uint64_t>(r.bytes_received);
    if (r.phase == Phase::Begun) {
      begun_[r.request] = {};
      return done(OTF2_EvtWriter_MpiIrecvRequest(out_, nullptr, time_, r.request));
    }
    const bool is_known = r.peer >= 0 && communicator != OTF2_UNDEFINED_COMM;
    const bool has_begun = r.phase != Phase::Whole && may_have_begun(r);
    // Nothing comes from MPI_PROC_NULL, but its request was written.
    const bool is_nothing = r.phase == Phase::Cancelled || r.peer == events::no_peer;
    if (has_begun && (is_nothing || !is_known))
      done(OTF2_EvtWriter_MpiRequestCancelled(out_, nullptr, time_, r.request));
    else if (r.phase == Phase::Whole && is_known)
      done(OTF2_EvtWriter_MpiRecv(out_, nullptr, time_, peer, communicator, tag, bytes));
    else if (has_begun) done(OTF2_EvtWriter_MpiIrecv(out_, nullptr, time_, peer, communicator, tag, bytes, r.request));
    left_out_ += !is_nothing && (!is_known || (r.phase != Phase::Whole && !has_begun));
    begun_.erase(r.request);
  }

  void collective(const events::Record& r, std::uint32_t node) {
    const std::uint32_t root = r.peer >= 0                   ? static_cast<std::uint32_t>(r.peer)
                               : r.peer == events::this_side ? OTF2_COLLECTIVE_ROOT_SELF
                                                             : OTF2_COLLECTIVE_ROOT_NONE;
    if (r.phase >= Phase::Completed) node = node_of(trace_.path_of(location_, r.begun_thread, r.begun_node));
    const auto operation = operation_of(tree_.nodes[node].name);
    const OTF2_CommRef communicator = definitions_.communicator_of(rank_, r.communicator);
    const bool has_begun = r.phase < Phase::Completed || may_have_begun(r);
    if (!operation || communicator == OTF2_UNDEFINED_COMM || !has_begun) {
      ++left_out_;
      return;
    }
    const auto sent = static_cast<std::uint64_t>(r.bytes_sent), received = static_cast<std::uint64_t>(r.bytes_received);
    if (r.phase == Phase::Whole) {
      in_progress_.push_back({*operation, communicator, root, sent, received});
      return done(OTF2_EvtWriter_MpiCollectiveBegin(out_, nullptr, time_));
    }
    if (r.phase == Phase::Begun) {
      begun_[r.request] = {};
      return done(OTF2_EvtWriter_NonBlockingCollectiveRequest(out_, nullptr, time_, r.request));
    }
    done(OTF2_EvtWriter_NonBlockingCollectiveComplete(out_, nullptr, time_, *operation, communicator, root, sent,
                                                      received, r.request));
    begun_.erase(r.request);
  }

  /// They end with their call.
  void end_collectives() {
    for (const Collective& c : in_progress_)
      done(OTF2_EvtWriter_MpiCollectiveEnd(out_, nullptr, time_, c.operation, c.communicator, c.root, c.sent,
                                           c.received));
    in_progress_.clear();
  }

  void one_sided(const events::Record& r) {
    if (r.phase >= Phase::Completed) {
      const auto begun = begun_.find(r.request);
      if (begun == begun_.end()) {
        ++left_out_;
        return;
      }
      done(
          OTF2_EvtWriter_RmaOpCompleteNonBlocking(out_, nullptr, time_, begun->second.window, begun->second.operation));
      begun_.erase(begun);
      return;
    }
    const OTF2_RmaWinRef window = definitions_.window_of(rank_, r.communicator);
    if (window == OTF2_UNDEFINED_RMA_WIN || r.peer < 0) {
      ++left_out_;
      return;
    }
    const auto target = static_cast<std::uint32_t>(r.peer);
    const std::uint64_t number = ++operations_;
    const auto put = static_cast<std::uint64_t>(r.bytes_sent), got = static_cast<std::uint64_t>(r.bytes_received);
    if (put > 0) done(OTF2_EvtWriter_RmaPut(out_, nullptr, time_, window, target, put, number));
    if (got > 0) done(OTF2_EvtWriter_RmaGet(out_, nullptr, time_, window, target, got, number));
    if (r.phase == Phase::Begun) begun_[r.request] = {window, number};
  }

  struct Collective {
    OTF2_CollectiveOp operation;
    OTF2_CommRef communicator;
    std::uint32_t root;
    std::uint64_t sent, received;
  };
  /// A request that this location has begun; of a one-sided operation what tells which.
  struct Begun {
    OTF2_RmaWinRef window = OTF2_UNDEFINED_RMA_WIN;
    std::uint64_t operation = 0;
  };

  const trace::Trace& trace_;
  const analysis::CallTree& tree_;
  const Otf2Definitions& definitions_;
  const bool functions_;
  const std::uint32_t location_;
  const std::int32_t rank_, thread_;
  OTF2_EvtWriter* out_;
  std::uint64_t time_ = 0, flush_begin_ = 0, left_out_ = 0, operations_ = 0;
  std::vector<OTF2_RegionRef> open_;  ///< marks
  std::vector<Collective> in_progress_;
  std::vector<OTF2_RegionRef> active_, path_;  ///< functions, when they are asked for: now, and next
  std::map<std::uint64_t, Begun> begun_;
};

}  // namespace

Otf2Summary write_otf2(const trace::Trace& trace, analysis::Symbolizer& symbolizer, const Otf2Options& options) {
  // A link that leads nowhere is there, too.
  if (std::filesystem::exists(std::filesystem::symlink_status(options.directory)))
    throw ExportError(options.directory.string() + " exists; nothing is overwritten");
  analysis::CallTreeOptions of_tree;
  of_tree.callsites = true;
  const analysis::CallTree tree = build_call_tree(trace.experiment(), symbolizer, of_tree);
  const Otf2Definitions definitions(trace, tree);
  Otf2Summary summary;
  try {
    Otf2Archive archive(options.directory);
    std::vector<std::uint64_t> counts;
    for (std::uint32_t location = 0; location < trace.locations().size(); ++location)
      counts.push_back(archive.write_location(location, [&](OTF2_EvtWriter* out) {
        Writer writer(trace, tree, definitions, options, location, out);
        auto reader = trace.read({{location}});
        while (const Event* event = reader.next()) writer.write(*event);
        writer.finish();
        summary.left_out += writer.left_out();
      }));
    for (std::uint64_t location = trace.locations().size(); location < definitions.locations(); ++location)
      (void)archive.write_location(location, [](OTF2_EvtWriter*) {});  // of a rank without events: readers expect it
    archive.write_definitions(definitions.locations(),
                              [&](OTF2_GlobalDefWriter* writer) { definitions.write(writer, counts); });
    archive.close();
    for (const std::uint64_t count : counts) summary.events += count;
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(options.directory, ignored);
    throw;
  }
  return summary;
}

}  // namespace refrain::exports
