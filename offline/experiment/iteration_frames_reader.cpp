#include "offline/experiment/iteration_frames_reader.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "format/bytes.hpp"
#include "format/checksum.hpp"
#include "format/profile_file.hpp"
#include "offline/experiment/reader.hpp"
#include "offline/experiment/unpack.hpp"

namespace refrain::experiment {
namespace {

using format::FrameKind;

constexpr const char* frame_text = "a frame of iterations";
constexpr std::size_t around = format::frame_head_size + format::checksum_size;

struct Head {
  FrameKind kind;
  format::Encoding encoding;
  std::int32_t thread;
  std::uint32_t loop;
  std::uint64_t stored, raw;
};

/// `end`: of what may hold the frame.
Head read_head(const InputFile& file, std::uint64_t at, std::uint64_t end) {
  if (end - at < around) file.fail(at, "a frame of iterations is cut");
  const auto bytes = file.read(at, format::frame_head_size, frame_text);
  const std::byte* p = bytes.data();
  if (format::load_little_endian<std::uint32_t>(p) != format::frame_magic) file.fail(at, "not a frame of iterations");
  const Head head{FrameKind{format::load_little_endian<std::uint16_t>(p + 4)},
                  format::Encoding{format::load_little_endian<std::uint16_t>(p + 6)},
                  format::load_little_endian<std::int32_t>(p + 8),
                  format::load_little_endian<std::uint32_t>(p + 12),
                  format::load_little_endian<std::uint64_t>(p + 16),
                  format::load_little_endian<std::uint64_t>(p + 24)};
  if (head.stored > end - at - around) file.fail(at, "a frame of iterations is cut");
  return head;
}

Loop* find_loop(Rank& rank, std::int32_t thread, std::uint32_t loop) {
  for (Location& location : rank.locations)
    if (location.thread == thread) return loop < location.loops.size() ? &location.loops[loop] : nullptr;
  return nullptr;
}

std::vector<FramePlace>* places_of(Loop& loop, FrameKind kind) {
  switch (kind) {
    case FrameKind::Log: return &loop.log;
    case FrameKind::Merges: return &loop.merges;
    case FrameKind::Samples:
    case FrameKind::ChosenSamples: loop.samples_hashed = kind == FrameKind::ChosenSamples; return &loop.samples;
  }
  return nullptr;
}

template <class Do>
void for_each_loop(Rank& rank, Do action) {
  for (Location& location : rank.locations)
    for (Loop& loop : location.loops) action(loop);
}

void append(std::vector<FramePlace>& places, const std::vector<FramePlace>& more) {
  places.insert(places.end(), more.begin(), more.end());
}

}  // namespace

void find_iterations(const InputFile& file, std::uint64_t offset, std::uint64_t size, Rank& rank) {
  const std::uint64_t end = offset + size;
  for (std::uint64_t at = offset; at < end;) {
    const Head head = read_head(file, at, end);
    Loop* loop = find_loop(rank, head.thread, head.loop);
    if (std::vector<FramePlace>* places = loop ? places_of(*loop, head.kind) : nullptr)
      places->push_back({file.source(), at, head.stored + around, nullptr});
    at += head.stored + around;
  }
}

void find_spilled_iterations(const std::filesystem::path& directory, Rank& rank) {
  if (rank.spilled_bytes == 0) return;
  const InputFile file(directory / (format::spill_name_begin + std::to_string(rank.rank) + format::spill_name_end));
  if (file.size() < rank.spilled_bytes) file.fail(file.size(), "is shorter than the profile says");
  struct Later {
    std::vector<FramePlace> log, merges;
  };
  std::vector<Later> later;
  for_each_loop(rank, [&](Loop& loop) { later.push_back({std::move(loop.log), std::move(loop.merges)}); });
  for_each_loop(rank, [&](Loop& loop) {
    loop.log.clear();
    loop.merges.clear();
  });
  find_iterations(file, 0, rank.spilled_bytes, rank);
  auto next = later.begin();
  for_each_loop(rank, [&](Loop& loop) {
    append(loop.log, next->log);
    append(loop.merges, next->merges);
    ++next;
  });
}

std::vector<std::byte> read_frame(const FramePlace& place) {
  if (!place.file) return place.contents ? *place.contents : std::vector<std::byte>{};
  const InputFile file(place.file);
  const auto whole = file.read(place.offset, place.size, frame_text);
  const std::size_t summed = whole.size() - format::checksum_size;
  if (format::load_little_endian<std::uint64_t>(&whole[summed]) != format::checksum(whole.data(), summed))
    file.fail(place.offset, "a frame of iterations has a wrong checksum");
  const Head head = read_head(file, place.offset, place.offset + place.size);
  std::vector<std::byte> payload(whole.begin() + format::frame_head_size, whole.begin() + static_cast<long>(summed));
  return unpack(file, place.offset, frame_text, head.encoding, std::move(payload), head.raw);
}

std::vector<std::byte> begin_of_frame(const FramePlace& place, std::size_t size) {
  if (!place.file) {
    auto contents = read_frame(place);
    contents.resize(std::min(size, contents.size()));
    return contents;
  }
  const InputFile file(place.file);
  const Head head = read_head(file, place.offset, place.offset + place.size);
  const std::uint64_t enough = bytes_to_begin(head.encoding, size);
  const auto stored = file.read(place.offset + format::frame_head_size, std::min(head.stored, enough), frame_text);
  return unpack_begin(head.encoding, stored, size);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> read_merges(const FramePlace& place) {
  constexpr std::size_t pair_size = 8;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> merges;
  const auto payload = read_frame(place);
  if (payload.size() % pair_size != 0)
    throw ReadError((place.file ? place.file->name : std::string("a loop")) +
                    ": merges of iterations that are no pairs");
  merges.reserve(payload.size() / pair_size);
  for (std::size_t i = 0; i < payload.size(); i += pair_size)
    merges.emplace_back(format::load_little_endian<std::uint32_t>(&payload[i]),
                        format::load_little_endian<std::uint32_t>(&payload[i + 4]));
  return merges;
}

StoredSamples read_samples(const Rank& rank, const Loop& loop) {
  StoredSamples samples;
  if (loop.samples.empty()) return samples;
  const FramePlace& place = loop.samples.back();
  const auto payload = read_frame(place);
  const auto refuse = [&](const char* what) {
    throw ReadError((place.file ? place.file->name : std::string("a loop")) + ": samples of iterations: " + what);
  };
  format::ByteCursor in(payload);
  samples.kept.hashed = loop.samples_hashed;
  if (loop.samples_hashed) {
    const std::uint64_t level = in.varint();
    if (level > format::highest_level) refuse("of too few iterations");
    samples.kept.level = static_cast<unsigned>(level);
    samples.kept.seed = in.varint();
  } else {
    const std::uint64_t stride = in.varint();
    if (!std::has_single_bit(stride) || stride >> format::highest_level > 1) refuse("of too few iterations");
    samples.kept.level = static_cast<unsigned>(std::countr_zero(stride));
  }
  samples.count = in.varint();
  const std::size_t nodes = in.count(1);
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < nodes && !in.failed(); ++i) {
    const std::int64_t step = in.signed_varint();
    const auto paths = static_cast<std::int64_t>(rank.paths.size());
    if (step < -expected || step >= paths - expected) refuse("of a call path that is not there");
    samples.paths.push_back(rank.paths[static_cast<std::size_t>(expected + step)]);
    expected += step + 1;
  }
  const auto kind = in.fixed<std::uint8_t>();
  samples.visits = in.fixed<std::uint8_t>();
  for (std::size_t n = in.count(1); n > 0; --n)
    samples.references.push_back(static_cast<std::int32_t>(static_cast<std::uint64_t>(in.signed_varint())));
  const auto data = in.raw(in.remaining());
  if (in.failed()) refuse("malformed or shorter than they say");
  if (kind != static_cast<std::uint8_t>(NodeKind::Function)) return {};  // of a later version
  if (samples.references.size() != rank.function_columns.size() + 1 || samples.visits >= rank.function_columns.size())
    refuse("other columns than call paths have");
  samples.columns = rank.function_columns;
  samples.data.assign(data.begin(), data.end());
  return samples;
}

}  // namespace refrain::experiment
