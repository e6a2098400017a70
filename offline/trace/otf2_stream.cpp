#include "offline/trace/otf2_stream.hpp"

#include <algorithm>
#include <cmath>
#include <otf2/OTF2_Definitions.h>
#include <otf2/OTF2_Events.h>

#include "offline/trace/open_requests.hpp"

namespace refrain::trace {

using events::Kind;
using events::Phase;

namespace {

/// These records consist of one number, without a size.
constexpr bool is_single(Otf2Event kind) {
  switch (kind) {
    case Otf2Event::Enter:
    case Otf2Event::Leave:
    case Otf2Event::MpiIsendComplete:
    case Otf2Event::MpiIrecvRequest:
    case Otf2Event::MpiRequestTest:
    case Otf2Event::MpiRequestCancelled:
    case Otf2Event::OmpFork:
    case Otf2Event::OmpTaskCreate:
    case Otf2Event::OmpTaskSwitch:
    case Otf2Event::OmpTaskComplete: return true;
    default: return false;
  }
}

std::int32_t peer_of(std::uint32_t rank) {
  return rank <= std::uint32_t{std::numeric_limits<std::int32_t>::max()} ? static_cast<std::int32_t>(rank)
                                                                         : events::no_peer;
}

std::int32_t root_of(std::uint32_t root) {
  return root == OTF2_COLLECTIVE_ROOT_SELF ? events::this_side : peer_of(root);
}

constexpr std::size_t deepest_stack = std::size_t{1} << 20;  ///< for regions that are never left
constexpr std::size_t known_size = 512;

}  // namespace

Otf2Stream::Otf2Stream(const Otf2Archive& archive, std::uint32_t location, std::int64_t from_ns, bool with_state)
    : archive_(archive),
      location_(location),
      file_(archive.file_of(location, ".evt"), archive.anchor().event_chunk),
      own_(read_otf2_of_location(archive.file_of(location, ".def"), archive.anchor(), *archive.damage_log())),
      time_ns_(std::numeric_limits<std::int64_t>::min()),
      known_paths_(known_size) {
  if (!archive.loop_of_region().empty()) iteration_begin_ns_.assign(archive.loops().size(), time_ns_);
  is_over_ = !file_.is_there() && archive.events_of(location) == 0;
  if (is_over_) return;
  find_chunk(with_state ? time_ns_ : from_ns);
}

Otf2Stream::~Otf2Stream() {
  for (unsigned kind = 0; kind < 256; ++kind)
    if (left_out_[kind] > 0) archive_.leave_out(location_, static_cast<std::uint8_t>(kind), left_out_[kind]);
}

/// Opens the last chunk that begins before `from_ns`.
void Otf2Stream::find_chunk(std::int64_t from_ns) {
  std::uint64_t begin = 0, end = file_.chunks();
  while (end - begin > 1) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    std::uint64_t time = 0;
    clock_interval_ = 0;
    const bool is_before = file_.time_of_chunk(middle, time) && archive_.time_of(corrected(time)) < from_ns;
    (is_before ? begin : end) = middle;
  }
  clock_interval_ = 0;
  if (file_.open_chunk(begin)) read_ = file_.first_event() > 0 ? file_.first_event() - 1 : 0;
  else is_over_ = !fail();
}

void Otf2Stream::make_some() {
  constexpr std::size_t enough = 64, most_in_collective = 4096;
  collective_ = none;
  while (!is_over_ && (count() < enough || (collective_ != none && count() < most_in_collective)))
    if (!step()) is_over_ = true;
}

