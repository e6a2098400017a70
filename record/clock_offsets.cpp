#include "record/clock_offsets.hpp"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "format/checksum.hpp"
#include "format/hashing.hpp"
#include "platform/clock.hpp"
#include "record/tree_exchange.hpp"

namespace refrain::record {
namespace {

constexpr int questions = 40;

std::array<ClockOffset, 2> offsets;
std::size_t offset_count = 0;

bool send_number(const measurement::Peers& peers, int to, std::uint64_t number, std::int64_t deadline) {
  platform::Bytes message;
  return message.append(reinterpret_cast<const std::byte*>(&number), sizeof number) &&
         peers.send(peers.state, to, message, deadline);
}
bool receive_number(const measurement::Peers& peers, int from, std::uint64_t& number, std::int64_t deadline) {
  platform::Bytes message;
  if (!peers.receive(peers.state, from, message, deadline) || message.size() != sizeof number) return false;
  std::memcpy(&number, message.data(), sizeof number);
  return true;
}

/// Answers the questions of a rank below.
bool answer(const measurement::Peers& peers, int child, std::int64_t deadline) {
  std::uint64_t identity = 0;
  const std::uint64_t own = identity_of_clock();
  if (!receive_number(peers, child, identity, deadline) || !send_number(peers, child, own, deadline)) return false;
  for (int i = 0; identity != own && i < questions; ++i) {
    std::uint64_t question = 0;
    if (!receive_number(peers, child, question, deadline) ||
        !send_number(peers, child, static_cast<std::uint64_t>(platform::monotonic_ns()), deadline))
      return false;
  }
  return true;
}

bool ask(const measurement::Peers& peers, int parent, std::int64_t deadline) {
  std::uint64_t identity = 0;
  const std::uint64_t own = identity_of_clock();
  if (!send_number(peers, parent, own, deadline) || !receive_number(peers, parent, identity, deadline)) return false;
  if (identity == own) return true;
  ClockOffset best{parent, 0, 0, -1};
  for (int i = 0; i < questions; ++i) {
    const std::int64_t begin = platform::monotonic_ns();
    std::uint64_t there = 0;
    if (!send_number(peers, parent, 0, deadline) || !receive_number(peers, parent, there, deadline)) return false;
    const std::int64_t round_trip = platform::monotonic_ns() - begin, middle = begin + round_trip / 2;
    if (best.round_trip_ns >= 0 && round_trip >= best.round_trip_ns) continue;
    best.at_ns = middle;
    best.offset_ns = static_cast<std::int64_t>(there) - middle;
    best.round_trip_ns = round_trip;
  }
  if (offset_count < offsets.size()) offsets[offset_count++] = best;
  return true;
}

}  // namespace

std::uint64_t identity_of_clock() {
  char text[256] = {};
  std::size_t size = 0;
  const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    if (const ssize_t got = read(file, text, sizeof text / 2); got > 0) size = static_cast<std::size_t>(got);
    close(file);
  }
  if (size == 0) {
    gethostname(text, sizeof text / 2);
    size = std::strlen(text);
  }
  // Older kernels have no time namespaces.
  if (const ssize_t got = readlink("/proc/self/ns/time", text + size, sizeof text - size); got > 0)
    size += static_cast<std::size_t>(got);
  return format::mixed(format::checksum(text, size)) | 1;
}

bool measure_clock_offset(const measurement::Peers& peers, std::int64_t deadline) {
  if (peers.size <= 1) return true;
  const TreePosition position = position_in_tree(peers.rank, peers.size);
  for (int i = 0; i < position.children; ++i)
    if (!answer(peers, position.child[i], deadline)) return false;
  return position.parent < 0 || ask(peers, position.parent, deadline);
}

std::span<const ClockOffset> clock_offsets() { return std::span(offsets).first(offset_count); }

}  // namespace refrain::record
