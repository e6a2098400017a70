// The search by several processes. Each reads the events of its own ranks, some thousand at a time, and tells the
// others which messages are sent to their ranks; then all look at the events up to the time that all have reached. So
// sends and receives of a rank are seen in order of time, as in a search by one process. What becomes known of a send,
// and the parts of collective operations, arrive a round later.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "offline/patterns/messages.hpp"
#include "offline/patterns/windows.hpp"
#include "offline/patterns/wire.hpp"

namespace refrain::patterns {
namespace {

using events::Kind;
using events::Phase;
using trace::CollectiveOperation;
using trace::CollectivePart;
using trace::Type;

/// The parts that decide how long others waited: the root, the part that began last, the part that was left first, and
/// the shortest part. For operations along the ranks, all parts.
std::vector<CollectivePart> deciding_parts(const CollectiveOperation& operation) {
  const auto& parts = operation.parts;
  if (operation.exchange == trace::Exchange::Prefix || parts.size() <= 4) return parts;
  std::set<std::size_t> chosen;
  const auto choose = [&](auto at) {
    if (at != parts.end()) chosen.insert(static_cast<std::size_t>(at - parts.begin()));
  };
  choose(std::ranges::find(parts, true, &CollectivePart::is_root));
  choose(std::ranges::max_element(parts, {}, &CollectivePart::begin_ns));
  choose(std::ranges::min_element(parts, {}, &CollectivePart::leave_ns));
  choose(std::ranges::min_element(parts, {}, [](const CollectivePart& of) { return of.leave_ns - of.enter_ns; }));
  std::vector<CollectivePart> deciding;
  for (const std::size_t place : chosen) deciding.push_back(parts[place]);
  return deciding;
}

}  // namespace

/// Values that are added at the end and taken from the front, in one array that is reused.
template <class T>
class Search::Queue {
 public:
  bool empty() const { return first_ == values_.size(); }
  std::size_t size() const { return values_.size() - first_; }
  const T& front() const { return values_[first_]; }
  const T& back() const { return values_.back(); }
  void pop() { ++first_; }
  void add(const T& value) { values_.push_back(value); }
  /// Erases what was taken. To be called now and then.
  void make_room() {
    values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  auto begin() { return values_.begin() + static_cast<std::ptrdiff_t>(first_); }
  auto end() { return values_.end(); }

 private:
  std::vector<T> values_;
  std::size_t first_ = 0;
};

class Search::Rounds {
 public:
  Rounds(Search& search, SearchProcesses& processes)
      : search_(search),
        team_(processes),
        distribution_(*search.distribution_),
        own_(distribution_.own_locations()),
        stacks_(search.trace_.locations().size()),
        spans_(search.trace_.locations().size()),
        outgoing_(static_cast<std::size_t>(distribution_.processes())),
        members_(distribution_.members_of(search.trace_)) {
    // A reader of no locations would read all of them.
    if (!own_.empty()) reader_.emplace(search.trace_.read(own_));
    std::vector<std::size_t> own_members;
    for (const Distribution::Members& of : members_) own_members.push_back(of.own);
    search_.collectives_.take_parts_of(std::move(own_members),
                                       [this](const CollectiveOperation& operation) { add_own(operation); });
  }

  void run(const Progress& progress) {
    check_trace();
    for (std::int64_t until_ns = 0; until_ns != end_of_time;) {
      read();
      const std::int64_t looked_until_ns = until_ns;
      until_ns = exchange_round(reached());
      search_.windows_->know_until(looked_until_ns);
      if (progress && distribution_.process() == 0 && until_ns != end_of_time) progress(until_ns);
      look_until(until_ns);
    }
    search_.finish_events();
    // Exchanges what is known now of the last messages and operations.
    exchange_round(end_of_time);
    gather_job_wide();
    search_.publish_job_wide(true);
    search_.publish_job_wide(false);
    finish_operations();
    search_.windows_->finish();
    search_.findings_.finish();
    search_.count();
    gather();
  }

