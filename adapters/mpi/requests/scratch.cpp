#include "adapters/mpi/requests/scratch.hpp"

#include "adapters/mpi/lock.hpp"
#include "platform/pages.hpp"

namespace refrain::adapters::mpi {

namespace {
struct Block {
  std::byte* memory;
  std::size_t bytes;
};
constexpr int kept = 16;
Block blocks[kept];
int block_count = 0;
Lock storing;
}  // namespace

bool Scratch::take(int count) {
  count_ = static_cast<std::size_t>(count);
  const std::size_t wanted = (count_ * (sizeof(TrackedRequest*) + sizeof(MPI_Status)) + 0xffff) & ~std::size_t{0xffff};
  Block block{nullptr, 0};
  {
    Locked locked(storing);
    if (block_count) block = blocks[--block_count];
  }
  if (block.bytes < wanted) {
    if (block.memory) platform::unmap_pages(block.memory, block.bytes);
    block = {static_cast<std::byte*>(platform::map_pages(wanted)), wanted};
  }
  memory_ = block.memory;
  bytes_ = block.bytes;
  return memory_;
}

void Scratch::give_back() {
  if (!memory_) return;
  {
    Locked locked(storing);
    if (block_count < kept) {
      blocks[block_count++] = {memory_, bytes_};
      memory_ = nullptr;
    }
  }
  if (memory_) platform::unmap_pages(memory_, bytes_);
  memory_ = nullptr;
}

}  // namespace refrain::adapters::mpi