/// Reads one record. False: there are no more.
bool Otf2Stream::step() {
  constexpr std::size_t head_of_record = 16;
  Otf2Bytes in = file_.ahead(head_of_record);
  const std::uint8_t type = in.u8();
  if (!in.is_good()) return fail();
  switch (type) {
    case otf2_timestamp: {
      const std::uint64_t ticks = in.full64();
      if (!in.is_good()) return fail();
      file_.skip_to(in.at());
      set_time(ticks);
      return true;
    }
    case otf2_end_of_chunk: return next_chunk();
    case otf2_end_of_file:
    case otf2_end_of_buffer: return finish();
    case otf2_attributes: {
      const Otf2Bytes record = file_.record_ahead(in, 1);
      if (!record.is_good()) return fail();
      file_.skip_to(record.at() + record.left());
      return true;
    }
    default: break;
  }
  if (type < static_cast<std::uint8_t>(Otf2Event::BufferFlush)) return fail();
  const auto kind = static_cast<Otf2Event>(type);
  const std::size_t before = count();
  if (is_single(kind)) {
    take(kind, in);
    if (!in.is_good()) {
      keep(before);
      return fail();
    }
    file_.skip_to(in.at());
  } else {
    Otf2Bytes record = file_.record_ahead(in, 1);
    if (!record.is_good()) return fail();
    const std::byte* end = record.at() + record.left();
    take(kind, record);
    if (!record.is_good()) {
      keep(before);
      return fail();
    }
    file_.skip_to(end);
  }
  ++read_;
  return true;
}

bool Otf2Stream::next_chunk() {
  const std::uint64_t next = file_.chunk() + 1;
  if (next >= file_.chunks()) return fail();
  if (!file_.open_chunk(next) || file_.first_event() != read_ + 1) return fail();
  return true;
}

bool Otf2Stream::fail() {
  const std::uint64_t last = file_.last_event(), all = archive_.events_of(location_);
  is_damaged_ = true;
  const std::string place = file_.path().string() + ": at byte " + std::to_string(file_.position());
  archive_.damage_log()->add(file_.is_there() ? place + ": the events are damaged or end here"
                                              : file_.path().string() + ": there are no events in it",
                             "events of this location");
  if (collective_ != none && collective_ >= count()) collective_ = none;
  for (std::uint64_t chunk = file_.chunk() + 1; chunk < file_.chunks(); ++chunk) {
    if (!file_.open_chunk(chunk)) continue;
    const std::uint64_t next = file_.first_event();
    emit_gap(next > read_ && next - read_ <= all ? next - read_ - 1 : 0);
    read_ = next > 0 ? next - 1 : 0;
    return true;
  }
  const std::uint64_t known_last = all > 0 ? all : last;
  emit_gap(known_last > read_ ? known_last - read_ : 0);
  (void)finish();
  return false;
}

bool Otf2Stream::finish() {
  const std::uint64_t all = archive_.events_of(location_);
  if (is_flushing_) end_flush(flush_end_ns_);
  if (all > read_ && !is_damaged_) {
    archive_.damage_log()->add(
        file_.path().string() + ": the file has " + std::to_string(read_) + " events of " + std::to_string(all),
        "the others");
    emit_gap(all - read_);
  }
  return false;
}

// Times

std::uint64_t Otf2Stream::corrected(std::uint64_t ticks) {
  if (own_.clock.empty()) return ticks;
  while (clock_interval_ + 1 < own_.clock.size() && ticks > own_.clock[clock_interval_].end) ++clock_interval_;
  const Otf2OfLocation::ClockInterval& interval = own_.clock[clock_interval_];
  const double since = ticks >= interval.begin ? static_cast<double>(ticks - interval.begin)
                                               : -static_cast<double>(interval.begin - ticks);
  constexpr double most = 4.6e18;
  const double offset = std::rint(std::clamp(interval.slope * since, -most, most));
  return ticks + static_cast<std::uint64_t>(interval.offset) +
         static_cast<std::uint64_t>(static_cast<std::int64_t>(offset));
}

void Otf2Stream::set_time(std::uint64_t ticks) {
  const std::int64_t ns = archive_.time_of(corrected(ticks));
  if (is_flushing_) end_flush(ns);
  time_ns_ = std::max(time_ns_, ns);
}

void Otf2Stream::end_flush(std::int64_t before_ns) {
  is_flushing_ = false;
  time_ns_ = std::max(time_ns_, std::min(flush_end_ns_, before_ns));
  emit(Type::FlushEnd).path = no_path;
}

// Events

Event& Otf2Stream::emit(Type type) {
  // In a damaged file an event may have no time.
  if (time_ns_ == std::numeric_limits<std::int64_t>::min()) [[unlikely]]
    time_ns_ = 0;
  Event& event = add();
  event.type = type;
  event.location = location_;
  event.time_ns = time_ns_;
  event.path = top();
  event.record = {};
  event.record.time = time_ns_;
  return event;
}

