#include "adapters/mpi/requests/scratch.hpp"

#include <iterator>

#include "adapters/mpi/lock.hpp"

namespace refrain::adapters::mpi {

namespace {
struct Store {
  platform::Bytes blocks[16];
  std::size_t count;
};
constinit platform::NeverDestroyed<Store> store;
Lock storing;
}  // namespace

bool Scratch::take(int count) {
  count_ = static_cast<std::size_t>(count);
  {
    Locked locked(storing);
    if (Store& kept = store.get(); kept.count > 0) memory_.swap(kept.blocks[--kept.count]);
  }
  return memory_.reserve(count_ * (sizeof(TrackedRequest*) + sizeof(MPI_Status)));
}

void Scratch::give_back() {
  Locked locked(storing);
  if (Store& kept = store.get(); kept.count < std::size(kept.blocks)) kept.blocks[kept.count++].swap(memory_);
}

}  // namespace refrain::adapters::mpi
