#include "adapters/mpi/communicators.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "adapters/mpi/datatypes.hpp"
#include "adapters/mpi/lock.hpp"
#include "platform/pages.hpp"

namespace refrain::adapters::mpi {

using measurement::CommunicatorRecord;

namespace {

constexpr std::int32_t none = -1;
using Members = std::span<const std::int32_t>;

/// What the process knows beside the record.
struct Own {
  MPI_Comm handle;
  bool has_handle;
  std::int32_t children;  ///< operations that made communicators of this one
};

/// Made when MPI is initialized and never destroyed: the program may still make MPI calls from its destructors.
struct Registry {
  platform::GrowableArray<CommunicatorRecord> records;
  platform::GrowableArray<Own> own;
  MPI_Group world_group;
};
Registry* registry = nullptr;
Lock defining;

/// Memory for member lists, which never move: blocks of pages, filled one after the other.
std::int32_t* allocate_members(std::size_t count) {
  static std::int32_t* block = nullptr;
  static std::size_t room = 0;
  constexpr std::size_t per_block = 16384;
  if (room < count) {
    const std::size_t wanted = std::max(count, per_block);
    block = static_cast<std::int32_t*>(platform::map_pages(wanted * sizeof *block));
    room = block ? wanted : 0;
    if (!block) return nullptr;
  }
  room -= count;
  return std::exchange(block, block + count);
}

/// World ranks of the members of `group`, into `out`; -1 for processes that are not in MPI_COMM_WORLD.
bool append_world_ranks(MPI_Group group, int size, platform::GrowableArray<std::int32_t>& out) {
  static_assert(sizeof(int) == sizeof(std::int32_t));
  platform::GrowableArray<std::int32_t> ranks;
  const std::size_t before = out.size();
  if (!ranks.resize(size) || !out.resize(before + size)) return false;
  for (int i = 0; i < size; ++i) ranks[i] = i;
  if (pmpi.Group_translate_ranks(group, size, ranks.data(), registry->world_group, out.data() + before) != MPI_SUCCESS)
    return false;
  for (int i = 0; i < size; ++i)
    if (out[before + i] == MPI_UNDEFINED) out[before + i] = none;
  return true;
}

std::int32_t find(MPI_Comm handle) {
  const auto& own = registry->own;
  for (std::size_t i = own.size(); i-- > 0;)
    if (own[i].has_handle && own[i].handle == handle) return static_cast<std::int32_t>(i);
  return none;
}

/// Rank, sizes and members as MPI tells them. Members are kept in memory of their own unless `alike` has the same.
bool describe(MPI_Comm comm, Members alike, CommunicatorRecord& record) {
  int inter = 0;
  platform::GrowableArray<std::int32_t> members;
  MPI_Group group;
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
  if (!good) return false;
  record.leader = members.empty() ? none : members[0];
  record.members = alike;
  if (!std::ranges::equal(members.view(), alike)) {
    std::int32_t* kept = allocate_members(members.size());
    if (!kept) return false;
    std::ranges::copy(members.view(), kept);
    record.members = {kept, members.size()};
  }
  return true;
}

std::int32_t add(CommunicatorRecord record, MPI_Comm handle, bool has_handle) {
  record.id = static_cast<std::int32_t>(registry->records.size());
  if (!registry->own.reserve(registry->own.size() + 1) || !registry->records.push_back(record)) return none;
  (void)registry->own.push_back({handle, has_handle, 0});
  return record.id;
}

void set_name(CommunicatorRecord& record, const char* name) {
  std::memset(record.name, 0, sizeof record.name);
  for (std::size_t i = 0; i + 1 < sizeof record.name && name[i]; ++i) record.name[i] = name[i];
}

/// The negative ordinal that all `members` derive: of who they are, the tag, and how often that was so before.
std::int32_t ordinal_of_members(std::int32_t parent, Members first, Members second, int tag) {
  std::uint64_t hash = spread(static_cast<std::uint32_t>(tag) + 1u);
  for (Members part : {first, second})
    for (std::int32_t member : part) hash = spread(hash ^ static_cast<std::uint32_t>(member)) ^ hash >> 29;
  for (;; hash = spread(hash + 1) ^ hash >> 29) {
    const auto ordinal = static_cast<std::int32_t>(-1 - static_cast<std::int64_t>(hash >> 33));
    const bool taken = std::ranges::any_of(registry->records.view(), [&](const CommunicatorRecord& record) {
      return record.parent == parent && record.ordinal == ordinal;
    });
    if (!taken) return ordinal;
  }
}

}  // namespace

void define_world() {
  Locked locked(defining);
  if (registry) return;
  void* memory = platform::map_pages(sizeof(Registry));
  if (!memory) return;
  auto* made = new (memory) Registry;
  if (pmpi.Comm_group(constants.world, &made->world_group) != MPI_SUCCESS) return;
  registry = made;
  CommunicatorRecord world{.parent = none}, self{.parent = none, .ordinal = 1};
  set_name(world, "MPI_COMM_WORLD");
  set_name(self, "MPI_COMM_SELF");
  if (!describe(constants.world, {}, world) || add(world, constants.world, true) == none) return;
  if (describe(constants.self, {}, self)) add(self, constants.self, true);
}

void define_child(MPI_Comm parent_handle, MPI_Comm made) {
  Locked locked(defining);
  if (!registry) return;
  const std::int32_t parent = find(parent_handle);
  CommunicatorRecord record{.parent = parent};
  if (parent != none) record.ordinal = registry->own[parent].children++;
  if (made == constants.no_communicator) return;
  if (describe(made, parent == none ? Members{} : registry->records[parent].members, record)) add(record, made, true);
}

std::int32_t define_duplicate(MPI_Comm parent_handle) {
  Locked locked(defining);
  if (!registry) return none;
  const std::int32_t parent = find(parent_handle);
  if (parent == none) return none;
  CommunicatorRecord record = registry->records[parent];
  record.parent = parent;
  record.ordinal = registry->own[parent].children++;
  set_name(record, "");
  return add(record, {}, false);
}

void bind_communicator(std::int32_t id, MPI_Comm handle) {
  if (id == none) return;
  Locked locked(defining);
  if (!registry) return;
  registry->own[id].handle = handle;
  registry->own[id].has_handle = true;
}

void define_of_group(MPI_Comm parent_handle, int tag, MPI_Comm made) {
  if (made == constants.no_communicator) return;
  Locked locked(defining);
  if (!registry) return;
  const std::int32_t parent = find(parent_handle);
  CommunicatorRecord record{.parent = parent};
  if (!describe(made, parent == none ? Members{} : registry->records[parent].members, record)) return;
  record.ordinal = ordinal_of_members(parent, record.members, {}, tag);
  add(record, made, true);
}

void define_by_members(int tag, MPI_Comm made) {
  if (made == constants.no_communicator) return;
  Locked locked(defining);
  if (!registry) return;
  CommunicatorRecord record{.parent = none};
  if (find(made) != none || !describe(made, {}, record)) return;
  Members local = record.members.first(record.size), remote = record.members.subspan(record.size);
  const std::int32_t other = remote.empty() ? none : remote[0];
  if (other != none && other < record.leader) {
    std::swap(local, remote);
    record.leader = other;
  }
  record.ordinal = ordinal_of_members(none, local, remote, tag);
  add(record, made, true);
}

void name_communicator(MPI_Comm handle, const char* name) {
  Locked locked(defining);
  if (!registry) return;
  const std::int32_t id = find(handle);
  if (id != none) set_name(registry->records[id], name);
}

void forget_handle(MPI_Comm handle) {
  Locked locked(defining);
  if (!registry) return;
  const std::int32_t id = find(handle);
  if (id != none) registry->own[id].has_handle = false;
}

std::span<const CommunicatorRecord> all_communicators() {
  return registry ? registry->records.view() : std::span<const CommunicatorRecord>{};
}

}  // namespace refrain::adapters::mpi