Event& Otf2Stream::emit(Kind kind, Phase phase) {
  Event& event = emit(Type::Communication);
  event.record.kind = kind;
  event.record.phase = phase;
  event.record.node = event.path;
  return event;
}

void Otf2Stream::emit_gap(std::uint64_t records) {
  Event& event = emit(Type::Gap);
  event.path = no_path;
  event.record.kind = Kind::Gap;
  event.record.value = static_cast<std::int64_t>(records);
  stack_.clear();
}

std::uint32_t Otf2Stream::child_of(std::uint32_t parent, std::uint32_t region) {
  Known& known = known_paths_[(parent * 31 + region * 7919) % known_size];
  if (known.region != region || known.parent != parent)
    known = {parent, region, archive_.paths().child_of(parent, region)};
  return known.path;
}

void Otf2Stream::enter(Open open) {
  if (stack_.size() < deepest_stack) stack_.push_back(open);
  Event& event = emit(Type::Enter);
  event.path = event.record.node = open.path;
  if (iteration_begin_ns_.empty()) return;
  const std::uint32_t loop = archive_.loop_of_region()[open.region];
  if (loop != ReferenceMap::none) iteration_begin_ns_[loop] = time_ns_;
}

void Otf2Stream::enter(std::uint32_t region) { enter(Open{region, child_of(top(), region)}); }

/// Leaves the regions within it, too, that were not left themselves.
void Otf2Stream::leave(std::uint32_t region) {
  auto open = stack_.end();
  while (open != stack_.begin() && std::prev(open)->region != region) --open;
  std::uint32_t path = 0;
  if (open == stack_.begin()) {
    path = child_of(no_path, region);
  } else {
    path = std::prev(open)->path;
    stack_.erase(std::prev(open), stack_.end());
  }
  Event& event = emit(Type::Leave);
  event.path = event.record.node = path;
}

void Otf2Stream::begin_collective(Type type) {
  if (type == Type::Communication) (void)emit(Kind::Collective, Phase::Begun);
  else (void)emit(type);
  collective_ = count() - 1;
}

Event& Otf2Stream::end_collective(Type type) {
  if (collective_ != none && collective_ < count() && at(collective_).type == type) {
    Event& event = at(std::exchange(collective_, none));
    event.record.phase = Phase::Whole;
    return event;
  }
  return type == Type::Communication ? emit(Kind::Collective, Phase::Completed) : emit(type);
}

void Otf2Stream::begin(Event& event, const RequestKey& key) {
  event.record.request = key.number;
  if (begun_.size() >= most_open_requests(1))
    forget_older_half(
        begun_, [](const auto& begun) { return begun.second.time_ns; }, [](const auto&) {});
  const events::Record& r = event.record;
  begun_[key] = {r.kind, r.peer, r.tag, r.communicator, event.path, time_ns_};
}

Event& Otf2Stream::complete(const RequestKey& key, Phase phase, Kind kind) {
  const auto at = begun_.find(key);
  const bool is_known = at != begun_.end();
  const Begun known = is_known ? at->second : Begun{kind, events::no_peer, 0, -1, no_path, 0};
  if (is_known) begun_.erase(at);
  Event& event = emit(known.kind, phase);
  event.record.request = key.number;
  event.record.begun_thread = archive_.locations()[location_].thread;
  event.record.begun_node = known.path;
  event.record.peer = known.peer;
  event.record.tag = known.tag;
  event.record.communicator = known.communicator;
  return event;
}

// References

std::uint64_t Otf2Stream::global(unsigned kind_of_reference, std::uint64_t reference) const {
  const auto& map = own_.global[kind_of_reference];
  if (map.empty()) return reference;
  const auto at = map.find(reference);
  return at == map.end() ? reference : at->second;
}

std::uint32_t Otf2Stream::region_index(std::uint32_t reference) const {
  const std::uint32_t index = archive_.region_of()[global(OTF2_MAPPING_REGION, reference)];
  return index == ReferenceMap::none ? 0 : index;
}

std::int32_t Otf2Stream::communicator_index(std::uint32_t reference) const {
  return static_cast<std::int32_t>(archive_.communicator_of()[global(OTF2_MAPPING_COMM, reference)]);
}

