#include "offline/trace/otf2_definitions.hpp"

#include <algorithm>
#include <functional>
#include <otf2/OTF2_Definitions.h>

#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/input_file.hpp"
#include "offline/trace/otf2_file.hpp"
#include "offline/trace/regions.hpp"

namespace refrain::trace {
namespace {

using experiment::DamageLog;
using experiment::InputFile;
using experiment::ReadError;

static_assert(static_cast<unsigned>(Paradigm::Kokkos) == OTF2_PARADIGM_KOKKOS && paradigms == OTF2_PARADIGM_KOKKOS + 1);
static_assert(static_cast<unsigned>(Paradigm::Mpi) == OTF2_PARADIGM_MPI);
static_assert(static_cast<unsigned>(Role::FileIoMetadata) == OTF2_REGION_ROLE_FILE_IO_METADATA &&
              roles == OTF2_REGION_ROLE_FILE_IO_METADATA + 1);
static_assert(static_cast<unsigned>(Role::Barrier) == OTF2_REGION_ROLE_BARRIER &&
              static_cast<unsigned>(Role::OneToAll) == OTF2_REGION_ROLE_COLL_ONE2ALL &&
              static_cast<unsigned>(Role::PointToPoint) == OTF2_REGION_ROLE_POINT2POINT);
static_assert(Otf2OfLocation::kinds_of_references == OTF2_MAPPING_MAX);

/// Kinds of records in files of definitions.
enum Definition : std::uint8_t {
  mapping_table = 5,  // of a location
  clock_offset = 6,   // of a location
  clock_properties = 5,
  string = 10,
  system_tree_node = 12,
  location_group = 13,
  location = 14,
  region = 15,
  group = 18,
  metric_member = 19,
  metric_class = 20,
  metric_instance = 21,
  communicator = 22,
  parameter = 23,
  window = 24,
  calling_context = 34,
  inter_communicator = 43,
};

[[noreturn]] void fail_at(const std::filesystem::path& path, std::uint64_t offset, const char* what) {
  throw ReadError(path.string() + ": at byte " + std::to_string(offset) + ": " + what);
}

/// Passes the records of a file to `use`, one by one. Throws ReadError for malformed data.
void for_each_definition(const std::filesystem::path& path, const Otf2Anchor& anchor,
                         const std::function<void(std::uint8_t type, Otf2Bytes& record)>& use) {
  Otf2File file(path, anchor.definition_chunk);
  if (!file.is_there()) throw ReadError(path.string() + ": this file of definitions is missing or empty");
  std::uint64_t chunk = 0;
  if (!file.open_chunk(chunk)) fail_at(path, 0, "these are no definitions of OTF2");
  for (;;) {
    constexpr std::size_t head_of_record = 16;
    Otf2Bytes in = file.ahead(head_of_record);
    const std::uint64_t place = file.position();
    const std::uint8_t type = in.u8();
    if (!in.is_good()) fail_at(path, place, "the definitions end here, and have no end");
    if (type == otf2_end_of_file || type == otf2_end_of_buffer) return;
    if (type == otf2_end_of_chunk) {
      if (!file.open_chunk(++chunk)) fail_at(path, place, "the definitions go on, and there are no more");
      continue;
    }
    Otf2Bytes record = file.record_ahead(in, 1);
    if (type < otf2_timestamp || !record.is_good()) fail_at(path, place, "the definitions are damaged");
    const std::byte* const end = record.at() + record.left();
    use(type, record);
    if (!record.is_good()) fail_at(path, place, "a definition is damaged");
    file.skip_to(end);
  }
}

/// Reads `count` numbers, each of which takes at least a byte.
template <class Value>
std::vector<Value> read_list(Otf2Bytes& in, std::uint64_t count) {
  std::vector<Value> list;
  if (count > in.left()) {
    (void)in.part(count);  // sets `in` to not good
    return list;
  }
  list.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) list.push_back(static_cast<Value>(in.u64()));
  return list;
}

/// Before OTF2 1.2 the type of a group implied its paradigm.
void take_type_of_old_group(std::uint8_t type, Otf2Definitions::Group& group) {
  struct Of {
    std::uint8_t type, paradigm;
  };
  constexpr Of of[] = {
      {OTF2_GROUP_TYPE_UNKNOWN, OTF2_PARADIGM_UNKNOWN},   {OTF2_GROUP_TYPE_LOCATIONS, OTF2_PARADIGM_UNKNOWN},
      {OTF2_GROUP_TYPE_REGIONS, OTF2_PARADIGM_UNKNOWN},   {OTF2_GROUP_TYPE_METRIC, OTF2_PARADIGM_UNKNOWN},
      {OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI},    {OTF2_GROUP_TYPE_COMM_SELF, OTF2_PARADIGM_MPI},
      {OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI}};
  const Of found = type < std::size(of) ? of[type] : of[0];
  group.type = found.type;
  group.paradigm = found.paradigm;
}

void take_global(Otf2Definitions& to, std::uint8_t type, Otf2Bytes& in) {
  switch (type) {
    case clock_properties:
      to.ticks_per_second = in.u64();
      to.global_offset = in.u64();
      to.length = in.u64();
      if (in.left() > 0) to.begin_epoch_ns = in.u64();
      if (to.begin_epoch_ns == OTF2_UNDEFINED_TIMESTAMP) to.begin_epoch_ns = 0;
      return;
    case string: {
      const std::uint32_t reference = in.u32();
      to.strings[reference] = experiment::clean_text(in.text());
      return;
    }
    // Initializers are evaluated in order.
    case system_tree_node:
      to.nodes.push_back({.reference = in.u32(), .name = in.u32(), .class_name = in.u32(), .parent = in.u32()});
      return;
    case location_group:
      to.location_groups.push_back({.reference = in.u32(),
                                    .name = in.u32(),
                                    .type = in.u8(),
                                    .node = in.u32(),
                                    .creator = in.left() > 0 ? in.u32() : OTF2_UNDEFINED_LOCATION_GROUP});
      return;
    case location:
      to.locations.push_back(
          {.reference = in.u64(), .name = in.u32(), .type = in.u8(), .events = in.u64(), .group = in.u32()});
      return;
    case region: {
      Otf2Definitions::Region& made = to.regions.emplace_back();
      made.reference = in.u32();
      made.name = in.u32();
      (void)in.u32();  // description
      (void)in.u8();   // type, before OTF2 1.1
      made.file = in.u32();
      made.line = in.u32();
      (void)in.u32();  // last line
      made.canonical_name = in.left() > 0 ? in.u32() : OTF2_UNDEFINED_STRING;
      made.role = in.left() > 0 ? in.u8() : std::uint8_t{OTF2_REGION_ROLE_UNKNOWN};
      made.paradigm = in.left() > 0 ? in.u8() : std::uint8_t{OTF2_PARADIGM_UNKNOWN};
      return;
    }
    case group: {
      const std::uint32_t reference = in.u32();
      (void)in.u32();  // name
      const std::uint8_t old_type = in.u8();
      Otf2Definitions::Group made{};
      made.members = read_list<std::uint64_t>(in, in.u32());
      if (in.left() > 0) {
        made.type = in.u8();
        made.paradigm = in.u8();
      } else {
        take_type_of_old_group(old_type, made);
      }
      if (to.groups.insert_or_assign(reference, std::move(made)).second) to.groups_in_order.push_back(reference);
      return;
    }
    case metric_member: {
      const std::uint32_t reference = in.u32();
      Otf2Definitions::Metric& made = to.metrics[reference];
      made.name = in.u32();
      (void)in.u32();  // description
      (void)in.u8();   // type
      (void)in.u8();   // mode
      made.value_type = in.u8();
      (void)in.u8();   // base
      (void)in.i64();  // exponent
      made.unit = in.u32();
      return;
    }
    case metric_class: {
      const std::uint32_t reference = in.u32();
      to.metric_classes[reference].members = read_list<std::uint32_t>(in, in.u8());
      return;
    }
    case metric_instance: {
      const std::uint32_t reference = in.u32();
      to.metric_instances[reference] = in.u32();
      return;
    }
    case communicator:
    case inter_communicator:
      to.communicators.push_back({.reference = in.u32(),
                                  .name = in.u32(),
                                  .group = in.u32(),
                                  .remote_group = type == communicator ? OTF2_UNDEFINED_GROUP : in.u32(),
                                  .parent = in.u32()});
      return;
    case parameter: to.parameters.push_back({.reference = in.u32(), .name = in.u32(), .type = in.u8()}); return;
    case window: to.windows.push_back({.reference = in.u32(), .name = in.u32(), .communicator = in.u32()}); return;
    case calling_context: {
      Otf2Definitions::CallingContext& made = to.contexts.emplace_back();
      made.reference = in.u32();
      made.region = in.u32();
      (void)in.u32();  // place in the source
      made.parent = in.u32();
      return;
    }
    default: return;
  }
}

void take_mapping_table(Otf2OfLocation& to, Otf2Bytes& in) {
  const std::uint8_t kind = in.u8();
  const std::uint64_t size = in.u64();
  constexpr std::uint8_t dense = 0;
  const bool is_dense = in.u8() == dense;
  if (size > in.left() || kind >= Otf2OfLocation::kinds_of_references) {
    if (kind < Otf2OfLocation::kinds_of_references) (void)in.part(size);  // sets `in` to not good
    return;
  }
  auto& global = to.global[kind];
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t local = is_dense ? i : in.u64();
    global[local] = in.u64();
  }
}