 private:
  static constexpr std::int64_t end_of_time = INT64_MAX;
  static constexpr std::size_t window = 1 << 14;  ///< number of events that are read ahead

  /// An event that was read ahead: of the most frequent types, what the search needs; all others are in others_.
  struct Ahead {
    std::int64_t time_ns, value;
    std::uint32_t location, path;
    Type type;
    bool is_whole, is_other;
  };
  struct Open {
    std::uint32_t path;
    std::int64_t enter_ns;
  };
  struct Outgoing {
    std::uint64_t next = 0;
    std::vector<RemoteSend> sends;
    WireWriter operations;
    std::uint64_t operation_count = 0;
  };
  struct Incoming {
    RemoteSend send;
    int process;
    auto order() const { return std::pair(send.time_ns, send.location); }
  };
  /// An operation of own and other ranks.
  struct Operation {
    CollectiveOperation operation;
    std::size_t parts = 0;  ///< number of parts that are known to be done
    bool has_own = false;
    int first_process = INT32_MAX;  ///< lowest process with parts in it
  };

  using Operations = std::map<std::pair<std::int32_t, std::uint64_t>, Operation>;  ///< by communicator and ordinal
  static constexpr std::size_t most_open = std::size_t{1} << 16;

  /// All processes must look at the same events: an experiment in progress changes.
  void check_trace() {
    WireWriter about;
    about.put(std::uint64_t{search_.trace_.locations().size()});
    std::uint64_t records = 0;
    for (const trace::LocationOfTrace& of : search_.trace_.locations()) records += of.records;
    about.put(records);
    const std::string own = about.take();
    for (const std::string& of : team_.all_to_all(std::vector(outgoing_.size(), own)))
      if (of != own) throw ProcessError("the events change while they are read");
  }

  void read() {
    ahead_.make_room();
    others_.make_room();
    while (reader_ && (ahead_.size() < window || ahead_.front().time_ns == ahead_.back().time_ns)) {
      const trace::Event* event = reader_->next();
      if (!event) return reader_.reset();
      look_ahead(*event);
      const bool is_other = event->type != Type::Enter && event->type != Type::Leave && event->type != Type::Sample;
      ahead_.add({event->time_ns, event->record.value, event->location, event->path, event->type,
                  event->record.is_whole, is_other});
      if (is_other) others_.add(*event);
    }
  }

  /// The time before which all events are read.
  std::int64_t reached() const { return reader_ ? std::min(ahead_.back().time_ns, end_of_time - 1) : end_of_time; }

  /// Collects the messages that are sent to ranks of other processes. Follows calls as the search does later.
  void look_ahead(const trace::Event& event) {
    std::vector<Open>& stack = stacks_[event.location];
    switch (event.type) {
      case Type::Enter: stack.push_back({event.path, event.time_ns}); return;
      case Type::Leave: {
        const auto at = std::ranges::find(stack.rbegin(), stack.rend(), event.path, &Open::path);
        if (at != stack.rend()) stack.erase(std::prev(at.base()), stack.end());
        return;
      }
      case Type::Gap:
        if (search_.trace_.archive()) stack.clear();
        return;
      case Type::SpanEnd: ++spans_[event.location]; return;
      case Type::Communication: break;
      default: return;
    }
    const events::Record& r = event.record;
    if (r.kind != Kind::Send || r.phase >= Phase::Completed || stack.empty()) return;
    const int process = distribution_.of_rank(search_.messages_->other_end(event));
    if (process == distribution_.process()) return;
    Outgoing& to = outgoing_[static_cast<std::size_t>(process)];
    to.sends.push_back({to.next++, event.time_ns, stack.back().enter_ns, r.bytes_sent, r.request, r.ordinal,
                        r.tags_before, event.location, r.tag, r.communicator, r.peer, r.phase,
                        search_.iteration_of(event.location, spans_[event.location])});
  }

