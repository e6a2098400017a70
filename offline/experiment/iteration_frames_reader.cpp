#include "offline/experiment/iteration_frames_reader.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "format/bytes.hpp"
#include "format/checksum.hpp"
#include "format/profile_file.hpp"
#include "offline/experiment/frame_search.hpp"
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

/// `end`: end of the range that may hold the frame.
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

bool begins_frame(const InputFile& file, std::uint64_t at, std::uint64_t end) {
  if (end - at < around) return false;
  const auto bytes = file.read(at, sizeof format::frame_magic, frame_text);
  return format::load_little_endian<std::uint32_t>(bytes.data()) == format::frame_magic;
}

/// Reads a frame with its head. Throws ReadError when the checksum is wrong.
std::pair<Head, std::vector<std::byte>> read_whole(const InputFile& file, std::uint64_t at, std::uint64_t end) {
  const Head head = read_head(file, at, end);
  auto whole = file.read(at, head.stored + around, frame_text);
  const std::size_t summed = whole.size() - format::checksum_size;
  if (format::load_little_endian<std::uint64_t>(&whole[summed]) != format::checksum(whole.data(), summed))
    file.fail(at, "a frame of iterations has a wrong checksum");
  return {head, std::move(whole)};
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

std::string lost(const Rank& rank) { return "iterations of rank " + std::to_string(rank.rank) + " are missing"; }

/// Checks a frame that is skipped and so never read: its damaged head may be the reason.
void check_unread(const FramePlace& place, const Rank& rank) {
  place.file->damage->survives(
      lost(rank), [&] { (void)read_whole(InputFile(place.file), place.offset, place.offset + place.size); });
}

/// Checks the frames that are never read: merges without a log, and all samples but the last, which are also removed.
void check_unread_frames(Rank& rank) {
  for_each_loop(rank, [&](Loop& loop) {
    for (std::size_t i = 0; loop.log.empty() && i < loop.merges.size(); ++i) check_unread(loop.merges[i], rank);
    while (loop.samples.size() > 1) {
      check_unread(loop.samples.front(), rank);
      loop.samples.erase(loop.samples.begin());
    }
  });
}

/// Offset of the next intact frame at or after `at`; `end` when there is none.
std::uint64_t next_frame(const InputFile& file, std::uint64_t at, std::uint64_t end) {
  return find_frame(file, at, end, format::frame_magic, frame_text,
                    [&](std::uint64_t place) { (void)read_whole(file, place, end); });
}

}  // namespace

void find_iterations(const InputFile& file, std::uint64_t offset, std::uint64_t size, Rank& rank) {
  const std::uint64_t end = offset + size;
  for (std::uint64_t at = offset; at < end;) {
    std::optional<Head> head;
    try {
      head = read_head(file, at, end);
      const std::uint64_t next = at + head->stored + around;
      if (next < end && !begins_frame(file, next, end)) head.reset();  // wrong size, or the next frame is damaged
    } catch (const ReadError&) {
    }
    if (!head) {
      // An intact frame is kept even when the bytes after it are damaged.
      const std::uint64_t whole = next_frame(file, at, end);
      if (whole > at || whole == end) {
        file.damage().add(file.place(at, "a damaged frame of iterations"),
                          std::to_string(whole - at) + " bytes of " + lost(rank));
        at = whole;
        continue;
      }
      head = read_head(file, at, end);
    }
    const FramePlace place{file.source(), at, head->stored + around, nullptr};
    Loop* loop = find_loop(rank, head->thread, head->loop);
    if (std::vector<FramePlace>* places = loop ? places_of(*loop, head->kind) : nullptr) places->push_back(place);
    else check_unread(place, rank);
    at += place.size;
  }
  check_unread_frames(rank);
}

void find_spilled_iterations(const std::filesystem::path& directory, Rank& rank,
                             const std::shared_ptr<DamageLog>& damage) {
  if (rank.spilled_bytes == 0) return;
  struct Later {
    std::vector<FramePlace> log, merges, samples;
    bool samples_hashed;
  };
  std::vector<Later> later;
  for_each_loop(rank, [&](Loop& loop) {
    later.push_back({std::exchange(loop.log, {}), std::exchange(loop.merges, {}), std::exchange(loop.samples, {}),
                     loop.samples_hashed});
  });
  const std::string cost = "early iterations of rank " + std::to_string(rank.rank) + " are missing";
  damage->survives(cost, [&] {
    const InputFile file(directory / (format::spill_name_begin + std::to_string(rank.rank) + format::spill_name_end),
                         damage);
    if (file.size() < rank.spilled_bytes)
      damage->add(file.place(file.size(), "is shorter than the profile says"), cost);
    find_iterations(file, 0, std::min(file.size(), rank.spilled_bytes), rank);
  });
  auto next = later.begin();
  for_each_loop(rank, [&](Loop& loop) {
    append(loop.log, next->log);
    append(loop.merges, next->merges);
    append(loop.samples, next->samples);
    if (!next->samples.empty()) loop.samples_hashed = next->samples_hashed;
    ++next;
  });
  check_unread_frames(rank);
}