std::int32_t Otf2Stream::window_index(std::uint32_t reference) const {
  return static_cast<std::int32_t>(archive_.window_of()[global(OTF2_MAPPING_RMA_WIN, reference)]);
}

// Records, field by field in the order of the file

void Otf2Stream::take(Otf2Event kind, Otf2Bytes& in) {
  switch (kind) {
    case Otf2Event::Enter: return enter(region_index(in.u32()));
    case Otf2Event::Leave: return leave(region_index(in.u32()));
    case Otf2Event::BufferFlush: {
      const std::uint64_t end = in.full64();
      if (is_flushing_) end_flush(flush_end_ns_);
      emit(Type::FlushBegin).path = no_path;
      flush_end_ns_ = archive_.time_of(corrected(end));
      is_flushing_ = true;
      return;
    }
    case Otf2Event::MeasurementOnOff: {
      const bool is_on = in.u8() == OTF2_MEASUREMENT_ON;
      Event& event = emit(is_on ? Type::GapEnd : Type::Gap);
      event.path = no_path;
      if (!is_on) event.record.kind = Kind::Gap;
      return;
    }
    case Otf2Event::MpiSend:
    case Otf2Event::MpiIsend: {
      const std::uint32_t receiver = in.u32(), communicator = in.u32(), tag = in.u32();
      const std::uint64_t bytes = in.u64();
      const bool is_whole = kind == Otf2Event::MpiSend;
      Event& event = emit(Kind::Send, is_whole ? Phase::Whole : Phase::Begun);
      event.record.peer = peer_of(receiver);
      event.record.communicator = communicator_index(communicator);
      event.record.tag = static_cast<std::int32_t>(tag);
      event.record.bytes_sent = static_cast<std::int64_t>(bytes);
      if (!is_whole) begin(event, {RequestKey::Message, 0, in.u64()});
      return;
    }
    case Otf2Event::MpiIrecvRequest: {
      const std::uint64_t request = in.u64();
      Event& event = emit(Kind::Receive, Phase::Begun);
      event.record.peer = events::any_peer;
      event.record.tag = events::any_tag;
      event.record.communicator = -1;
      return begin(event, {RequestKey::Message, 0, request});
    }
    case Otf2Event::MpiRecv:
    case Otf2Event::MpiIrecv: {
      const std::uint32_t sender = in.u32(), communicator = in.u32(), tag = in.u32();
      const std::uint64_t bytes = in.u64();
      Event& event = kind == Otf2Event::MpiRecv
                         ? emit(Kind::Receive, Phase::Whole)
                         : complete({RequestKey::Message, 0, in.u64()}, Phase::Completed, Kind::Receive);
      event.record.peer = peer_of(sender);
      event.record.communicator = communicator_index(communicator);
      event.record.tag = static_cast<std::int32_t>(tag);
      event.record.bytes_received = static_cast<std::int64_t>(bytes);
      return;
    }
    case Otf2Event::MpiIsendComplete:
      (void)complete({RequestKey::Message, 0, in.u64()}, Phase::Completed, Kind::Send);
      return;
    case Otf2Event::MpiRequestCancelled:
      (void)complete({RequestKey::Message, 0, in.u64()}, Phase::Cancelled, Kind::Receive);
      return;
    case Otf2Event::MpiRequestTest: {
      const std::uint64_t request = in.u64();
      emit(Type::RequestTest).record.request = request;
      return;
    }
    case Otf2Event::MpiCollectiveBegin: return begin_collective(Type::Communication);
    case Otf2Event::NonBlockingCollectiveRequest: {
      const std::uint64_t request = in.u64();
      Event& event = emit(Kind::Collective, Phase::Begun);
      event.record.peer = events::no_peer;
      event.record.communicator = -1;
      return begin(event, {RequestKey::Message, 0, request});
    }
    case Otf2Event::MpiCollectiveEnd:
    case Otf2Event::NonBlockingCollectiveComplete: {
      (void)in.u8();  // operation: its region says which
      const std::uint32_t communicator = in.u32(), root = in.u32();
      const std::uint64_t sent = in.u64(), received = in.u64();
      Event& event = kind == Otf2Event::MpiCollectiveEnd
                         ? end_collective(Type::Communication)
                         : complete({RequestKey::Message, 0, in.u64()}, Phase::Completed, Kind::Collective);
      event.record.peer = root_of(root);
      event.record.communicator = communicator_index(communicator);
      event.record.bytes_sent = static_cast<std::int64_t>(sent);
      event.record.bytes_received = static_cast<std::int64_t>(received);
      return;
    }
    case Otf2Event::CommCreate:
    case Otf2Event::CommDestroy: {
      const std::int32_t communicator = communicator_index(in.u32());
      emit(kind == Otf2Event::CommCreate ? Type::CommunicatorMade : Type::CommunicatorFreed).record.communicator =
          communicator;
      return;
    }
    case Otf2Event::CallingContextEnter:
    case Otf2Event::CallingContextLeave:
    case Otf2Event::CallingContextSample: {
      const auto context = static_cast<std::uint32_t>(global(OTF2_MAPPING_CALLING_CONTEXT, in.u32()));
      const std::uint32_t path = archive_.path_of_context()[context];
      const std::uint32_t region = archive_.paths()[path].region;
      if (kind == Otf2Event::CallingContextEnter) return enter(Open{region, path});
      if (kind == Otf2Event::CallingContextLeave) return leave(region);
      Event& event = emit(Type::Sample);
      event.path = event.record.node = path;
      event.record.kind = Kind::Sample;
      return;
    }
    case Otf2Event::ProgramBegin: {
      const std::uint64_t name = global(OTF2_MAPPING_STRING, in.u32());
      emit(Type::ProgramBegin).record.node = archive_.text_of()[name];
      return;
    }
    case Otf2Event::ProgramEnd: {
      const std::int64_t status = in.i64();
      emit(Type::ProgramEnd).record.value = status;
      return;
    }
    case Otf2Event::Metric: return take_metric(in);
    case Otf2Event::ParameterString:
    case Otf2Event::ParameterInt:
    case Otf2Event::ParameterUnsignedInt: return take_parameter(kind, in);
    default: break;
  }
  if (kind >= Otf2Event::RmaWinCreate && kind <= Otf2Event::RmaOpCompleteRemote) return take_rma(kind, in);
  if (kind >= Otf2Event::OmpFork && kind <= Otf2Event::ThreadEnd) return take_threads(kind, in);
  if (kind >= Otf2Event::IoCreateHandle && kind <= Otf2Event::IoTryLock) return take_io(kind, in);
  ++left_out_[static_cast<std::uint8_t>(kind)];
}

