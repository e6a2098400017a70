#pragma once
/// The constants of the profile file, shared by writer and reader. docs/file-format.md has the specification.

#include <cstddef>
#include <cstdint>

#include "format/metrics.hpp"

namespace refrain::format {

/// Is not text, and shows damage by a transfer that rewrites line ends.
inline constexpr unsigned char magic[8] = {0x89, 'R', 'F', 'R', 'N', '\r', '\n', 0x1a};
inline constexpr std::uint32_t endianness_mark = 0x0a0b0c0d;
/// A reader refuses a newer major version; within one major version it skips what it does not know.
inline constexpr std::uint16_t major_version = 1;
inline constexpr std::uint16_t minor_version = 11;

inline constexpr std::size_t header_size = 64;
inline constexpr std::size_t rank_entry_size = 32;
inline constexpr std::size_t section_entry_size = 40;
inline constexpr std::size_t section_table_head = 8;  ///< count and entry size
inline constexpr std::size_t checksum_size = 8;       ///< XXH3, 64 bits, seed 0

/// The most ranks of a job. A larger number is damage: readers need a few bytes for each missing rank.
inline constexpr std::uint32_t max_ranks = 1u << 24;

inline constexpr std::uint32_t flag_complete = 1;      ///< header: every rank of the job is in the file
inline constexpr std::uint32_t flag_rank_present = 1;  ///< rank entry

enum class Section : std::uint32_t {
  // In the definitions block.
  Writer = 1,
  Metrics = 2,
  Losses = 3,
  Regions = 4,
  Modules = 5,
  Paths = 6,
  // In a rank's block.
  Rank = 16,
  Locations = 17,
  Communicators = 18,
  PathMapping = 19,
  Loops = 20,              ///< since 1.1, if the program has marked a loop
  Iterations = 21,         ///< since 1.1, with Loops
  Slopes = 22,             ///< since 1.2, with Loops, if they are known
  Extra = 24,              ///< since 1.2, if the user has asked for metrics
  Windows = 25,            ///< since 1.3, if there were any
  CommunicatorsMade = 26,  ///< since 1.3, if a record stands for more than one
  OwnTimes = 27,           ///< since 1.5
  Totals = 28,             ///< since 1.6
  Events = 29,             ///< since 1.7, if events were kept
  EventFrames = 30,        ///< since 1.7, if they are here and not in a file of their own
  SampledMessages = 31,    ///< since 1.7, if there was no room for events of whole iterations
  Durations = 32,          ///< since 1.8, if calls were made
  Cores = 33,              ///< since 1.9
  CoresTaken = 34,         ///< since 1.10
  SingleIterations = 35,   ///< since 1.11, with Loops
  // In the files of names and of functions (format/names_file.hpp).
  Texts = 64,
  Names = 65,
  Functions = 66,
};
/// The last section of a rank's block.
inline constexpr Section newest_of_rank = Section::SingleIterations;

inline constexpr std::uint16_t section_version = 1;

enum class Encoding : std::uint16_t { Raw = 0, Zstd = 1 };
/// Larger contents are stored raw. A reader refuses to unpack them, so that a wrong size cannot cost it its memory; the
/// size of raw contents is proved by the size of the file.
inline constexpr std::uint64_t largest_compressed = std::uint64_t{1} << 30;

inline constexpr const char* profile_name = "profile.refrain";
inline constexpr const char* manifest_name = "manifest.json";
inline constexpr const char* spill_name_begin = "iterations-";
inline constexpr const char* spill_name_end = ".refrain";

/// A frame of iterations: u32 magic, u16 kind, u16 encoding, i32 thread, u32 loop, u64 stored size, u64 size, the
/// payload, the checksum of everything before.
enum class FrameKind : std::uint16_t {
  Log = 0,           ///< blocks of format/iteration_log.hpp
  Merges = 1,        ///< pairs of u32: label that ended, label that it became
  Samples = 2,       ///< samples of every n-th iteration; written by 1.2 and 1.3
  ChosenSamples = 3  ///< samples of single iterations (clustering/sample_store.hpp); since 1.4
};
inline constexpr std::uint32_t frame_magic = 0x46495452;  // "RTIF"
inline constexpr std::size_t frame_head_size = 32;

/// Bytes from the start of a block of `sections` sections to its first payload.
constexpr std::size_t section_table_size(std::size_t sections) {
  return section_table_head + sections * section_entry_size + checksum_size;
}

// These enumerators are numbers in the file, so they must never be renumbered.
static_assert(int(NodeKind::Root) == 0 && int(NodeKind::Frame) == 1 && int(NodeKind::Function) == 2 &&
              int(NodeKind::Region) == 3 && int(NodeKind::Special) == 4 && int(NodeKind::Marked) == 5);
static_assert(int(SpecialPath::Truncated) == 0 && int(SpecialPath::ArenaFull) == 1);
static_assert(int(Reduction::Sum) == 0 && int(Reduction::Min) == 1 && int(Reduction::Max) == 2);

/// Whether a path of this kind is an address, with a module and an offset in it.
constexpr bool is_address(NodeKind kind) { return kind == NodeKind::Frame || kind == NodeKind::Function; }

/// Whether the offset of a path of this kind is the number of a region.
constexpr bool is_named(NodeKind kind) { return kind == NodeKind::Region || kind == NodeKind::Marked; }

}  // namespace refrain::format
