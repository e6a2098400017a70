#include "offline/patterns/search.hpp"

#include <algorithm>
#include <set>

#include "format/checksum.hpp"
#include "format/hashing.hpp"
#include "offline/patterns/dependences.hpp"
#include "offline/patterns/messages.hpp"
#include "offline/patterns/threads.hpp"
#include "offline/patterns/windows.hpp"

namespace refrain::patterns {

using events::Kind;
using trace::CallClass;
using trace::Type;

bool is_sample_of_iterations(const trace::Trace& trace) {
  const auto is_sampled = [](const trace::RankOfTrace& rank) { return rank.mode == format::EventMode::Sampled; };
  // If no level is above 0, all iterations are there.
  return std::ranges::any_of(trace.ranks(), is_sampled) &&
         std::ranges::any_of(trace.levels(), [](const auto& of) { return of.second > 0; });
}

Search::Search(const trace::Trace& trace, bool by_span, const SearchLimits& limits, Findings::IsWanted wanted)
    : trace_(trace),
      limits_(limits),
      findings_(trace.locations().size(), by_span, std::move(wanted)),
      worst_(trace.locations().size()),
      here_(trace.locations().size()),
      collectives_(trace, [this](const trace::CollectiveOperation& operation) { collective(operation); }) {
  for (const trace::RegionOfTrace& region : trace.regions()) {
    const bool is_mpi = region.paradigm == trace::Paradigm::Mpi;
    trace::FunctionOfMpi function = trace::function_of_mpi(region.name);
    if (!is_mpi) function = {CallClass::NotMpi};
    else if (function.call_class == CallClass::NotMpi) function.call_class = CallClass::OtherMpi;
    if (!is_mpi && (region.role == trace::Role::FileIo || region.role == trace::Role::FileIoMetadata))
      function.call_class = CallClass::OtherIo;
    functions_.push_back(function);
  }
  std::set<std::int32_t> ranks;
  for (const trace::LocationOfTrace& of : trace.locations())
    if (of.rank >= 0) ranks.insert(of.rank);
  processes_ = ranks.size();
  counts_.is_sample = is_sample_of_iterations(trace);
  messages_ = std::make_unique<Messages>(*this);
  windows_ = std::make_unique<Windows>(*this);
}

Search::~Search() = default;

void Search::distribute(int process, int processes) {
  distribution_.emplace(trace_, process, processes);
  messages_ = std::make_unique<Messages>(*this);
  windows_ = std::make_unique<Windows>(*this);
}

void Search::follow_threads() {
  if (threads_) return;
  auto threads = std::make_unique<Threads>(*this);
  if (threads->are_there()) threads_ = std::move(threads);
}

void Search::run(const Progress& progress) {
  constexpr std::uint64_t events_for_progress = 1 << 20;
  std::uint64_t count = 0;
  const bool publishes_all = !std::get<Subscribers<Primitive>>(subscribers_).empty();
  auto reader = trace_.read();
  while (const trace::Event* event = reader.next()) {
    if (progress && count % events_for_progress == 0) progress(event->time_ns);
    if (publishes_all) [[unlikely]]
      publish(Primitive{*event, count});
    ++count;
    take(*event);
  }
  finish();
}

void Search::finish() {
  finish_events();
  windows_->finish();
  findings_.finish();
  count();
}

void Search::take(const trace::Event& event) {
  Here& here = here_[event.location];
  if (here.is_in_gap) [[unlikely]]
    end_gap(event.location, event.time_ns);
  if (threads_) [[unlikely]]
    threads_->before(event);
  switch (event.type) {
    case Type::Enter: enter(event, here); break;
    case Type::Leave: leave(event, here); break;
    case Type::Communication: communication(event, here); break;
    case Type::SpanEnd: span_end(event, here); break;
    case Type::Sample: sample(event, here); break;
    case Type::Gap: gap(event, here); break;
    default: break;
  }
  if (threads_) [[unlikely]]
    threads_->after(event);
  if (here.first_ns > here.last_ns) [[unlikely]]
    here.first_ns = event.time_ns;
  here.last_ns = event.time_ns;
}

void Search::finish_events() {
  for (std::uint32_t location = 0; location < here_.size(); ++location)
    if (here_[location].is_in_gap) end_gap(location, std::max(trace_.end_ns(), here_[location].gap_begin_ns));
  if (threads_) threads_->finish();
  for (std::uint32_t location = 0; location < here_.size(); ++location) {
    findings_.of(location).first_ns = here_[location].first_ns;
    findings_.of(location).last_ns = here_[location].last_ns;
  }
  messages_->finish();
  collectives_.finish();
  for (const std::vector<Call>* calls : {&init_, &finalize_})
    if (calls->size() != processes_)
      for (const Call& of : *calls) add_untold(untold_others, of);
}

void Search::count() {
  counts_.messages = messages_->counts();
  counts_.known_messages = counts_.messages.share_of_pairs();
  counts_.violations = messages_->violations();
  counts_.collectives += collectives_.whole();
  counts_.collectives_left_out += collectives_.left_out();
}

/// Ends a call whose end is not known: it waited for nothing.
void Search::abandon(const Frame& frame) {
  std::vector<WindowUse>& uses = here_[frame.call.location].window_uses;
  if (frame.uses_window && !uses.empty()) uses.pop_back();
  Call call = frame.call;
  call.leave_ns = call.enter_ns;
  if (frame.node != 0) messages_->leave(call, frame.node);
}

/// Nothing is known about the location until its next event.
void Search::gap(const trace::Event& event, Here& here) {
  ++counts_.gaps;
  here.has_gap = true;
  here.is_in_gap = true;
  here.gap_begin_ns = event.time_ns;
  messages_->begin_gap(event.location);
  windows_->forget(event.location);
  publish(Break{event.location, event.time_ns});
  // In an experiment all calls are complete.
  if (!trace_.archive()) return;
  for (const Frame& frame : std::exchange(here.stack, {})) abandon(frame);
  here.window_uses.clear();
  collectives_.abandon(event.location);
}

void Search::end_gap(std::uint32_t location, std::int64_t ns) {
  Here& here = here_[location];
  here.is_in_gap = false;
  messages_->end_gap(location, ns);
  publish(Break{location, ns});
  const std::int64_t begin = std::max(here.gap_begin_ns, limits_.from_ns), end = std::min(ns, limits_.to_ns);
  if (begin > end) return;
  findings_.of(location).missing_ns += end - begin;
  counts_.gaps_within += 1;
}

void Search::enter(const trace::Event& event, Here& here) {
  Frame& frame = here.stack.emplace_back();
  const std::uint32_t region = trace_.region_index(event.path);
  frame.call.location = event.location;
  frame.call.path = event.path;
  frame.call.region = region;
  frame.call.call_class = region < functions_.size() ? functions_[region].call_class : CallClass::NotMpi;
  frame.call.span = findings_.span(event.location);
  frame.call.enter_ns = event.time_ns;
}

namespace {

bool is_of_one_process(const trace::Trace& trace, const trace::Event& event) {
  const trace::Communicators& communicators = trace.communicators();
  const std::int32_t index = communicators.index_of(trace.locations()[event.location].rank, event.record.communicator);
  return index >= 0 && communicators.all()[static_cast<std::size_t>(index)].is_self;
}

}  // namespace

/// Records a one-sided operation or a synchronization.
void Search::use_window(const trace::Event& event, Frame& frame, Here& here) {
  const events::Record& r = event.record;
  const std::int32_t rank = trace_.locations()[event.location].rank;
  WindowUse use{trace_.window_index(rank, r.communicator), -1, r.tag == events::exclusive_lock, r.ordinal};
  if (use.window < 0 || static_cast<std::size_t>(use.window) >= trace_.windows().size()) return;
  const std::int32_t communicator = trace_.windows()[static_cast<std::size_t>(use.window)].communicator;
  if (communicator >= 0 && r.peer >= 0) {
    const auto& members = trace_.communicators().all()[static_cast<std::size_t>(communicator)].members;
    if (static_cast<std::size_t>(r.peer) < members.size()) use.target = members[static_cast<std::size_t>(r.peer)];
  }
  if (frame.uses_window) here.window_uses.back() = use;
  else here.window_uses.push_back(use);
  frame.uses_window = true;
}

void Search::communication(const trace::Event& event, Here& here) {
  if (here.stack.empty()) return;
  Frame& frame = here.stack.back();
  if (events::is_message(event.record.kind)) {
    if (is_about_messages_) messages_->add(event, frame.call, frame.node);
    frame.completes_message = true;
    if (!events::has_number(event.record.kind, event.record.phase)) return;  // its other event counts
    ++frame.messages;
    frame.bytes +=
        static_cast<std::uint64_t>(std::max<std::int64_t>(event.record.bytes_sent + event.record.bytes_received, 0));
  } else if (event.record.kind == Kind::Collective) {
    const events::Record& r = event.record;
    if (is_about_collectives_) collectives_.add(event, {frame.call.enter_ns, frame.call.path, frame.call.span});
    frame.is_with_other_processes |= tells_untold() && !is_of_one_process(trace_, event);
    if (r.phase != events::Phase::Whole && r.phase != events::Phase::Completed) return;
    const std::uint32_t begun =
        r.phase == events::Phase::Whole ? event.path : trace_.path_of(event.location, r.begun_thread, r.begun_node);
    const std::uint32_t region = trace_.region_index(begun);
    const CallClass of = region < functions_.size() && functions_[region].call_class == CallClass::Barrier
                             ? CallClass::Barrier
                             : CallClass::Collective;
    frame.completes_both = frame.completes_collective && frame.collective_class != of;
    frame.completes_collective = true;
    frame.collective_class = frame.completes_both ? CallClass::Collective : of;
  } else if (is_about_windows_ && events::is_of_window(event.record.kind) &&
             event.record.phase <= events::Phase::Begun && !trace_.archive()) {
    use_window(event, frame, here);
  }
}

void Search::leave(const trace::Event& event, Here& here) {
  std::vector<Frame>& stack = here.stack;
  // After a gap, calls may end whose start was not seen.
  while (!stack.empty() && stack.back().call.path != event.path) {
    if (std::ranges::find(stack, event.path, [](const Frame& of) { return of.call.path; }) == stack.end()) return;
    abandon(stack.back());
    stack.pop_back();
  }
  if (stack.empty()) return;
  // The frame stays on the stack until all is done: nothing below looks at the stack.
  Frame& frame = stack.back();
  Call& call = frame.call;
  call.leave_ns = event.time_ns;
  if (!trace_.archive()) call.off_cpu_ns = std::clamp<std::int64_t>(event.record.value, 0, call.time_ns());
  // Waiting for a collective operation is part of the operation.
  if (frame.completes_collective && !frame.completes_message && call.call_class == CallClass::PointToPoint)
    call.call_class = frame.collective_class;
  if (stack.size() > 1) stack[stack.size() - 2].call.inner_ns += call.time_ns();
  if (is_within(call.enter_ns))
    findings_.add_call(static_cast<Quantity>(call.call_class), call.location, call.path, call.span,
                       call.time_ns() - call.inner_ns, frame.messages, frame.bytes);
  if (tells_untold()) note_untold(frame, call);
  collectives_.leave(event, call.enter_ns, call.inner_ns, frame.completes_message || frame.completes_both);
  if (is_within(call.enter_ns) && call.call_class != CallClass::NotMpi) {
    std::int64_t& until = findings_.of(call.location).counted_until_ns;
    until = std::max(until, call.leave_ns);
  }
  publish(call);
  if (frame.node != 0) messages_->leave(call, frame.node);
  if (frame.uses_window) {
    const WindowUse use = here.window_uses.back();
    here.window_uses.pop_back();
    windows_->leave(call, use,
                    call.region < functions_.size() ? functions_[call.region].window_step : trace::WindowStep::None);
  }
  using trace::JobCall;
  const JobCall job_call = call.region < functions_.size() ? functions_[call.region].job_call : JobCall::None;
  if (job_call != JobCall::None) job_wide(call, job_call == JobCall::Init);
  stack.pop_back();
}

/// Calls with messages are left to Messages. A collective operation counts as untold until all of its parts are there.
void Search::note_untold(const Frame& frame, const Call& call) {
  const bool is_untold = frame.completes_collective ? frame.is_with_other_processes
                                                    : !frame.completes_message && call.region < functions_.size() &&
                                                          functions_[call.region].waits_untold;
  if (is_untold) add_untold(untold_others, call);
}

void Search::sample(const trace::Event& event, const Here& here) const {
  const auto is_mpi = [](const Frame& of) { return of.call.call_class != CallClass::NotMpi; };
  if (event.path == trace::no_path || std::ranges::any_of(here.stack, is_mpi)) return;
  publish(Sampled{event.location, event.path, event.time_ns, event.record.value});
}

std::uint16_t Search::loop_index(const std::string& loop) {
  const auto at = std::ranges::find(loops_, loop);
  const auto index = static_cast<std::uint16_t>(at - loops_.begin());
  if (at == loops_.end()) loops_.push_back(loop);
  return index;
}

std::uint64_t Search::iteration_of(std::uint32_t location, std::uint32_t span) {
  if (!counts_.is_sample) return 0;
  std::optional<std::vector<std::uint64_t>>& all = here_[location].iterations;
  if (!all) {
    all.emplace();
    auto reader = trace_.read({{location}});
    while (const trace::Event* event = reader.next()) {
      if (event->type != Type::SpanEnd) continue;
      const std::string loop = trace_.loop_of(*event);
      const std::uint64_t number = format::mixed(static_cast<std::uint64_t>(event->record.value));
      all->push_back(loop.empty() ? 0 : format::mixed(number ^ format::checksum(loop.data(), loop.size())) | 1);
    }
  }
  return span < all->size() ? (*all)[span] : 0;
}

void Search::span_end(const trace::Event& event, Here& here) {
  SpanEnd end;
  end.loop = loop_index(trace_.loop_of(event));
  end.number = event.record.value;
  if (!trace_.archive()) end.ns = event.time_ns - trace_.time_of(event.location, event.record.begin);
  if (!trace_.archive() && event.record.region == events::stretches) {
    const std::int32_t thread = trace_.locations()[event.location].thread;
    end.closed = trace_.path_of(event.location, thread, event.record.node);
    if (event.record.begun_node != events::no_node)
      end.opened = trace_.path_of(event.location, thread, event.record.begun_node);
  }
  end.is_whole = !here.has_gap;
  here.has_gap = false;
  worst_.end_span(event.location, findings_.span(event.location), end);
  findings_.end_span(event.location, end);
  here.span_begin_ns = event.time_ns;
  // The next kept span may not be the one that follows.
  if (counts_.is_sample && trace_.locations()[event.location].thread == 0) windows_->forget(event.location);
  if (counts_.is_sample) publish(Break{event.location, event.time_ns});
}

void Search::collective(const trace::CollectiveOperation& operation) {
  std::int64_t last = INT64_MIN, first = INT64_MAX;
  for (const trace::CollectivePart& part : operation.parts) {
    last = std::max(last, part.begin_ns);
    first = std::min(first, part.leave_ns);
    if (part.is_with_others || operation.exchange == trace::Exchange::None || !tells_untold()) continue;
    const Call call = call_of(part);
    add(untold_others, call, -((call.time_ns() - call.inner_ns) / part.together));
  }
  publish(Collective{operation, last, first});
}

void Search::job_wide(const Call& call, bool is_init) {
  std::vector<Call>& calls = is_init ? init_ : finalize_;
  calls.push_back(call);
  if (!distribution_) publish_job_wide(is_init);
}

void Search::publish_job_wide(bool is_init) {
  const std::vector<Call>& calls = is_init ? init_ : finalize_;
  if (calls.size() != processes_) return;
  std::int64_t last = INT64_MIN;
  for (const Call& of : calls) last = std::max(last, of.enter_ns);
  publish(JobWide{is_init, calls, last});
}

}  // namespace refrain::patterns