/// Makes an event for each value.
void Otf2Stream::take_metric(Otf2Bytes& in) {
  const auto reference = static_cast<std::uint32_t>(global(OTF2_MAPPING_METRIC, in.u32()));
  const std::vector<std::uint32_t>* metrics = archive_.metrics_of(reference);
  const std::uint8_t values = in.u8();
  for (std::uint8_t i = 0; i < values && in.is_good(); ++i) {
    (void)in.u8();  // type, as defined
    const std::uint64_t value = in.u64();
    Event& event = emit(Type::Metric);
    event.record.node = metrics && i < metrics->size() ? (*metrics)[i] : ReferenceMap::none;
    event.record.value = static_cast<std::int64_t>(value);
  }
}

void Otf2Stream::take_parameter(Otf2Event kind, Otf2Bytes& in) {
  const std::uint32_t parameter = archive_.parameter_of()[global(OTF2_MAPPING_PARAMETER, in.u32())];
  if (kind == Otf2Event::ParameterString) {
    const std::uint64_t text = global(OTF2_MAPPING_STRING, in.u32());
    Event& event = emit(Type::Parameter);
    event.record.node = parameter;
    event.record.is_whole = true;  // the value is a text
    event.record.value = archive_.text_of()[text];
    return;
  }
  const std::int64_t value = in.i64();
  const bool is_iteration = parameter < iteration_begin_ns_.size() && !archive_.loops()[parameter].empty();
  if (is_iteration && parameter < std::numeric_limits<std::uint16_t>::max()) {
    Event& event = emit(Type::SpanEnd);
    event.path = no_path;
    event.record.kind = Kind::Span;
    event.record.region = static_cast<std::uint16_t>(parameter + 1);
    event.record.begin = std::exchange(iteration_begin_ns_[parameter], time_ns_);
    event.record.value = value;
    return;
  }
  Event& event = emit(Type::Parameter);
  event.record.node = parameter;
  event.record.value = value;
}

