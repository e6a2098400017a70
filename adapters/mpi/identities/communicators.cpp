#include "adapters/mpi/identities/communicators.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "adapters/mpi/calls/datatypes.hpp"
#include "adapters/mpi/identities/communications.hpp"
#include "adapters/mpi/identities/families.hpp"
#include "adapters/mpi/identities/live_handles.hpp"
#include "adapters/mpi/identities/published_array.hpp"
#include "adapters/mpi/lock.hpp"
#include "platform/hash_index.hpp"
#include "platform/pages.hpp"

namespace refrain::adapters::mpi {

using measurement::CommunicatorRecord;
using measurement::set_name;

namespace {

constexpr std::int32_t none = -1;
constexpr std::size_t max_records = 65'536;
constexpr std::size_t max_members = 16 << 20;  ///< in all lists together: 64 MiB
using Members = std::span<const std::int32_t>;
using Ranks = platform::GrowableArray<std::int32_t>;

/// What gives a communicator its ordinal: for a child the count of its parent's operations, for one that is known by
/// its members a hash of these and a tag.
struct Naming {
  static constexpr std::int32_t child = -1;
  std::int32_t folded_tag = child;
  std::int32_t tag = child;
  std::uint64_t hash = 0;
};

/// What the communicators of a family have in common: parent, members on the same sides, and tag.
struct Kind {
  std::int32_t parent;
  std::uint32_t list;
  std::int32_t remote_size;
  std::int32_t tag;
  bool operator==(const Kind&) const = default;
};

/// Never destroyed: the program may still make MPI calls from its destructors.
struct Registry {
  PublishedArray<CommunicatorRecord, max_records> records;
  platform::GrowableArray<std::int64_t> children;  ///< by record: operations that made communicators from this one
  platform::GrowableArray<Members> lists;          ///< the members themselves never move
  platform::HashIndex index_of_lists;
  Families<Kind> families;       ///< by folded tag
  Families<Kind> of_exact_tags;  ///< counts those with a record of their own, by exact tag
  LiveHandles<MPI_Comm> handles;
  MPI_Group world_group;
  bool has_begun;  ///< MPI has begun
  bool has_group;  ///< true until MPI is finalized
};
constinit platform::NeverDestroyed<Registry> registry_storage;
Registry& registry() { return registry_storage.get(); }
Lock defining;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = spread(hash ^ value);
  return hash ^ hash >> 29;
}

std::uint64_t hash_of(const Kind& kind) {
  return mixed(mixed(mixed(1, static_cast<std::uint32_t>(kind.parent)), kind.list),
               static_cast<std::uint32_t>(kind.tag));
}

/// Memory for member lists: blocks of pages, filled one after the other.
std::int32_t* allocate_members(std::size_t count) {
  static std::int32_t* block = nullptr;
  static std::size_t room = 0, all = 0;
  constexpr std::size_t per_block = 16384;
  if (count > max_members - all) return nullptr;
  if (room < count) {
    const std::size_t wanted = std::max(count, per_block);
    auto* made = static_cast<std::int32_t*>(platform::map_pages(wanted * sizeof *block));
    if (!made) return nullptr;
    block = made;
    room = wanted;
  }
  all += count;
  room -= count;
  return std::exchange(block, block + count);
}

/// Appends the world ranks of the members of `group` to `out`; -1 for processes outside MPI_COMM_WORLD.
bool append_world_ranks(MPI_Group group, int size, Ranks& out) {
  static_assert(sizeof(int) == sizeof(std::int32_t));
  Ranks ranks;
  const std::size_t before = out.size();
  if (!ranks.resize(size) || !out.resize(before + size)) return false;
  for (int i = 0; i < size; ++i) ranks[i] = i;
  if (pmpi.Group_translate_ranks(group, size, ranks.data(), registry().world_group, out.data() + before) != MPI_SUCCESS)
    return false;
  for (int i = 0; i < size; ++i)
    if (out[before + i] == MPI_UNDEFINED) out[before + i] = none;
  return true;
}

/// Asks MPI for rank and sizes, into `record`, and for the members.
bool describe(MPI_Comm comm, CommunicatorRecord& record, Ranks& members) {
  int inter = 0;
  MPI_Group group;
  if (!registry().has_group) return false;
  if (pmpi.Comm_rank(comm, &record.rank) != MPI_SUCCESS || pmpi.Comm_size(comm, &record.size) != MPI_SUCCESS ||
      pmpi.Comm_test_inter(comm, &inter) != MPI_SUCCESS || pmpi.Comm_group(comm, &group) != MPI_SUCCESS)
    return false;
  bool good = append_world_ranks(group, record.size, members);
  pmpi.Group_free(&group);
  if (good && inter) {
    good = pmpi.Comm_remote_size(comm, &record.remote_size) == MPI_SUCCESS &&
           pmpi.Comm_remote_group(comm, &group) == MPI_SUCCESS;
    if (good) {
      good = append_world_ranks(group, record.remote_size, members);
      pmpi.Group_free(&group);
    }
  }
  record.leader = members.empty() ? none : members[0];
  // Both sides of an intercommunicator name the same leader.
  if (good && inter && record.remote_size > 0) {
    const std::int32_t other = members[static_cast<std::size_t>(record.size)];
    if (record.leader == none || (other != none && other < record.leader)) record.leader = other;
  }
  return good;
}

/// The number of a member list; equal lists are kept once. platform::HashIndex::none: there is no room.
std::uint32_t list_of(Members members) {
  Registry& r = registry();
  std::uint64_t hash = members.size();
  for (const std::int32_t member : members) hash = mixed(hash, static_cast<std::uint32_t>(member));
  const auto same = [&](std::uint32_t i) { return std::ranges::equal(r.lists[i], members); };
  if (const std::uint32_t known = r.index_of_lists.find(hash, same); known != platform::HashIndex::none) return known;
  if (r.records.is_full() || !r.index_of_lists.reserve(1) || !r.lists.reserve(r.lists.size() + 1))
    return platform::HashIndex::none;
  std::int32_t* copy = allocate_members(members.size());
  if (!copy) return platform::HashIndex::none;
  std::ranges::copy(members, copy);
  (void)r.lists.push_back({copy, members.size()});
  r.index_of_lists.insert(hash, static_cast<std::uint32_t>(r.lists.size() - 1));
  return static_cast<std::uint32_t>(r.lists.size() - 1);
}

/// The first record is that of MPI_COMM_WORLD, whose processes are all different.
bool has_all(const CommunicatorRecord& record) {
  auto& records = registry().records;
  return record.id == 0 || (record.remote_size == 0 && record.size == records[0].size &&
                            std::ranges::find(record.members, none) == record.members.end());
}

/// The identity, which is the same on all processes that know the same parent.
std::uint64_t identity_of(const CommunicatorRecord& record) {
  const std::uint64_t parent = record.parent == none ? 0 : registry().records[record.parent].identity;
  const std::uint64_t own =
      std::uint64_t{static_cast<std::uint32_t>(record.ordinal)} << 32 | static_cast<std::uint32_t>(record.leader);
  return mixed(mixed(1, parent), own + 1) | 1;  // the hash of 0 is 0
}

/// Gives the communicator `handle` a record of its own, or the one of its family whose turn it is. False: no room.
bool add(CommunicatorRecord record, Members members, Naming naming, MPI_Comm handle) {
  Registry& r = registry();
  const std::uint32_t list = list_of(members);
  if (list == platform::HashIndex::none) return false;
  const Kind kind{record.parent, list, record.remote_size, naming.folded_tag};
  auto* family = r.families.find_or_make(hash_of(kind), kind, !r.records.is_full());
  if (!family) return false;
  const bool is_child = naming.folded_tag == Naming::child;
  const std::int64_t most = record.parent != none && r.records[record.parent].made > 1 ? 1
                            : is_child                                                 ? communicators_told_apart
                                       : communicators_of_tag_told_apart;
  if (const std::int32_t taken = r.families.take_over(*family, most); taken != none) {
    ++r.records[taken].made;
    merge_communicator(taken);
    set_name(r.records[taken].name, "");
    return r.handles.bind(handle, taken);
  }
  if (!r.children.reserve(r.children.size() + 1) || !r.families.reserve_record() || !r.records.reserve_one())
    return false;
  record.id = static_cast<std::int32_t>(r.records.size());
  record.members = r.lists[list];
  record.has_all = has_all(record);
  if (!is_child) {
    // Threads may make communicators with different tags in a different order on each rank.
    const Kind exact{record.parent, list, record.remote_size, naming.tag};
    auto* of_tag = r.of_exact_tags.find_or_make(hash_of(exact), exact);
    if (!of_tag) return false;
    record.ordinal = static_cast<std::int32_t>(
        -1 - static_cast<std::int64_t>(mixed(naming.hash, static_cast<std::uint64_t>(of_tag->made++)) >> 33));
  }
  (void)r.children.push_back(0);
  record.identity = identity_of(record);
  r.families.add_record(*family, most);
  r.records.push_back(record);
  return r.handles.bind(handle, record.id);
}

/// Hashes the members, of both sides if there are two, and the tag. For the choice of records tags are folded, because
/// a program that never uses a tag twice must not get a record for each.
Naming by_members(Members first, Members second, int tag) {
  Naming naming{static_cast<std::int32_t>(static_cast<std::uint32_t>(tag) % 64), tag, 1};
  for (Members part : {first, second}) {
    naming.hash = mixed(naming.hash, part.size());
    for (const std::int32_t member : part) naming.hash = mixed(naming.hash, static_cast<std::uint32_t>(member));
  }
  naming.hash = mixed(naming.hash, static_cast<std::uint32_t>(tag));
  return naming;
}

bool add_by_members(std::int32_t parent, int tag, MPI_Comm made) {
  CommunicatorRecord record{.parent = parent};
  Ranks members;
  if (!describe(made, record, members)) return false;
  Members local = members.view().first(record.size), remote = members.view().subspan(record.size);
  if (!remote.empty() && record.leader == remote[0] && record.leader != local[0]) std::swap(local, remote);
  return add(record, members.view(), by_members(local, remote, tag), made);
}

/// Counts an operation that is collective over `parent`.
std::int32_t next_ordinal(std::int32_t parent) {
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(registry().children[parent]++, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace

void define_world(MPI_Comm handle) {
  Locked locked(defining);
  Registry& r = registry();
  r.has_group = r.has_group || pmpi.Comm_group(handle, &r.world_group) == MPI_SUCCESS;
  if (r.has_begun) {  // MPI was finalized and has begun again, with sessions
    if (r.records.size() > 0) (void)r.handles.bind(handle, 0);
    return;
  }
  if (!r.has_group) return;
  r.has_begun = true;
  CommunicatorRecord world{.parent = none}, self{.parent = none, .ordinal = 1};
  Ranks all, own;
  const bool of_session = handle != constants.world;
  set_name(world.name, of_session ? "mpi://WORLD" : "MPI_COMM_WORLD");
  set_name(self.name, "MPI_COMM_SELF");
  if (!describe(handle, world, all) || !add(world, all.view(), {}, handle) || of_session) return;
  if (describe(constants.self, self, own)) add(self, own.view(), {}, constants.self);
}

void forget_world() {
  Locked locked(defining);
  if (registry().has_group) pmpi.Group_free(&registry().world_group);
  registry().has_group = false;
}

bool define_child(MPI_Comm parent_handle, MPI_Comm made) {
  Locked locked(defining);
  if (!registry().has_begun) return true;
  CommunicatorRecord record{.parent = registry().handles.find(parent_handle)};
  if (record.parent == none) return made == constants.no_communicator || add_by_members(none, 0, made);
  record.ordinal = next_ordinal(record.parent);
  if (made == constants.no_communicator) return true;
  Ranks members;
  return describe(made, record, members) && add(record, members.view(), {}, made);
}

bool define_duplicate(MPI_Comm parent_handle, MPI_Comm made, bool may_be_asked) {
  Locked locked(defining);
  if (!registry().has_begun) return true;
  const std::int32_t parent = registry().handles.find(parent_handle);
  if (parent == none) return made == constants.no_communicator || (may_be_asked && add_by_members(none, 0, made));
  CommunicatorRecord record = registry().records[parent];
  record.parent = parent;
  record.ordinal = next_ordinal(parent);
  record.made = 1;
  set_name(record.name, "");
  return made == constants.no_communicator || add(record, record.members, {}, made);
}

bool define_of_group(MPI_Comm parent_handle, int tag, MPI_Comm made) {
  if (made == constants.no_communicator) return true;
  Locked locked(defining);
  return !registry().has_begun || add_by_members(registry().handles.find(parent_handle), tag, made);
}

bool define_by_members(int tag, MPI_Comm made) {
  if (made == constants.no_communicator) return true;
  Locked locked(defining);
  return !registry().has_begun || add_by_members(none, tag, made);
}

bool define_once(MPI_Comm found) {
  if (found == constants.no_communicator) return true;
  Locked locked(defining);
  return !registry().has_begun || registry().handles.find(found) != none || add_by_members(none, 0, found);
}

std::int32_t id_of_communicator(MPI_Comm handle) { return registry().handles.find(handle); }

void name_communicator(MPI_Comm handle, const char* name) {
  Locked locked(defining);
  const std::int32_t id = registry().handles.find(handle);
  if (id != none) set_name(registry().records[id].name, name);
}

std::int32_t forget_handle(MPI_Comm handle) {
  Locked locked(defining);
  return registry().handles.forget(handle);
}

void bind_communicator(std::int32_t id, MPI_Comm handle) {
  if (id == none) return;
  Locked locked(defining);
  (void)registry().handles.bind(handle, id);
}

std::uint64_t identity_if_of_all(std::int32_t id) {
  if (id == none) return 0;
  const CommunicatorRecord& record = registry().records.view()[static_cast<std::size_t>(id)];
  return record.has_all ? record.identity : 0;
}

std::span<const CommunicatorRecord> all_communicators() { return registry().records.view(); }

}  // namespace refrain::adapters::mpi