  /// Returns the time that all processes have reached.
  std::int64_t exchange_round(std::int64_t own_until_ns) {
    std::vector<std::string> messages;
    for (std::size_t process = 0; process < outgoing_.size(); ++process) {
      Outgoing& to = outgoing_[process];
      Messages::ForOthers& of_messages = search_.messages_->for_others()[process];
      WireWriter writer;
      writer.put(own_until_ns);
      writer.put(std::exchange(to.sends, {}));
      writer.put(std::exchange(of_messages.answers, {}));
      writer.put(std::exchange(of_messages.cancelled, {}));
      put_epochs(writer, static_cast<int>(process));
      writer.put(std::exchange(to.operation_count, 0));
      messages.push_back(writer.take() + to.operations.take());
    }
    search_.windows_->for_others().clear();
    incoming_.make_room();
    std::int64_t until_ns = own_until_ns;
    const std::vector<std::string> all = team_.all_to_all(std::move(messages));
    for (int process = 0; process < distribution_.processes(); ++process) {
      if (process == distribution_.process()) continue;
      WireReader reader(all[static_cast<std::size_t>(process)]);
      until_ns = std::min(until_ns, reader.get<std::int64_t>());
      const auto middle = static_cast<std::ptrdiff_t>(incoming_.size());
      for (const RemoteSend& send : reader.get_all<RemoteSend>()) incoming_.add({send, process});
      const auto is_before = [](const Incoming& a, const Incoming& b) { return a.order() < b.order(); };
      const auto added = incoming_.begin() + middle;
      if (middle > 0 && added != incoming_.end() && is_before(*added, *std::prev(added)))
        std::inplace_merge(incoming_.begin(), added, incoming_.end(), is_before);
      for (const Answer& answer : reader.get_all<Answer>()) search_.messages_->take(answer, process);
      for (const Cancelled& cancelled : reader.get_all<Cancelled>()) search_.messages_->take(cancelled);
      add_epochs(reader);
      for (auto left = reader.get<std::uint64_t>(); left > 0; --left) add_of_others(reader, process);
    }
    return until_ns;
  }

  // ---- windows ----

  /// Writes the epochs of the windows that the process takes part in.
  void put_epochs(WireWriter& writer, int process) const {
    std::vector<const Windows::ForOthers*> all;
    for (const auto& [communicator, of] : search_.windows_->for_others()) {
      const auto& processes = members_[static_cast<std::size_t>(communicator)].processes;
      if (std::ranges::find(processes, process) != processes.end()) all.push_back(&of);
    }
    writer.put(std::uint64_t{all.size()});
    for (const Windows::ForOthers* of : all) {
      writer.put(std::uint64_t{of->accesses.size()});
      for (const AccessEpoch& epoch : of->accesses) {
        writer.put(epoch.window);
        writer.put(epoch.rank);
        writer.put(epoch.targets);
        writer.put(epoch.calls);
      }
      writer.put(of->exposures);
      writer.put(std::uint64_t{of->locks.size()});
      for (const LockEpoch& epoch : of->locks) {
        writer.put(epoch.window);
        writer.put(epoch.rank);
        writer.put(epoch.target);
        writer.put(epoch.is_exclusive);
        writer.put(epoch.calls);
      }
      writer.put(of->fences);
    }
  }

  void add_epochs(WireReader& reader) {
    for (auto windows = reader.get<std::uint64_t>(); windows > 0; --windows) {
      for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
        search_.windows_->add(AccessEpoch{.window = reader.get<std::int32_t>(),
                                          .rank = reader.get<std::int32_t>(),
                                          .targets = reader.get_all<AccessEpoch::Target>(),
                                          .calls = reader.get_all<EpochCall>()});
      }
      for (const ExposureEpoch& epoch : reader.get_all<ExposureEpoch>()) search_.windows_->add(epoch);
      for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
        search_.windows_->add(LockEpoch{.window = reader.get<std::int32_t>(),
                                        .rank = reader.get<std::int32_t>(),
                                        .target = reader.get<std::int32_t>(),
                                        .is_exclusive = reader.get<bool>(),
                                        .calls = reader.get_all<EpochCall>()});
      }
      for (const Fence& fence : reader.get_all<Fence>()) search_.windows_->add(fence);
    }
  }