void Otf2Stream::take_rma(Otf2Event kind, Otf2Bytes& in) {
  const auto of_window = [&](Type type, std::uint32_t window) -> Event& {
    Event& event = emit(type);
    event.record.communicator = window_index(window);
    event.record.peer = events::no_peer;
    return event;
  };
  switch (kind) {
    case Otf2Event::RmaWinCreate: (void)of_window(Type::WindowMade, in.u32()); return;
    case Otf2Event::RmaWinDestroy: (void)of_window(Type::WindowFreed, in.u32()); return;
    case Otf2Event::RmaCollectiveBegin: return begin_collective(Type::WindowCollective);
    case Otf2Event::RmaCollectiveEnd: {
      (void)in.u8();   // operation
      (void)in.u32();  // level of synchronization
      const std::uint32_t window = in.u32(), root = in.u32();
      const std::uint64_t sent = in.u64(), received = in.u64();
      Event& event = end_collective(Type::WindowCollective);
      event.record.communicator = window_index(window);
      event.record.peer = root_of(root);
      event.record.bytes_sent = static_cast<std::int64_t>(sent);
      event.record.bytes_received = static_cast<std::int64_t>(received);
      return;
    }
    case Otf2Event::RmaGroupSync:
      (void)in.u32();  // level
      (void)of_window(Type::WindowSync, in.u32());
      return;
    case Otf2Event::RmaSync:
    case Otf2Event::RmaRequestLock:
    case Otf2Event::RmaAcquireLock:
    case Otf2Event::RmaTryLock:
    case Otf2Event::RmaReleaseLock: {
      const std::uint32_t window = in.u32(), remote = in.u32();
      const std::uint64_t lock = kind == Otf2Event::RmaSync ? 0 : in.u64();
      Event& event = of_window(kind == Otf2Event::RmaSync          ? Type::WindowSync
                               : kind == Otf2Event::RmaRequestLock ? Type::WindowLockRequested
                               : kind == Otf2Event::RmaReleaseLock ? Type::WindowUnlocked
                                                                   : Type::WindowLocked,
                               window);
      event.record.peer = peer_of(remote);
      event.record.request = lock;
      return;
    }
    case Otf2Event::RmaPut:
    case Otf2Event::RmaGet:
    case Otf2Event::RmaAtomic: {
      const std::uint32_t window = in.u32(), remote = in.u32();
      if (kind == Otf2Event::RmaAtomic) (void)in.u8();  // kind of atomic operation
      const std::uint64_t first = in.u64(), second = kind == Otf2Event::RmaAtomic ? in.u64() : 0;
      Event& event = emit(Kind::OneSided, Phase::Begun);
      event.record.communicator = window_index(window);
      event.record.peer = peer_of(remote);
      event.record.bytes_sent = kind == Otf2Event::RmaGet ? 0 : static_cast<std::int64_t>(first);
      event.record.bytes_received = static_cast<std::int64_t>(kind == Otf2Event::RmaGet ? first : second);
      return begin(event, {RequestKey::Window, window, in.u64()});
    }
    case Otf2Event::RmaOpCompleteBlocking:
    case Otf2Event::RmaOpCompleteNonBlocking: {
      const std::uint32_t window = in.u32();
      Event& event = complete({RequestKey::Window, window, in.u64()}, Phase::Completed, Kind::OneSided);
      event.record.communicator = window_index(window);
      return;
    }
    default: ++left_out_[static_cast<std::uint8_t>(kind)];
  }
}