/// An interval ends at the next measurement; the last measurement begins none.
class ClockIntervals {
 public:
  explicit ClockIntervals(Otf2OfLocation& to) : to_(to) {}
  void add(std::uint64_t time, std::int64_t offset) {
    if (is_pending_ && time > time_) {
      const auto rise = static_cast<double>(offset - offset_), run = static_cast<double>(time - time_);
      to_.clock.push_back({time_, time, offset_, rise / run});
    }
    if (is_pending_ && time <= time_) return;
    is_pending_ = true;
    time_ = time;
    offset_ = offset;
  }

 private:
  Otf2OfLocation& to_;
  bool is_pending_ = false;
  std::uint64_t time_ = 0;
  std::int64_t offset_ = 0;
};

}  // namespace

void ReferenceMap::set(std::uint64_t reference, std::uint32_t value) {
  constexpr std::uint64_t most_small = 1 << 16;
  if (reference >= most_small) {
    large_[reference] = value;
    return;
  }
  if (reference >= small_.size()) small_.resize(reference + 1, none);
  small_[reference] = value;
}

const std::string& Otf2Definitions::text(std::uint32_t reference) const {
  static const std::string nothing;
  const auto at = strings.find(reference);
  return at == strings.end() ? nothing : at->second;
}

Otf2Anchor read_otf2_anchor(const std::filesystem::path& anchor) {
  const InputFile file(anchor);
  constexpr std::uint64_t enough = 1 << 20;  // it contains only a few strings
  const std::vector<std::byte> bytes = file.read(0, std::min(file.size(), enough), "anchor");
  Otf2Bytes head(bytes, false);
  const std::uint8_t mark = head.u8();
  bool is_known = false;
  const bool is_foreign = is_foreign_endianness(head.u8(), is_known);
  Otf2Bytes in(head.at(), bytes.data() + bytes.size(), is_foreign);
  if (mark != otf2_chunk_header || !is_known || in.text() != "OTF2") file.fail(0, "this is no anchor file of OTF2");
  for (int version = 0; version < 5; ++version) (void)in.u8();
  Otf2Anchor made;
  made.event_chunk = in.full64();
  made.definition_chunk = in.full64();
  const std::uint8_t substrate = in.u8(), compression = in.u8();
  (void)in.full64();  // number of locations
  (void)in.full64();  // number of definitions
  (void)in.text();    // machine
  made.creator = experiment::clean_text(in.text());
  constexpr std::uint64_t smallest = 256 * 1024, largest = 16 * 1024 * 1024;  // OTF2_CHUNK_SIZE_MIN, _MAX
  const auto is_possible = [&](std::uint64_t chunk) { return chunk >= smallest && chunk <= largest; };
  if (!in.is_good() || !is_possible(made.event_chunk) || !is_possible(made.definition_chunk))
    file.fail(0, "the anchor file is damaged");
  if (substrate != OTF2_SUBSTRATE_POSIX) file.fail(0, "archives in SIONlib's files cannot be read");
  if (compression != OTF2_COMPRESSION_NONE) file.fail(0, "compressed archives cannot be read");
  return made;
}

Otf2Definitions read_otf2_definitions(const std::filesystem::path& path, const Otf2Anchor& anchor, DamageLog& damage) {
  Otf2Definitions made;
  damage.survives("what is defined behind it", [&] {
    for_each_definition(path, anchor, [&](std::uint8_t type, Otf2Bytes& record) { take_global(made, type, record); });
  });
  if (made.locations.empty() && damage.count() > 0) throw ReadError(damage.lines().front());
  return made;
}

Otf2OfLocation read_otf2_of_location(const std::filesystem::path& path, const Otf2Anchor& anchor, DamageLog& damage) {
  Otf2OfLocation made;
  if (!std::filesystem::exists(path)) return made;
  ClockIntervals intervals(made);
  damage.survives("how the location's clock and names differ from others", [&] {
    for_each_definition(path, anchor, [&](std::uint8_t type, Otf2Bytes& record) {
      if (type == mapping_table) return take_mapping_table(made, record);
      if (type != clock_offset) return;
      const std::uint64_t time = record.full64();
      intervals.add(time, record.i64());
    });
  });
  return made;
}

}  // namespace refrain::trace