  void look_until(std::int64_t until_ns) {
    for (; !incoming_.empty() && (incoming_.front().send.time_ns < until_ns || until_ns == end_of_time);
         incoming_.pop()) {
      const auto [ns, location] = incoming_.front().order();
      while (!ahead_.empty() &&
             (ahead_.front().time_ns < ns || (ahead_.front().time_ns == ns && ahead_.front().location < location)))
        look_at_next();
      search_.messages_->add(incoming_.front().send, incoming_.front().process);
    }
    while (!ahead_.empty() && (ahead_.front().time_ns < until_ns || until_ns == end_of_time)) look_at_next();
  }

  void look_at_next() {
    const Ahead& of = ahead_.front();
    ahead_.pop();
    if (of.is_other) {
      search_.take(others_.front());
      return others_.pop();
    }
    event_.type = of.type;
    event_.location = of.location;
    event_.time_ns = of.time_ns;
    event_.path = of.path;
    event_.record.value = of.value;
    event_.record.is_whole = of.is_whole;
    search_.take(event_);
  }

  // ---- collective operations ----

  void add_own(const CollectiveOperation& operation) {
    for (const int process : members_[static_cast<std::size_t>(operation.communicator)].processes) {
      if (process == distribution_.process()) continue;
      Outgoing& to = outgoing_[static_cast<std::size_t>(process)];
      ++to.operation_count;
      to.operations.put(operation.communicator);
      to.operations.put(operation.ordinal);
      to.operations.put(operation.region);
      to.operations.put(operation.exchange);
      to.operations.put(std::uint64_t{operation.parts.size()});
      to.operations.put(deciding_parts(operation));
    }
    add(operation, operation.parts.size(), distribution_.process());
  }

  void add_of_others(WireReader& reader, int process) {
    CollectiveOperation operation{.communicator = reader.get<std::int32_t>(),
                                  .ordinal = reader.get<std::uint64_t>(),
                                  .region = reader.get<std::uint32_t>(),
                                  .exchange = reader.get<trace::Exchange>()};
    const auto parts = reader.get<std::uint64_t>();
    operation.parts = reader.get_all<CollectivePart>();
    add(std::move(operation), parts, process);
  }

  void add(CollectiveOperation operation, std::size_t parts, int process) {
    const auto& communicators = search_.trace_.communicators().all();
    if (operation.communicator < 0 || static_cast<std::size_t>(operation.communicator) >= communicators.size()) return;
    const auto size = static_cast<std::size_t>(communicators[static_cast<std::size_t>(operation.communicator)].size);
    const auto [at, is_new] = operations_.try_emplace({operation.communicator, operation.ordinal});
    if (is_new) oldest_.push_back(at->first);
    while (!oldest_.empty() && !operations_.contains(oldest_.front())) oldest_.pop_front();
    if (oldest_.size() > 2 * most_open)
      std::erase_if(oldest_, [&](const auto& key) { return !operations_.contains(key); });
    Operation& of = at->second;
    // The kind is that of the lowest process, and regions of the others are the same.
    if (of.operation.parts.empty() || process < of.first_process) {
      of.operation.region = operation.region;
      of.operation.exchange = operation.exchange;
    }
    of.operation.communicator = operation.communicator;
    of.operation.ordinal = operation.ordinal;
    of.operation.parts.insert(of.operation.parts.end(), operation.parts.begin(), operation.parts.end());
    of.parts += parts;
    of.has_own |= process == distribution_.process();
    of.first_process = std::min(of.first_process, process);
    if (of.parts < size) {
      if (of.parts >= members_[static_cast<std::size_t>(operation.communicator)].in_trace) leave_out(at);
      while (operations_.size() > most_open) leave_oldest_out();
      return;
    }
    search_.counts_.collectives += of.first_process == distribution_.process();
    if (of.has_own) {
      if (of.operation.exchange == trace::Exchange::Prefix) search_.collectives_.set_positions(of.operation);
      search_.collective(of.operation);
    }
    operations_.erase(at);
  }

