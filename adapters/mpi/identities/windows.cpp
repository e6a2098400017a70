#include "adapters/mpi/identities/windows.hpp"

#include "adapters/mpi/identities/communicators.hpp"
#include "adapters/mpi/identities/families.hpp"
#include "adapters/mpi/identities/live_handles.hpp"
#include "adapters/mpi/identities/published_array.hpp"
#include "adapters/mpi/lock.hpp"
#include "platform/hash_index.hpp"
#include "platform/pages.hpp"

namespace refrain::adapters::mpi {

using measurement::WindowRecord;
using measurement::WindowTraffic;

namespace {

constexpr std::int32_t none = -1;
constexpr std::int64_t told_apart = 64;
constexpr std::size_t max_records = 65'536;
constexpr std::size_t max_pairs = 1 << 20;  ///< pairs of window and target

/// All members of a communicator make its windows in one order.
struct Kind {
  std::int32_t communicator;
  measurement::WindowKind kind;
  bool operator==(const Kind&) const = default;
};

struct Registry {
  PublishedArray<WindowRecord, max_records> records;
  PublishedArray<WindowTraffic, max_pairs> traffic;
  platform::HashIndex index_of_traffic;
  Families<Kind> families;
  LiveHandles<MPI_Win> handles;
};
constinit platform::NeverDestroyed<Registry> registry_storage;
Registry& registry() { return registry_storage.get(); }
bool no_room = false;  ///< the kernel has refused memory for traffic, and is not asked again at every operation
Lock changing;

std::uint64_t hash_of(std::int32_t a, std::int32_t b) {
  return spread(static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 | static_cast<std::uint32_t>(b)) >> 32;
}

WindowTraffic* traffic_of(std::int32_t window, std::int32_t target) {
  Registry& r = registry();
  const std::uint64_t hash = hash_of(window, target);
  const std::uint32_t known = r.index_of_traffic.find(
      hash, [&](std::uint32_t i) { return r.traffic[i].window == window && r.traffic[i].target == target; });
  if (known != platform::HashIndex::none) return &r.traffic[known];
  if (no_room || !r.index_of_traffic.reserve(1) || !r.traffic.reserve_one()) {
    no_room = true;
    return nullptr;
  }
  r.traffic.push_back({window, target, 0, 0, 0, 0});
  r.index_of_traffic.insert(hash, static_cast<std::uint32_t>(r.traffic.size() - 1));
  return &r.traffic.back();
}

}  // namespace

bool define_window(MPI_Comm comm, MPI_Win made, measurement::WindowKind kind) {
  const std::int32_t communicator = id_of_communicator(comm);
  Locked locked(changing);
  Registry& r = registry();
  auto* family = r.families.find_or_make(hash_of(communicator, static_cast<std::int32_t>(kind)), {communicator, kind});
  if (!family) return false;
  if (const std::int32_t taken = r.families.take_over(*family, told_apart); taken != none) {
    ++r.records[taken].made;
    measurement::set_name(r.records[taken].name, "");
    return r.handles.bind(made, taken);
  }
  if (!r.families.reserve_record() || !r.records.reserve_one()) return false;
  r.families.add_record(*family, told_apart);
  r.records.push_back({communicator, kind, {}, 1});
  return r.handles.bind(made, static_cast<std::int32_t>(r.records.size() - 1));
}

void name_window(MPI_Win handle, const char* name) {
  Locked locked(changing);
  const std::int32_t id = registry().handles.find(handle);
  if (id != none) measurement::set_name(registry().records[id].name, name);
}

std::int32_t forget_window(MPI_Win handle) {
  Locked locked(changing);
  return registry().handles.forget(handle);
}

void bind_window(std::int32_t id, MPI_Win handle) {
  if (id == none) return;
  Locked locked(changing);
  (void)registry().handles.bind(handle, id);
}

std::int32_t id_of_window(MPI_Win handle) { return registry().handles.find(handle); }

bool count_one_sided(MPI_Win handle, int target, Traffic moved) {
  Locked locked(changing);
  const std::int32_t window = registry().handles.find(handle);
  WindowTraffic* traffic = window == none ? nullptr : traffic_of(window, target);
  if (!traffic) return false;
  if (moved.sent >= 0) ++traffic->puts, traffic->bytes_put += moved.sent;
  if (moved.received >= 0) ++traffic->gets, traffic->bytes_got += moved.received;
  return true;
}

std::span<const WindowRecord> all_windows() { return registry().records.view(); }
std::span<const WindowTraffic> all_window_traffic() { return registry().traffic.view(); }

}  // namespace refrain::adapters::mpi
