#include "archive/iteration_frames_reader.hpp"

#include <algorithm>
#include <string>

#include "archive/byte_codec.hpp"
#include "archive/checksum.hpp"
#include "archive/format.hpp"
#include "archive/unpack.hpp"

namespace refrain::archive {
namespace {

using format::FrameKind;

/// What frames hold of one loop.
struct Contents {
  std::vector<std::byte> log;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> merges;
};

Loop* find_loop(Rank& rank, std::int32_t thread, std::uint32_t loop) {
  for (Location& location : rank.locations)
    if (location.thread == thread) return loop < location.loops.size() ? &location.loops[loop] : nullptr;
  return nullptr;
}

struct Frame {
  FrameKind kind;
  std::int32_t thread;
  std::uint32_t loop;
  std::uint64_t size;  ///< in the file
  std::vector<std::byte> payload;
};

Frame read_frame(const InputFile& file, std::uint64_t at, std::uint64_t end) {
  constexpr const char* what = "a frame of iterations";
  constexpr std::size_t around = format::frame_head_size + format::checksum_size;
  if (end - at < around) file.fail(at, "a frame of iterations is cut");
  const auto head = file.read(at, format::frame_head_size, what);
  const std::byte* p = head.data();
  if (load_little_endian<std::uint32_t>(p) != format::frame_magic) file.fail(at, "not a frame of iterations");
  const auto stored = load_little_endian<std::uint64_t>(p + 16);
  const auto raw = load_little_endian<std::uint64_t>(p + 24);
  if (stored > end - at - around) file.fail(at, "a frame of iterations is cut");
  const auto whole = file.read(at, stored + around, what);
  const std::size_t summed = whole.size() - format::checksum_size;
  if (load_little_endian<std::uint64_t>(&whole[summed]) != checksum(whole.data(), summed))
    file.fail(at, "a frame of iterations has a wrong checksum");
  Frame frame{FrameKind{load_little_endian<std::uint16_t>(p + 4)},
              load_little_endian<std::int32_t>(p + 8),
              load_little_endian<std::uint32_t>(p + 12),
              whole.size(),
              {}};
  std::vector<std::byte> payload(whole.begin() + format::frame_head_size, whole.begin() + static_cast<long>(summed));
  const auto encoding = static_cast<format::Encoding>(load_little_endian<std::uint16_t>(p + 6));
  frame.payload = unpack(file, at, what, encoding, std::move(payload), raw);
  return frame;
}

void take(const InputFile& file, std::uint64_t at, const Frame& frame, Loop& loop) {
  if (frame.kind == FrameKind::Log) {
    loop.log.insert(loop.log.end(), frame.payload.begin(), frame.payload.end());
  } else if (frame.kind == FrameKind::Merges) {
    constexpr std::size_t pair_size = 8;
    if (frame.payload.size() % pair_size != 0) file.fail(at, "merges of iterations that are no pairs");
    for (std::size_t i = 0; i < frame.payload.size(); i += pair_size)
      loop.merges.emplace_back(load_little_endian<std::uint32_t>(&frame.payload[i]),
                               load_little_endian<std::uint32_t>(&frame.payload[i + 4]));
  }
}

void read_frames(const InputFile& file, std::uint64_t end, Rank& rank) {
  for (std::uint64_t at = 0; at < end;) {
    const Frame frame = read_frame(file, at, end);
    if (Loop* loop = find_loop(rank, frame.thread, frame.loop)) take(file, at, frame, *loop);
    at += frame.size;
  }
}

template <class Do>
void for_each_loop(Rank& rank, Do action) {
  for (Location& location : rank.locations)
    for (Loop& loop : location.loops) action(loop);
}

}  // namespace

void add_iterations(const InputFile& file, Rank& rank) { read_frames(file, file.size(), rank); }

void attach_spilled_iterations(const std::filesystem::path& directory, Rank& rank) {
  if (rank.spilled_bytes == 0) return;
  const InputFile file(directory / (format::spill_name_begin + std::to_string(rank.rank) + format::spill_name_end));
  if (file.size() < rank.spilled_bytes) file.fail(file.size(), "is shorter than the profile says");
  std::vector<Contents> later;
  for_each_loop(rank, [&](Loop& loop) {
    later.push_back({std::move(loop.log), std::move(loop.merges)});
    loop.log.clear();
    loop.merges.clear();
  });
  read_frames(file, rank.spilled_bytes, rank);
  auto next = later.begin();
  for_each_loop(rank, [&](Loop& loop) {
    loop.log.insert(loop.log.end(), next->log.begin(), next->log.end());
    loop.merges.insert(loop.merges.end(), next->merges.begin(), next->merges.end());
    ++next;
  });
}

}  // namespace refrain::archive