  /// Drops an operation of which not all parts are in the trace. One process counts it.
  void leave_out(Operations::iterator at) {
    search_.counts_.collectives_left_out += at->second.first_process == distribution_.process();
    operations_.erase(at);
  }
  void leave_oldest_out() {
    const auto at = operations_.find(oldest_.front());
    oldest_.pop_front();
    if (at != operations_.end()) leave_out(at);
  }
  void finish_operations() {
    while (!operations_.empty()) leave_out(operations_.begin());
  }

  // ---- the end ----

  void gather_job_wide() {
    WireWriter writer;
    writer.put(search_.init_);
    writer.put(search_.finalize_);
    const std::vector<std::string> all = team_.all_to_all(std::vector(outgoing_.size(), writer.take()));
    for (int process = 0; process < distribution_.processes(); ++process) {
      if (process == distribution_.process()) continue;
      WireReader reader(all[static_cast<std::size_t>(process)]);
      for (const Call& call : reader.get_all<Call>()) search_.init_.push_back(call);
      for (const Call& call : reader.get_all<Call>()) search_.finalize_.push_back(call);
    }
    // If a job makes more of these calls, the first ones count.
    for (std::vector<Call>* calls : {&search_.init_, &search_.finalize_}) {
      std::ranges::stable_sort(*calls, {}, &Call::leave_ns);
      if (calls->size() > search_.processes_) calls->resize(search_.processes_);
    }
  }

  /// Sends the findings of all processes to the first one.
  void gather() {
    std::vector<std::string> messages(outgoing_.size());
    if (distribution_.process() != 0) messages[0] = own_findings();
    const std::vector<std::string> all = team_.all_to_all(std::move(messages));
    if (distribution_.process() != 0) return;
    for (int process = 1; process < distribution_.processes(); ++process) {
      WireReader reader(all[static_cast<std::size_t>(process)]);
      add_findings(reader);
    }
    search_.counts_.known_messages = search_.counts_.messages.share_of_pairs();
  }

  std::string own_findings() const {
    WireWriter writer;
    const SearchCounts& counts = search_.counts_;
    writer.put(counts.messages);
    writer.put(counts.collectives);
    writer.put(counts.collectives_left_out);
    writer.put(counts.window_epochs);
    writer.put(counts.window_epochs_left_out);
    writer.put(counts.violations);
    writer.put(counts.gaps);
    writer.put(counts.gaps_within);
    writer.put(std::uint64_t{search_.trace_.damage().count()});
    writer.put(search_.trace_.archive() ? search_.trace_.archive()->take_left_out()
                                        : std::vector<trace::Otf2Archive::LeftOutRecords>());
    writer.put(std::uint64_t{search_.loops_.size()});
    for (const std::string& loop : search_.loops_) writer.put(loop);
    // Each process numbers the call paths of an archive as it finds them.
    const trace::Otf2Archive* archive = search_.trace_.archive();
    const auto paths = archive ? static_cast<std::uint32_t>(archive->paths().size()) : 0;
    writer.put(paths);
    for (std::uint32_t path = 0; path < paths; ++path) {
      writer.put(archive->paths()[path].parent);
      writer.put(archive->paths()[path].region);
    }
    for (const std::uint32_t location : own_) {
      const Findings::OfLocation& of = search_.findings_.locations()[location];
      writer.put(location);
      writer.put(std::uint64_t{of.cells.size()});
      for (const Findings::Cell& cell : of.cells) {
        writer.put(cell.path);
        writer.put(cell.visits);
        writer.put(cell.messages);
        writer.put(cell.bytes);
        writer.put(cell.values);
      }
      writer.put(of.spans);
      writer.put(of.rows);
      writer.put(of.span);
      writer.put(of.first_ns);
      writer.put(of.last_ns);
      writer.put(of.missing_ns);
      writer.put(of.counted_until_ns);
    }
    writer.put(trace::no_path);
    return writer.take();
  }