void share_first_logs(Rank& rank) {
  const auto first = std::ranges::find(rank.locations, 0, &Location::thread);
  if (first == rank.locations.end()) return;
  for (const Loop& of_first : first->loops) {
    std::shared_ptr<const std::vector<FramePlace>> log;
    for (Location& location : rank.locations)
      for (Loop& loop : location.loops) {
        if (&location == &*first || loop.name != of_first.name) continue;
        if (loop.passed[0].count == 0 && loop.passed[1].count == 0) continue;
        if (!log) log = std::make_shared<const std::vector<FramePlace>>(of_first.log);
        loop.first_log = log;
        loop.first_iterations = of_first.iterations;
      }
  }
}

std::optional<std::vector<std::byte>> read_frame(const FramePlace& place, const std::string& cost) {
  if (!place.file) return place.contents ? *place.contents : std::vector<std::byte>{};
  std::optional<std::vector<std::byte>> contents;
  place.file->damage->survives(cost, [&] {
    const InputFile file(place.file);
    const auto [head, whole] = read_whole(file, place.offset, place.offset + place.size);
    std::vector<std::byte> payload(whole.begin() + format::frame_head_size,
                                   whole.end() - static_cast<long>(format::checksum_size));
    contents = unpack(file, place.offset, frame_text, head.encoding, std::move(payload), head.raw);
  });
  return contents;
}

std::vector<std::byte> begin_of_frame(const FramePlace& place, std::size_t size) {
  if (!place.file) {
    auto contents = place.contents ? *place.contents : std::vector<std::byte>{};
    contents.resize(std::min(size, contents.size()));
    return contents;
  }
  try {
    const InputFile file(place.file);
    const Head head = read_head(file, place.offset, place.offset + place.size);
    const std::uint64_t enough = bytes_to_begin(head.encoding, size);
    const auto stored = file.read(place.offset + format::frame_head_size, std::min(head.stored, enough), frame_text);
    return unpack_begin(head.encoding, stored, size);
  } catch (const ReadError&) {  // read_frame() reports the damage
    return {};
  }
}

void note_damage(const FramePlace& place, const char* what, const std::string& cost) {
  if (place.file)
    place.file->damage->add(place.file->name + ": at byte " + std::to_string(place.offset) + ": " + what, cost);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> read_merges(const FramePlace& place, const std::string& cost) {
  constexpr std::size_t pair_size = 8;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> merges;
  const auto payload = read_frame(place, cost);
  if (!payload) return merges;
  if (payload->size() % pair_size != 0) note_damage(place, "merges of iterations that are no pairs", cost);
  const std::size_t pairs = payload->size() / pair_size;
  merges.reserve(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::byte* at = payload->data() + i * pair_size;
    merges.emplace_back(format::load_little_endian<std::uint32_t>(at),
                        format::load_little_endian<std::uint32_t>(at + 4));
  }
  return merges;
}

namespace {

/// Parses a payload. Returns what is wrong with it, or null.
const char* parse_samples(const std::vector<std::byte>& payload, const Rank& rank, StoredSamples& samples) {
  format::ByteCursor in(payload);
  if (samples.kept.hashed) {
    const std::uint64_t level = in.varint();
    if (level > format::highest_level) return "of too few iterations";
    samples.kept.level = static_cast<unsigned>(level);
    samples.kept.seed = in.varint();
  } else {
    const std::uint64_t stride = in.varint();
    if (!std::has_single_bit(stride) || stride >> format::highest_level > 1) return "of too few iterations";
    samples.kept.level = static_cast<unsigned>(std::countr_zero(stride));
  }
  samples.count = in.varint();
  if (!read_node_paths(in, rank.paths, samples.paths)) return "of a call path that is not there";
  const auto kind = in.fixed<std::uint8_t>();
  samples.visits = in.fixed<std::uint8_t>();
  for (std::size_t n = in.count(1); n > 0; --n)
    samples.references.push_back(static_cast<std::int32_t>(static_cast<std::uint64_t>(in.signed_varint())));
  const auto data = in.raw(in.remaining());
  if (in.failed()) return "malformed or shorter than they say";
  if (kind != static_cast<std::uint8_t>(NodeKind::Function)) return nullptr;  // of a later version: no data
  if (samples.references.size() != rank.function_columns.size() + 1 || samples.visits >= rank.function_columns.size())
    return "other columns than call paths have";
  samples.columns = rank.function_columns;
  samples.data.assign(data.begin(), data.end());
  return nullptr;
}

}  // namespace

StoredSamples read_samples(const Rank& rank, const Loop& loop) {
  if (loop.samples.empty()) return {};
  const FramePlace& place = loop.samples.back();
  const std::string cost = "the samples of single iterations of loop " + loop.name + " are missing";
  const auto payload = read_frame(place, cost);
  StoredSamples samples;
  samples.kept.hashed = loop.samples_hashed;
  const char* error = payload ? parse_samples(*payload, rank, samples) : "";
  if (payload && error) note_damage(place, (std::string("samples of iterations: ") + error).c_str(), cost);
  return error ? StoredSamples{} : samples;
}

}  // namespace refrain::experiment