void Otf2Stream::take_threads(Otf2Event kind, Otf2Bytes& in) {
  const auto of_task = [&](Type type, bool is_of_team) {
    std::uint64_t task = 0;
    const std::uint32_t team = is_of_team ? in.u32() : 0;
    if (is_of_team) {
      task = std::uint64_t{in.u32()} << 32;
      task |= in.u32();
    } else {
      task = in.u64();
    }
    Event& event = emit(type);
    event.record.request = task;
    event.record.communicator = is_of_team ? communicator_index(team) : -1;
  };
  const auto of_lock = [&](Type type, bool has_model) {
    if (has_model) (void)in.u8();
    const std::uint32_t lock = in.u32(), order = in.u32();
    Event& event = emit(type);
    event.record.request = lock;
    event.record.value = order;
  };
  const auto of_team = [&](Type type, bool has_number) {
    const std::uint32_t team = in.u32();
    const std::uint64_t number = has_number ? in.u64() : 0;
    Event& event = emit(type);
    event.record.communicator = communicator_index(team);
    event.record.request = number;
    if (type == Type::ThreadEnd) {
      event.path = no_path;
      event.record.kind = Kind::ThreadEnd;
    }
  };
  switch (kind) {
    case Otf2Event::ThreadFork:
    case Otf2Event::OmpFork: {
      if (kind == Otf2Event::ThreadFork) (void)in.u8();  // model
      const std::uint32_t threads = in.u32();
      emit(Type::Fork).record.value = threads;
      return;
    }
    case Otf2Event::ThreadJoin:
    case Otf2Event::OmpJoin: (void)emit(Type::Join); return;
    case Otf2Event::OmpAcquireLock: return of_lock(Type::LockAcquired, false);
    case Otf2Event::OmpReleaseLock: return of_lock(Type::LockReleased, false);
    case Otf2Event::ThreadAcquireLock: return of_lock(Type::LockAcquired, true);
    case Otf2Event::ThreadReleaseLock: return of_lock(Type::LockReleased, true);
    case Otf2Event::OmpTaskCreate: return of_task(Type::TaskCreate, false);
    case Otf2Event::OmpTaskSwitch: return of_task(Type::TaskSwitch, false);
    case Otf2Event::OmpTaskComplete: return of_task(Type::TaskComplete, false);
    case Otf2Event::ThreadTaskCreate: return of_task(Type::TaskCreate, true);
    case Otf2Event::ThreadTaskSwitch: return of_task(Type::TaskSwitch, true);
    case Otf2Event::ThreadTaskComplete: return of_task(Type::TaskComplete, true);
    case Otf2Event::ThreadTeamBegin: return of_team(Type::TeamBegin, false);
    case Otf2Event::ThreadTeamEnd: return of_team(Type::TeamEnd, false);
    case Otf2Event::ThreadCreate: return of_team(Type::ThreadCreate, true);
    case Otf2Event::ThreadBegin: return of_team(Type::ThreadBegin, true);
    case Otf2Event::ThreadWait: return of_team(Type::ThreadWait, true);
    case Otf2Event::ThreadEnd: return of_team(Type::ThreadEnd, true);
    default: ++left_out_[static_cast<std::uint8_t>(kind)];
  }
}

void Otf2Stream::take_io(Otf2Event kind, Otf2Bytes& in) {
  switch (kind) {
    case Otf2Event::IoOperationBegin: {
      const std::uint32_t handle = in.u32();
      const std::uint8_t mode = in.u8();
      (void)in.u32();  // flags
      (void)in.u64();  // number of bytes requested
      const std::uint64_t number = in.u64();
      if (mode > OTF2_IO_OPERATION_MODE_WRITE) break;
      Event& event = emit(mode == OTF2_IO_OPERATION_MODE_READ ? Kind::Read : Kind::Write, Phase::Begun);
      event.record.peer = events::no_peer;
      event.record.communicator = -1;
      return begin(event, {RequestKey::File, handle, number});
    }
    case Otf2Event::IoOperationComplete:
    case Otf2Event::IoOperationCancelled: {
      const std::uint32_t handle = in.u32();
      const bool is_done = kind == Otf2Event::IoOperationComplete;
      const std::uint64_t bytes = is_done ? in.u64() : 0;
      const RequestKey key{RequestKey::File, handle, in.u64()};
      if (!begun_.contains(key)) break;  // a flush is neither
      Event& event = complete(key, is_done ? Phase::Completed : Phase::Cancelled, Kind::Read);
      (event.record.kind == Kind::Read ? event.record.bytes_received : event.record.bytes_sent) =
          static_cast<std::int64_t>(bytes);
      return;
    }
    case Otf2Event::IoOperationIssued: return;  // it is taken at its begin
    default: break;
  }
  ++left_out_[static_cast<std::uint8_t>(kind)];
}

}  // namespace refrain::trace