  void add_findings(WireReader& reader) {
    SearchCounts& counts = search_.counts_;
    const auto messages = reader.get<trace::MessageCounts>();
    counts.messages.sends += messages.sends;
    counts.messages.receives += messages.receives;
    counts.messages.paired += messages.paired;
    for (std::size_t reason = 0; reason < messages.left_out.size(); ++reason)
      counts.messages.left_out[reason] += messages.left_out[reason];
    counts.collectives += reader.get<std::uint64_t>();
    counts.collectives_left_out += reader.get<std::uint64_t>();
    counts.window_epochs += reader.get<std::uint64_t>();
    counts.window_epochs_left_out += reader.get<std::uint64_t>();
    counts.violations += reader.get<std::uint64_t>();
    counts.gaps += reader.get<std::uint64_t>();
    counts.gaps_within += reader.get<std::uint64_t>();
    counts.damages += reader.get<std::uint64_t>();
    for (const auto& of : reader.get_all<trace::Otf2Archive::LeftOutRecords>())
      if (search_.trace_.archive()) search_.trace_.archive()->leave_out(of.location, of.kind, of.records);
    std::vector<std::uint16_t> loops;
    for (auto left = reader.get<std::uint64_t>(); left > 0; --left)
      loops.push_back(search_.loop_index(reader.get_text()));
    const trace::Otf2Archive* archive = search_.trace_.archive();
    std::vector<std::uint32_t> paths;
    for (auto left = reader.get<std::uint32_t>(); left > 0; --left) {
      const auto parent = reader.get<std::uint32_t>(), region = reader.get<std::uint32_t>();
      paths.push_back(archive->paths().child_of(parent < paths.size() ? paths[parent] : trace::no_path, region));
    }
    for (auto location = reader.get<std::uint32_t>(); location != trace::no_path;
         location = reader.get<std::uint32_t>()) {
      if (location >= search_.trace_.locations().size()) throw ProcessError("a location that is not in the trace");
      Findings::OfLocation& of = search_.findings_.of(location);
      for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
        const auto path = reader.get<std::uint32_t>();
        Findings::Cell& cell = Findings::cell(of, path < paths.size() ? paths[path] : path);
        cell.visits = reader.get<std::uint64_t>();
        cell.messages = reader.get<std::uint64_t>();
        cell.bytes = reader.get<std::uint64_t>();
        cell.values = reader.get_all<Findings::Value>();
      }
      of.spans = reader.get_all<SpanEnd>();
      for (SpanEnd& span : of.spans) span.loop = span.loop < loops.size() ? loops[span.loop] : 0;
      of.rows = reader.get_all<Findings::Row>();
      of.span = reader.get<std::uint32_t>();
      of.first_ns = reader.get<std::int64_t>();
      of.last_ns = reader.get<std::int64_t>();
      of.missing_ns = reader.get<std::int64_t>();
      of.counted_until_ns = reader.get<std::int64_t>();
    }
  }

  Search& search_;
  SearchProcesses& team_;
  const Distribution& distribution_;
  const std::vector<std::uint32_t> own_;
  std::optional<trace::Trace::Reader> reader_;  ///< nullopt: everything was read
  Queue<Ahead> ahead_;                          ///< ascending by time
  Queue<trace::Event> others_;                  ///< the other events of `ahead_`, in their order
  trace::Event event_;
  std::vector<std::vector<Open>> stacks_;       ///< by location, at the reading position
  std::vector<std::uint32_t> spans_;            ///< likewise, the number that have ended
  std::vector<Outgoing> outgoing_;              ///< by process
  std::vector<Distribution::Members> members_;  ///< by communicator
  Queue<Incoming> incoming_;                    ///< ascending by time
  Operations operations_;
  std::deque<Operations::key_type> oldest_;  ///< keys of `operations_`, and of operations that are done
};

void Search::run(SearchProcesses& processes, const Progress& progress) { Rounds(*this, processes).run(progress); }

}  // namespace refrain::patterns
